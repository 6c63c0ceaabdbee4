/* SPDX-License-Identifier: Apache-2.0 */
/* clients/node under faults: of its loop, its process, its daemon, the server, and in worker threads. What users of other
 * packages of locks complain of is tested here by its behaviour, too. The sessions are as short as the server has them. */
'use strict'

const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const { Worker } = require('node:worker_threads')
const {
  CHILD, Lines, assert, children, lost, main, nowMs, opened, start, stateOf, until, untilBlocking, uvzk, waiting,
} = require('./client_kit.js')

const SESSION_S = 3
const WORKERS = Number(process.env.UVZK_WORKERS || 8)
const PACKAGE = path.resolve(__dirname, '../../../clients/node')
const SHORT = { ...CHILD, options: [...CHILD.options, '--session-timeout', `${SESSION_S}`] }
const withChild = async () => opened(await uvzk.connect(SHORT))

const cases = {}

function program(script, lockPath) {
  const words = ['-e', `const uvzk = require(${JSON.stringify(PACKAGE)})\n${script}`, JSON.stringify(SHORT), lockPath]
  const child = start(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] })
  return { child, lines: new Lines(child) }
}

/* Processes of a parent: [process, state]. */
function processesOf(parent) {
  return fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name)).flatMap((pid) => {
    try {
      const stat = fs.readFileSync(`/proc/${pid}/stat`, 'latin1')
      const [state, of] = stat.replace(/.*\) /s, '').split(' ')
      return Number(of) === parent ? [{ pid: Number(pid), state, name: stat.replace(/.*\((.*)\).*/s, '$1') }] : []
    } catch {
      return [] // it is gone
    }
  })
}

async function stop(pid) {
  process.kill(pid, 'SIGSTOP')
  await until(() => stateOf(pid) === 'T', 'stopped')
}

// --------------------------------------------------------------------- loop and process

/* The child renews the hold; another program waits all the time. */
cases['loop that is blocked for three session time-outs'] = async (lockPath) => {
  const client = await withChild()
  const hold = await client.mutex(lockPath).acquire()
  const other = program(`
uvzk.connect(JSON.parse(process.argv[1])).then(async (client) => {
  await client.mutex(process.argv[2]).run(() => console.log('granted'), { onQueued: () => console.log('queued') })
})`, lockPath)
  assert.equal(await other.lines.next(), 'queued')
  const end = nowMs() + 3000 * SESSION_S
  untilBlocking(() => nowMs() > end)
  const left = hold.validForMs()
  assert.ok(left > 0 && left <= 1000 * SESSION_S, `valid, in the first moment: ${left}`)
  assert.ok(await hold.verify() > 0, 'the servers say so, too')
  assert.ok(!hold.signal.aborted)
  assert.equal((await client.mutex(lockPath).participants()).waiters.length, 1, 'the other one waits')
  await hold.release()
  assert.equal(await other.lines.next(), 'granted')
}

cases['stopped program'] = async (lockPath) => {
  const holder = program(`
uvzk.connect(JSON.parse(process.argv[1])).then(async (client) => {
  const hold = await client.mutex(process.argv[2]).acquire()
  process.on('SIGCONT', () => console.log(hold.validForMs(), hold.signal.aborted))
  console.log('held')
})`, lockPath)
  assert.equal(await holder.lines.next(), 'held')
  await stop(holder.child.pid)
  const end = nowMs() + 2000 * SESSION_S
  const client = await withChild()
  const [acquiring] = await waiting(client.mutex(lockPath))
  await until(() => nowMs() > end, 'longer than a session')
  assert.equal((await client.mutex(lockPath).participants()).waiters.length, 1, 'it is held')
  holder.child.kill('SIGCONT')
  const [left, aborted] = (await holder.lines.next()).split(' ')
  assert.ok(Number(left) > 0 && aborted === 'false', `valid, in the first moment: ${left}`)
  holder.child.kill('SIGKILL')
  await (await acquiring).release()
}

/* Before any of their ends. */
cases['killed child of many holds'] = async (lockPath) => {
  const client = await withChild()
  const holds = await Promise.all(Array.from({ length: 50 }, (_, i) => client.mutex(`${lockPath}-${i}`).acquire()))
  const ends = holds.map((hold) => nowMs() + hold.validForMs())
  process.kill((await client._connection()).child.pid, 'SIGKILL')
  const told = await Promise.all(holds.map((hold) => lost(hold).then((reason) => [reason.code, nowMs()])))
  assert.ok(told.every(([code, when], i) => code === 'CLIENT_EENDED' && when < ends[i]), 'in time')
  await (await client.mutex(`${lockPath}-0`).acquire({ timeoutMs: 30000 })).release()
}

// --------------------------------------------------------------------- worker threads

const WORKER = `
const { parentPort, workerData } = require('node:worker_threads')
const uvzk = require(${JSON.stringify(PACKAGE)})
uvzk.connect(workerData.where).then(async (client) => {
  const hold = await client.mutex(workerData.path).acquire()
  parentPort.postMessage(hold.validForMs() > 0)
  if (workerData.how === 'close') {
    await client.close()
  } else if (workerData.how === 'release') {
    await hold.release()
  } else if (workerData.how === 'exit') {
    process.exit()
  }
})
`

cases['worker threads'] = async (lockPath) => {
  const daemons = () => processesOf(process.pid).filter(({ name }) => name === 'uvzk')
  const descriptors = () => fs.readdirSync('/proc/self/fd').length
  let before
  for (let round = 0; round < WORKERS; round += 1) {
    const how = ['close', 'release', 'exit', 'terminate'][round % 4]
    const worker = new Worker(WORKER, { eval: true, workerData: { where: SHORT, path: `${lockPath}-${round}`, how } })
    const ended = once(worker, 'exit')
    assert.deepEqual(await once(worker, 'message'), [true])
    if (how === 'terminate') {
      await worker.terminate()
    }
    await ended
    // a worker that is ended by force cannot wait for its children: they are zombies until the program ends
    await until(() => daemons().every(({ state }) => state === 'Z'), `no daemon runs after ${how}`)
    assert.ok(round > 1 || daemons().length === 0, `${how} leaves no zombie`)
    await until(async () => (await children(`${lockPath}-${round}`)).length === 0, 'no znode')
    before = before || descriptors()
  }
  await until(() => descriptors() <= before, 'no descriptor is left')
}

// --------------------------------------------------------------------- complaints

/* redlock #86, #309: a wait can be ended, at once whatever the daemon does, and leaves nothing. */
cases['a wait is ended at once'] = async (lockPath) => {
  const client = await withChild()
  const hold = await client.mutex(lockPath).acquire()
  const aborts = new AbortController()
  const [acquiring] = await waiting(client.mutex(lockPath), { signal: aborts.signal })
  const { pid } = (await client._connection()).child
  await stop(pid)
  aborts.abort(new Error('shutting down'))
  await assert.rejects(acquiring, /shutting down/)
  const why = await client.mutex(lockPath).acquire({ timeoutMs: 50 }).catch((error) => error)
  assert.ok(why instanceof uvzk.UvzkTimeout && why.retriable, why.stack)
  process.kill(pid, 'SIGCONT')
  await until(async () => (await children(lockPath)).length === 1, 'its znode is gone')
  await hold.release()
}

/* redlock #168: servers that do not answer are no event of the client, and nobody has to listen. Who asks is told. */
cases['servers that are silent make no noise'] = async (lockPath) => {
  const client = await withChild()
  const states = []
  client.on('state', (state) => states.push(state))
  const hold = await client.mutex(lockPath).acquire()
  const [server] = processesOf(process.ppid).filter(({ name }) => name === 'java')
  await stop(server.pid)
  try {
    assert.equal((await lost(hold)).retriable, true)
    assert.equal(hold.validForMs(), 0)
    const why = await client.mutex(lockPath).acquire({ timeoutMs: 50 }).catch((error) => error)
    assert.ok(why instanceof uvzk.UvzkTimeout, why.stack)
  } finally {
    process.kill(server.pid, 'SIGCONT')
  }
  await (await client.mutex(lockPath).acquire({ timeoutMs: 30000 })).release()
  assert.deepEqual(states, ['connected'])
}

/* redis-semaphore #24: who stands by needs neither a time-out nor attempts. It leads as soon as the other one has ended, also
 * when that one's daemon was killed with it. */
cases['stand-by'] = async (lockPath) => {
  const script = `
uvzk.connect(JSON.parse(process.argv[1])).then(async (client) => {
  for await (const term of client.election(process.argv[2], { id: 'other' }).terms()) {
    console.log(client._current.child.pid)
    await new Promise((resolve) => term.signal.addEventListener('abort', resolve))
  }
})`
  const client = await withChild()
  for (const killsDaemon of [false, true]) {
    const leader = program(script, lockPath)
    const daemon = Number(await leader.lines.next())
    const terms = client.election(lockPath, { id: 'one' }).terms()
    const standing = terms.next()
    await until(async () => (await children(lockPath)).length === 2, 'it stands by')
    if (killsDaemon) {
      process.kill(daemon, 'SIGKILL')
    }
    leader.child.kill('SIGKILL')
    assert.ok((await standing).value.validForMs() > 0)
    await terms.return()
    await until(async () => (await children(lockPath)).length === 0, 'nobody stands')
  }
}

/* Its locks are free at once, and not when a session ends. */
cases['killed programs of many locks'] = async (lockPath) => {
  const holder = program(`
uvzk.connect(JSON.parse(process.argv[1])).then(async (client) => {
  const paths = Array.from({ length: 20 }, (_, i) => client.mutex(process.argv[2] + '-' + i))
  const holds = await Promise.all(paths.map((lock) => lock.acquire()))
  console.log(Date.now() + Math.min(...holds.map((hold) => hold.validForMs())))
})`, lockPath)
  const validUntil = Number(await holder.lines.next())
  const client = await withChild()
  const all = await Promise.all(Array.from({ length: 20 }, (_, i) => waiting(client.mutex(`${lockPath}-${i}`))))
  const began = nowMs()
  holder.child.kill('SIGKILL')
  await Promise.all(all.map(([acquiring]) => acquiring.then((hold) => hold.release())))
  console.log(`        after ${Math.round(nowMs() - began)} ms`)
  assert.ok(Date.now() < validUntil, 'by releases')
}

main(cases)
