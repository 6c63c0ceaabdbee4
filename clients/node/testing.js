/* SPDX-License-Identifier: Apache-2.0 */
/* A ZooKeeper in memory for the tests of programs: uvzk-sim-server, which docs/guide/sim-server.md describes. */
'use strict'

const childProcess = require('node:child_process')
const { once } = require('node:events')
const net = require('node:net')
const readline = require('node:readline')
const { commandError, packagedCommand } = require('./lib/daemon.js')
require('./lib/dispose.js')

const SIM_SERVER = 'uvzk-sim-server'
const SERVERS = 'servers '
const CONTROL = 'control '

class SimulatedServer {
  constructor(child, hosts, controlPort) {
    this.hosts = hosts
    this._child = child
    this._controlPort = controlPort
    this._before = Promise.resolve() // the command before
    this._end = () => child.kill('SIGKILL')
    process.once('exit', this._end)
  }

  /* Carries out one of its commands, such as "cut all". Resolves with the lines of the answer. */
  command(text) {
    const answer = this._before.then(() => this._ask(text))
    this._before = answer.catch(() => {})
    return answer
  }

  async _ask(text) {
    const socket = net.connect(this._controlPort, '127.0.0.1')
    try {
      await once(socket, 'connect')
      socket.write(`${text}\n`)
      const lines = []
      for await (const line of readline.createInterface(socket)) {
        if (line === 'ok') {
          return lines
        }
        if (line.startsWith('error')) {
          throw new Error(`${text}: ${line}`)
        }
        lines.push(line)
      }
      throw new Error(`${text}: the server has ended`)
    } finally {
      socket.destroy()
    }
  }

  async close() {
    process.removeListener('exit', this._end)
    if (this._child.exitCode === null && this._child.signalCode === null) {
      this._child.ref()
      this._child.kill()
      await once(this._child, 'exit')
    }
  }

  async [Symbol.asyncDispose]() {
    await this.close()
  }
}

/* command: of uvzk-sim-server; without it $UVZK_SIM_SERVER_COMMAND, the one of the package, or of PATH. */
async function startSimulatedServer({ command, options = [] } = {}) {
  const name = command || process.env.UVZK_SIM_SERVER_COMMAND || packagedCommand(SIM_SERVER) || SIM_SERVER
  const child = childProcess.spawn(name, options, { stdio: ['ignore', 'pipe', 'inherit'] })
  if (child.pid === undefined) {
    const [why] = await once(child, 'error')
    throw commandError(`${name}: ${why.code}`)
  }
  const { hosts, controlPort } = await addresses(child)
  child.unref()
  return new SimulatedServer(child, hosts, controlPort)
}

/* What it prints at its beginning. */
async function addresses(child) {
  let hosts
  for await (const line of readline.createInterface(child.stdout)) {
    if (line.startsWith(SERVERS)) {
      hosts = line.slice(SERVERS.length).trim()
    } else if (line.startsWith(CONTROL)) {
      child.stdout.destroy()
      return { hosts, controlPort: Number(line.slice(line.lastIndexOf(':') + 1)) }
    }
  }
  throw commandError('uvzk-sim-server has ended at once; its standard error says why')
}

module.exports = { startSimulatedServer }
