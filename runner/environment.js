'use strict'
// Where the locked Gateval is installed: made once for a lock, these sources and this system.

const { spawn } = require('node:child_process')
const { createHash } = require('node:crypto')
const fs = require('node:fs')
const path = require('node:path')
const { ended, program } = require('./programs.js')

const ACTION = path.join(__dirname, '..')
const LOCK = path.join(ACTION, 'requirements', 'run.txt')
const SOURCE = path.join(ACTION, 'src', 'gateval')
const OLD_ENOUGH = ['-I', '-c', 'import sys; raise SystemExit(sys.version_info < (3, 11))']
const STALE_MS = 3_600_000

// What installers may see: how to reach packages, and no secret of the gate.
const FOR_INSTALLERS = /^(PATH|HOME|TMPDIR|LANG|LC_.*|(HTTPS?|NO|ALL)_PROXY|SSL_CERT_.*|.*_CA_BUNDLE|(PIP|UV)_.*|XDG_.*)$/i

/** Return the Python of an environment that holds Gateval, made now if it is not there. */
async function environment() {
  if (!['linux', 'darwin'].includes(process.platform)) {
    throw new Error('This action needs Linux. On Windows, nothing can hold candidates.')
  }
  process.umask(0o022) // other users must not write what the gate runs
  const name = key()
  const made = caches().map((cache) => path.join(cache, name)).find((folder) => fs.existsSync(python(folder)))
  const folder = made ?? path.join(cache(), name)
  if (!made) await make(folder)
  return python(folder)
}

function python(folder) {
  return path.join(folder, 'bin', 'python')
}

/** The runner's tool cache, which outlives a job on machines of one's own, and its folder for the job. */
function caches() {
  return [process.env.RUNNER_TOOL_CACHE, process.env.RUNNER_TEMP]
    .filter((parent) => parent && path.isAbsolute(parent))
    .map((parent) => path.join(parent, 'gateval'))
}

/** The first of them that can be written. */
function cache() {
  for (const folder of caches()) {
    try {
      fs.mkdirSync(folder, { recursive: true })
      fs.accessSync(folder, fs.constants.W_OK)
      return folder
    } catch {
      // the next one
    }
  }
  throw new Error('No folder can be written: RUNNER_TOOL_CACHE and RUNNER_TEMP are not.')
}

/** A digest of all that decides what is in the environment. */
function key() {
  const hash = createHash('sha256')
  for (const file of [LOCK, ...sources(SOURCE)]) {
    const bytes = fs.readFileSync(file)
    hash.update(`${path.relative(ACTION, file)}\0${bytes.length}\0`).update(bytes)
  }
  const system = '/etc/os-release' // a cache may be shared by several, containers among them
  hash.update(`${process.platform} ${process.arch} `)
  if (fs.existsSync(system)) hash.update(fs.readFileSync(system))
  return hash.digest('hex').slice(0, 32)
}

function sources(folder) {
  const entries = fs.readdirSync(folder, { withFileTypes: true }).filter((one) => one.name !== '__pycache__')
  return entries
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap((one) => (one.isDirectory() ? sources : (file) => [file])(path.join(folder, one.name)))
}

/** Make the environment beside its place and move it there: half of one is never found. */
async function make(folder) {
  removeStale(path.dirname(folder))
  const fresh = `${folder}.new-${process.pid}`
  try {
    await install(fresh)
    const lib = path.join(fresh, 'lib')
    const version = fs.readdirSync(lib).find((name) => name.startsWith('python3.'))
    const packages = path.join(lib, version, 'site-packages')
    const filter = (file) => path.basename(file) !== '__pycache__'
    fs.cpSync(SOURCE, path.join(packages, 'gateval'), { recursive: true, filter })
    await run(python(fresh), ['-I', '-m', 'compileall', '-q', packages])
    fs.rmSync(path.join(fresh, '.lock'), { force: true }) // uv's, which everybody may write
    if (!fs.existsSync(python(folder))) fs.rmSync(folder, { recursive: true, force: true })
    try {
      fs.renameSync(fresh, folder)
    } catch (error) {
      if (!fs.existsSync(python(folder))) throw error // else another job was faster
    }
  } finally {
    fs.rmSync(fresh, { recursive: true, force: true })
  }
}

/** Install what the lock names, each file by its hash, no source built: by uv, else by pip. */
async function install(folder) {
  const locked = ['--require-hashes', '--only-binary', ':all:', '-r', LOCK]
  const uv = program('uv')
  if (uv) {
    await run(uv, ['venv', '--quiet', '--no-project', '--python', '>=3.11', folder])
    await run(uv, ['pip', 'install', '--quiet', '--python', python(folder), ...locked])
    return
  }
  const base = await systemPython()
  await run(base, ['-I', '-m', 'venv', folder])
  const quiet = ['--quiet', '--no-input', '--disable-pip-version-check', '--no-compile']
  await run(python(folder), ['-I', '-m', 'pip', 'install', ...quiet, ...locked])
}

async function systemPython() {
  for (const name of ['python3', 'python']) {
    const found = program(name)
    if (found && (await start(found, OLD_ENOUGH).status) === 0) return found
  }
  throw new Error(
    'There is neither uv nor a Python 3.11 or newer on PATH. Have a step before this one install one: ' +
      'astral-sh/setup-uv or actions/setup-python.'
  )
}

/** Run an installer. Throws with the end of what it printed if it fails. */
async function run(file, args) {
  const { status, printed } = start(file, args)
  const code = await status
  if (code === 0) return
  const last = printed().trim().split('\n').slice(-12).join('\n')
  throw new Error(`Gateval could not be installed: ${path.basename(file)} ended with ${code}.\n${last}`)
}

/** Start a program that must not see secrets and must not find anything in the workspace. */
function start(file, args) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => FOR_INSTALLERS.test(name)))
  const child = spawn(file, args, { cwd: cache(), env, stdio: ['ignore', 'pipe', 'pipe'] })
  const parts = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => parts.push(part))
  return { status: ended(child), printed: () => Buffer.concat(parts).toString() }
}

/** Remove what runs left that were killed while they installed. */
function removeStale(folder) {
  for (const name of fs.readdirSync(folder).filter((one) => one.includes('.new-'))) {
    const left = path.join(folder, name)
    const found = fs.statSync(left, { throwIfNoEntry: false }) // its own job may be done with it
    if (found && Date.now() - found.mtimeMs > STALE_MS) fs.rmSync(left, { recursive: true, force: true })
  }
}

module.exports = { environment }
