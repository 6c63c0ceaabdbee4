/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of clients/node stand on: clients with a child or with a daemon's socket; kazoo, which sees the
 * znodes; cases, each of which ends in time, and leaves nothing behind.
 *
 * A program is `node FILE UVZK HOSTS PYTHON [CASE...]`; PYTHON has kazoo. */
'use strict'

const assert = require('node:assert/strict')
const childProcess = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const readline = require('node:readline')
const uvzk = require('../../../clients/node')

const [UVZK, HOSTS, PYTHON, ...WANTED] = process.argv.slice(2)
const PATIENCE_MS = 60000
const LOOK_AGAIN_MS = 10
// A session that ends soon.
const SHORT_S = 6
const OPTIONS = ['--transport', process.env.UVZK_TEST_TRANSPORT || 'c-client', '--session-timeout', `${SHORT_S}`,
  '--tick', '0.2']
const CHILD = { hosts: HOSTS, command: UVZK, options: OPTIONS }
Object.assign(process.env, { ZOOKEEPER_HOSTS: HOSTS, XDG_CONFIG_HOME: '/dev/null' })

const started = new Set() // processes

function start(command, words, options) {
  const child = childProcess.spawn(command, words, options)
  started.add(child)
  child.once('exit', () => started.delete(child))
  return child
}

const sleep = (ms) => new Promise((resolve) => {
  setTimeout(resolve, ms)
})

/* Waits for something that can only be looked at. */
async function until(holds, what) {
  const end = performance.now() + PATIENCE_MS
  for (;;) {
    const value = await holds()
    if (value) {
      return value
    }
    assert.ok(performance.now() < end, `never: ${what}`)
    await sleep(LOOK_AGAIN_MS)
  }
}

/* The same, while the loop is blocked. */
function untilBlocking(holds) {
  const end = performance.now() + PATIENCE_MS
  while (!holds()) {
    assert.ok(performance.now() < end, 'never')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_AGAIN_MS)
  }
}

/* CLOCK_MONOTONIC; the tests' machine is not suspended. */
function nowMs() {
  return Number(process.hrtime.bigint()) / 1e6
}

/* The state of a process, or undefined: it is gone. */
function stateOf(pid) {
  try {
    return fs.readFileSync(`/proc/${pid}/stat`, 'latin1').replace(/.*\) /s, '')[0]
  } catch {
    return undefined
  }
}

/* A process whose lines of standard output are read one after the other. */
class Lines {
  constructor(child) {
    this.child = child
    this._lines = readline.createInterface(child.stdout)[Symbol.asyncIterator]()
  }

  async next() {
    return (await this._lines.next()).value
  }
}

class Peer {
  constructor() {
    this._child = start(PYTHON, [path.join(__dirname, 'kazoo_peer.py'), HOSTS], { stdio: ['pipe', 'pipe', 'inherit'] })
    this._lines = new Lines(this._child)
    this._before = Promise.resolve()
  }

  ask(...request) {
    this._child.stdin.write(`${JSON.stringify(request)}\n`)
    const answer = this._before.then(() => this._lines.next())
    this._before = answer
    return answer.then(JSON.parse)
  }
}

let peer // of all cases

/* Asks kazoo. */
function ask(...request) {
  peer = peer || new Peer()
  return peer.ask(...request)
}

const children = (lockPath) => ask('children', lockPath)

/* A daemon with a socket in a directory of its own. */
class Daemon {
  static async serving(directory = fs.mkdtempSync(path.join(os.tmpdir(), 'uvzk-'))) {
    const daemon = new Daemon()
    daemon.directory = directory
    daemon.path = path.join(directory, 'socket')
    daemon.child = start(UVZK, ['serve', '--socket', daemon.path, ...OPTIONS], { stdio: ['ignore', 'ignore', 'pipe'] })
    const told = new Lines({ stdout: daemon.child.stderr })
    for (let line = ''; !line.includes('serving');) {
      line = await told.next()
      assert.notEqual(line, undefined, 'the daemon has ended')
    }
    Daemon.directories.add(directory)
    return daemon
  }

  get pid() {
    return this.child.pid
  }
}
Daemon.directories = new Set()

const clients = new Set()

function opened(client) {
  clients.add(client)
  return client
}

const withChild = async () => opened(await uvzk.connect(CHILD))
const withSocket = async (daemon) => opened(await uvzk.connect({ socket: daemon.path }))

/* Returns a promise of an acquire that stands in line, in an array: it is not to be awaited yet. */
async function waiting(lock, options) {
  let acquiring
  await new Promise((resolve, reject) => {
    acquiring = lock.acquire({ ...options, onQueued: resolve })
    acquiring.catch(reject)
  })
  return [acquiring]
}

/* The first value of an iterator that fits. */
async function untilSeen(seen, fits) {
  for (;;) {
    const { value } = await seen.next()
    if (fits(value)) {
      return value
    }
  }
}

async function refused(promise, code) {
  try {
    await promise
  } catch (why) {
    assert.equal(why.code, code, why.stack)
    return why
  }
  throw new assert.AssertionError({ message: `not refused with ${code}` })
}

/* The reason of a loss. */
async function lost(hold) {
  if (!hold.signal.aborted) {
    await once(hold.signal, 'abort')
  }
  return hold.signal.reason
}

/* No request is under way, nothing is held, and no znode is there. */
async function nothingIsLeft(client, lockPath) {
  const connection = await client._connection()
  while (connection._answered.size > 0) {
    await connection.ask('hello')
  }
  const { holds, waiting: waits, watches, objects } = await connection.ask('metrics')
  assert.deepEqual({ holds, waits, watches, objects }, { holds: 0, waits: 0, watches: 0, objects: 0 })
  assert.equal(connection._listeners.size, 0, 'listeners')
  // who was cancelled is answered before
  await until(async () => (await children(lockPath)).length === 0, `no znode in ${lockPath}`)
}

async function cleanUp() {
  await Promise.all([...clients].map((client) => client.close()))
  clients.clear()
  for (const child of started) {
    if (child !== (peer && peer._child)) {
      child.kill('SIGKILL')
      if (child.exitCode === null && child.signalCode === null) {
        await once(child, 'exit')
      }
    }
  }
  for (const directory of Daemon.directories) {
    fs.rmSync(directory, { recursive: true, force: true })
  }
  Daemon.directories.clear()
}

async function inTime(promise) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(reject, PATIENCE_MS, new Error('it does not end'))
  })
  await Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/* A case of two clients: with children, and with one daemon's socket. */
function both(run) {
  return async (lockPath) => {
    const daemon = await Daemon.serving()
    for (const [way, open] of [['child', withChild], ['socket', () => withSocket(daemon)]]) {
      const [one, other] = [await open(), await open()]
      await run(`${lockPath}-${way}`, one, other)
      await nothingIsLeft(one, `${lockPath}-${way}`)
      await nothingIsLeft(other, `${lockPath}-${way}`)
    }
  }
}

/* Runs the cases, or those that are named. */
async function main(cases) {
  let failed = 0
  const floating = []
  process.on('unhandledRejection', (why) => floating.push(why))
  process.on('warning', (warning) => floating.push(warning))
  for (const name of WANTED.length > 0 ? WANTED : Object.keys(cases)) {
    const began = performance.now()
    try {
      await inTime(cases[name](`/${name.replace(/ /g, '_')}`))
      await sleep(0)
      assert.deepEqual(floating, [], 'rejections that nobody handles, and warnings')
      console.log(`ok      ${name} (${Math.round(performance.now() - began)} ms)`)
    } catch (why) {
      failed += 1
      floating.length = 0
      console.log(`FAILED  ${name}\n${why.stack || why}`)
    } finally {
      await cleanUp()
    }
  }
  if (peer) {
    peer._child.stdin.end()
  }
  process.exitCode = failed > 0 ? 1 : 0
}

module.exports = {
  CHILD, Daemon, HOSTS, Lines, OPTIONS, PATIENCE_MS, PYTHON, UVZK, ask, assert, both, children, lost, main, nothingIsLeft, nowMs,
  opened, refused, sleep, start, stateOf, until, untilBlocking, untilSeen, uvzk, waiting, withChild, withSocket,
}
