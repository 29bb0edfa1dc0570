'use strict'
// What the runner starts for the step: finds or makes the environment, and runs the gate in it.

const { environment } = require('./environment.js')
const { runGate, told } = require('./gate.js')

told(async () => {
  const python = await environment()
  const step = (process.env.INPUT_STEP || 'all').trim()
  // Only what starts candidates needs other users for them.
  return runGate(python, ['action'], { measures: step === 'all' || step === 'run' })
})
