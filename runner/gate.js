'use strict'
// Runs the gate, through `sudo` where that is allowed, and passes signals on to it.

const { spawn } = require('node:child_process')
const path = require('node:path')
const { ended, program } = require('./programs.js')

const START = path.join(__dirname, 'start.py')
const SIGNALS = ['SIGINT', 'SIGTERM']

// Tokens for the runner's own services but that for artifacts, and what would change how the gate's Python works.
const NOT_PASSED = /^(ACTIONS_(?!(RUNTIME_TOKEN|RESULTS_URL)$)|LD_|DYLD_|PYTHON)/

/**
 * Run the gate of an environment and return its exit status.
 *
 * `measures` says whether it may start candidates: then it runs as root if `sudo` lets it without a
 * password, so that each of them gets a user of its own.
 */
async function runGate(python, args, { measures }) {
  const launcher = [python, '-I', '-B', START]
  const sudo = measures ? await allowed(launcher) : null
  const [file, ...rest] = sudo ? [sudo, '-n', '--', ...launcher] : launcher
  const child = spawn(file, rest, { cwd: '/', env: bare(), stdio: ['pipe', 'inherit', 'inherit'] })
  child.stdin.on('error', () => {}) // it ended before it read all; its status says why
  const order = { arguments: args, cwd: process.cwd(), env: passed() }
  child.stdin.write(`${JSON.stringify(order)}\n`)
  for (const name of SIGNALS) process.on(name, () => child.stdin.write(`${name}\n`))
  return ended(child)
}

/** Return the path of `sudo` if it starts this as root, with all that other users take; else null. */
async function allowed(launcher) {
  const none = (process.env.GATEVAL_CANDIDATE_USERS || '').trim() === 'none'
  if (process.platform !== 'linux' || process.getuid() === 0 || none) return null
  const sudo = program('sudo')
  if (!sudo) return null
  const asked = spawn(sudo, ['-n', '--', ...launcher, 'probe'], { cwd: '/', env: bare(), stdio: 'ignore' })
  return (await ended(asked)) === 0 ? sudo : null
}

/** What the launcher itself gets: no secret. */
function bare() {
  return { PATH: process.env.PATH || '' }
}

/** What the gate gets: the step's environment, and where the runner is, which candidates must not see. */
function passed() {
  const kept = Object.entries(process.env).filter(([name]) => !NOT_PASSED.test(name))
  const folder = /^(.+)\/externals\/node[^/]*\/bin\/node$/.exec(process.execPath)
  return { ...Object.fromEntries(kept), GATEVAL_ON_RUNNER: folder ? folder[1] : '/' }
}

/** Do the work of an entry; its status is the process's, and an error is a sentence in the log. */
function told(work) {
  work().then(
    (status) => { process.exit(status) },
    (error) => {
      const text = `gateval: ${error.message}`
      console.log(`::error::${text.replace(/%/g, '%25').replace(/\r/g, '%0D').replace(/\n/g, '%0A')}`)
      process.exit(3)
    }
  )
}

module.exports = { runGate, told }
