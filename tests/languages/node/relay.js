/* SPDX-License-Identifier: Apache-2.0 */
/* clients/node, whose daemon reaches the servers through a relay: it is cut, delayed and silent while programs hold a lock and
 * wait for it. Each client has a relay of its own. */
'use strict'

const path = require('node:path')
const {
  CHILD, HOSTS, Lines, PYTHON, assert, children, lost, main, nothingIsLeft, nowMs, opened, refused, sleep, start, until, uvzk,
  waiting, withChild,
} = require('./client_kit.js')

const SESSION_S = 2
const SHORT = { ...CHILD, options: [...CHILD.options, '--session-timeout', `${SESSION_S}`] }
const FAULTS_MS = 1000 * Number(process.env.UVZK_SECONDS || 8)
const SEED = Number(process.env.UVZK_SEED || Math.floor(Math.random() * 2 ** 32))

/* tests/chaos/relays.py, which says what it can be told. */
class Relays {
  constructor() {
    this._child = start(PYTHON, [path.join(__dirname, '../../chaos/relays.py')], { stdio: ['pipe', 'pipe', 'inherit'] })
    this._lines = new Lines(this._child)
    this._before = Promise.resolve()
    this._count = 0
  }

  /* Each command has one answer, in their order. */
  ask(...words) {
    this._child.stdin.write(`${words.join(' ')}\n`)
    const answer = this._before.then(() => this._lines.next())
    this._before = answer
    return answer
  }

  async open() {
    this._count += 1
    const name = `relay${this._count}`
    const [host, port] = HOSTS.split(',')[0].split(':')
    const listens = await this.ask('open', name, '127.0.0.1', host, port)
    return new Relay(this, name, `127.0.0.1:${listens.split(' ')[2]}`)
  }
}

class Relay {
  constructor(relays, name, hosts) {
    this.hosts = hosts
    this._relays = relays
    this._name = name
  }

  cut() {
    return this._relays.ask('cut', this._name)
  }

  delay(ms) {
    return this._relays.ask('delay', this._name, ms)
  }

  refuse(refuses) {
    return this._relays.ask('refuse', this._name, Number(refuses))
  }

  silent(to, back) {
    return this._relays.ask('hold', this._name, Number(to), Number(back))
  }

  async client() {
    return opened(await uvzk.connect({ ...SHORT, hosts: this.hosts }))
  }
}

/* So many relays, and a client behind each. */
async function relayed(count) {
  const all = new Relays()
  const relays = await Promise.all(Array.from({ length: count }, () => all.open()))
  return { relays, clients: await Promise.all(relays.map((relay) => relay.client())) }
}

/* Once there are servers. */
async function verified(hold) {
  for (;;) {
    try {
      return await hold.verify()
    } catch (why) {
      assert.ok(why.retriable && !hold.signal.aborted, why.stack)
    }
  }
}

const cases = {}

/* Both find the servers again, in their sessions: one still holds, and the other one has kept its place. */
cases.cut = async (lockPath) => {
  const { relays, clients: [client, other] } = await relayed(2)
  const hold = await client.mutex(lockPath).acquire()
  const [acquiring] = await waiting(other.mutex(lockPath))
  const stand = await children(lockPath)
  for (let round = 0; round < 3; round += 1) {
    await Promise.all(relays.map((relay) => relay.cut()))
    assert.ok(await verified(hold) > 0, 'held')
    await other.connected({ timeoutMs: 30000 })
  }
  assert.ok(!hold.signal.aborted && hold.validForMs() > 0, 'held still')
  assert.deepEqual(await children(lockPath), stand, 'the same znodes')
  await hold.release()
  await (await acquiring).release()
  await nothingIsLeft(client, lockPath)
  await nothingIsLeft(other, lockPath)
}

/* Each answer takes a tenth of a session. A hold stays, and its validity counts from the requests. */
cases.delay = async (lockPath) => {
  const { relays, clients: [client, other] } = await relayed(2)
  const hold = await client.mutex(lockPath).acquire()
  const [acquiring] = await waiting(other.mutex(lockPath))
  await Promise.all(relays.map((relay) => relay.delay(SESSION_S * 1000 / 20)))
  for (let round = 0; round < 3; round += 1) {
    const asked = nowMs()
    const left = await hold.verify()
    assert.ok(left > 0 && left <= SESSION_S * 1000 - (nowMs() - asked), `counted from the request: ${left}`)
  }
  assert.ok(!hold.signal.aborted, 'held')
  await hold.release()
  const next = await acquiring
  assert.ok(next.validForMs() > 0 && next.token > hold.token, 'the next one')
  await next.release()
}

/* The program is told that its hold is over before another one is granted the lock; who waits in vain is told, too. */
cases.silence = async (lockPath) => {
  const { relays: [relay], clients: [client] } = await relayed(1)
  const other = await withChild()
  const hold = await client.mutex(lockPath).acquire()
  const [acquiring] = await waiting(other.mutex(lockPath))
  let granted = false
  acquiring.then(() => {
    granted = true
  })
  await relay.silent(true, true)
  const reason = await lost(hold)
  assert.ok(!granted && hold.validForMs() === 0 && reason.retriable, reason.stack)
  const why = await refused(client.mutex(lockPath).acquire({ timeoutMs: 100 }), 'UVZK_EUNREACHABLE')
  assert.ok(why instanceof uvzk.UvzkTimeout, why.stack)
  await (await acquiring).release()
  await relay.silent(false, false)
  await (await client.mutex(lockPath).acquire({ timeoutMs: 30000 })).release()
  await nothingIsLeft(client, lockPath)
}

/* Numbers from 0 to 1, the same for the same seed (mulberry32). */
function randomOf(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/* Once, and then it is as before. */
async function disturb(relay, random) {
  const fault = Math.floor(random() * 6)
  if (fault < 2) {
    await relay.cut()
    return
  }
  if (fault === 2) {
    await relay.refuse(true)
    await relay.cut()
  } else if (fault === 3) {
    await relay.delay(10 + Math.floor(random() * 250))
  } else {
    await relay.silent(fault === 4, true)
  }
  await sleep(random() * 2000 * SESSION_S)
  await relay.refuse(false)
  await relay.delay(0)
  await relay.silent(false, false)
}

/* Takes the lock again and again. All are in this process, so whoever is granted the lock sees in the same moment how long the
 * others believe in theirs. */
async function contend(client, lockPath, random, state) {
  while (!state.over) {
    let hold
    try {
      hold = await client.mutex(lockPath).acquire({ timeoutMs: [50, 1000, 1000 * SESSION_S][Math.floor(random() * 3)] })
    } catch (why) {
      assert.ok(why.retriable, why.stack)
      continue
    }
    assert.deepEqual([...state.holds].filter((other) => other.validForMs() > 0), [], 'who believes in it, too')
    state.granted += 1
    state.holds.add(hold)
    await Promise.race([lost(hold), sleep(random() ** 3 * 2000 * SESSION_S)])
    state.lost += Number(hold.signal.aborted)
    assert.ok(!hold.signal.aborted || hold.validForMs() === 0, 'lost, and over')
    await hold.release()
    state.holds.delete(hold)
  }
}

/* Never do two believe in the lock. */
cases['at any moment'] = async (lockPath) => {
  console.log(`        UVZK_SEED=${SEED}`)
  const random = randomOf(SEED)
  const { relays, clients } = await relayed(3)
  const state = { holds: new Set(), granted: 0, lost: 0, over: false }
  const contending = Promise.all([...clients, ...clients].map((client) => contend(client, lockPath, random, state)))
  const end = nowMs() + FAULTS_MS
  const disturbing = Promise.all(relays.map(async (relay) => {
    while (nowMs() < end) {
      await sleep(random() * 1000)
      await disturb(relay, random)
    }
  }))
  await Promise.race([contending, disturbing])
  state.over = true
  await contending
  for (const client of clients) {
    await (await client.mutex(lockPath).acquire({ timeoutMs: 30000 })).release()
  }
  console.log(`        ${state.granted} were granted, ${state.lost} lost`)
  assert.ok(state.granted > 0)
  await until(async () => (await children(lockPath)).length === 0, 'nothing is left')
}

main(cases)
