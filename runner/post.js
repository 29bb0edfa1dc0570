'use strict'
// What the runner starts after the job, whatever became of it: has a check run completed that is
// still in progress. Where the gate never began one, nothing is started.

const { environment } = require('./environment.js')
const { runGate, told } = require('./gate.js')

if (process.env.STATE_target) {
  told(async () => runGate(await environment(), ['action', 'post'], { measures: false }))
}
