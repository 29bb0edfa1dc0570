'use strict'
// Finding and running programs. Nothing is ever looked for in the workspace, which is a stranger's.

const { accessSync, constants, statSync } = require('node:fs')
const path = require('node:path')

/** Return the path of a program on PATH, or null. Relative entries of PATH are passed over. */
function program(name) {
  for (const folder of (process.env.PATH || '').split(path.delimiter)) {
    const file = path.join(folder, name)
    if (path.isAbsolute(folder) && isProgram(file)) return file
  }
  return null
}

function isProgram(file) {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}

/** Wait for a process's end; return its status, 128 and the signal's number if one ended it. */
function ended(child) {
  const { signals } = require('node:os').constants
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve(code === null ? 128 + signals[signal] : code))
  })
}

module.exports = { ended, program }
