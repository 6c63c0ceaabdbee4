/* SPDX-License-Identifier: Apache-2.0 */
/* clients/node says what tests/languages/transcript says, and understands what it hears. No daemon: it is played. */
'use strict'

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { Lines, assert, lost, main, opened, refused, start, untilSeen, uvzk, waiting } = require('./client_kit.js')

const PYTHON = process.argv[4]
const LANGUAGES = path.join(__dirname, '..')
const BYTES = Buffer.from([0xff, 0])
const sections = {}

sections.connected = (client) => client.connected({ timeoutMs: 10000 })

sections.metrics = async (client) => assert.match(await client.metrics(), /uvzk_serve_connections/)

sections.mutex = async (client) => {
  const lock = client.mutex('/transcript/mutex')
  await lock.run(async (hold) => {
    assert.ok(hold.token > 0n && hold.validForMs() > 0 && await hold.verify() > 0, 'held')
    assert.deepEqual(await lock.participants(), { holders: [hold.node], waiters: [], leader: undefined })
    assert.ok(await hold.valid() > 0, 'valid')
  }, { timeoutMs: 5000 })
}

sections.busy = async (client) => {
  const why = await refused(client.mutex('/transcript/busy').acquire({ timeoutMs: 0 }), 'UV_ETIMEDOUT')
  assert.ok(why instanceof uvzk.UvzkTimeout && why.retriable, 'a time-out')
}

sections.cancelled = async (client) => {
  const aborts = new AbortController()
  const [acquiring] = await waiting(client.mutex('/transcript/cancelled'), { signal: aborts.signal })
  aborts.abort(new Error('enough'))
  await assert.rejects(acquiring, /enough/)
  await (await client._connection()).ask('hello')
}

sections.read_write = async (client) => {
  const sides = client.readWrite('/transcript/read_write')
  await sides.read.run(() => refused(sides.write.acquire({ timeoutMs: 0 }), 'UV_ETIMEDOUT'))
}

sections.semaphore = (client) => client.semaphore('/transcript/semaphore', 3).run(() => {}, { leases: 2 })

sections.all_of = async (client) => {
  const all = client.allOf([client.mutex('/transcript/ann'), client.mutex('/transcript/bob')])
  await all.run((hold) => assert.equal(hold.nodes.length, 2), { timeoutMs: 5000 })
}

sections.owner = async (client) => {
  const lock = client.mutex('/transcript/owner')
  const options = { owner: 'a', data: 'web1' }
  await lock.run((hold) => lock.run((again) => assert.equal(hold.node, again.node), options), options)
}

sections.refusals = async (client) => {
  await refused(client.mutex('no-slash').acquire(), 'UVZK_EPATH')
  await refused(client.mutex('/transcript/refusals').acquire({ leases: 2 }), 'SERVE_EREQUEST')
}

sections.under_a_hold = async (client) => {
  const stock = '/transcript/stock'
  await client.mutex('/transcript/under_a_hold').run(async (hold) => {
    await hold.write(uvzk.create(stock, '41'))
    assert.deepEqual(await hold.read(stock), { data: Buffer.from('41'), version: 0 })
    await hold.write(uvzk.setData(stock, BYTES, 0))
    const why = await refused(hold.write(uvzk.check('/transcript'), uvzk.remove(stock, 0)), 'UVZK_EBADVERSION')
    assert.ok(!why.outcomeUnknown && !why.retriable, 'nothing was done')
    assert.deepEqual(await hold.read(stock), { data: BYTES, version: 1 })
    await hold.write(uvzk.remove(stock))
  })
}

sections.max_hold = async (client) => {
  const hold = await client.mutex('/transcript/max_hold').acquire({ maxHoldMs: 300 })
  assert.equal((await lost(hold)).code, 'UVZK_EMAXHOLD')
}

sections.lost = async (client) => {
  const hold = await client.mutex('/transcript/lost').acquire()
  assert.equal((await lost(hold)).code, 'UVZK_EDELETED')
  assert.equal(hold.validForMs(), 0, 'over')
}

sections.daemon_that_ends = async (client) => {
  const hold = await client.mutex('/transcript/daemon_that_ends').acquire()
  assert.equal((await lost(hold)).code, 'SERVE_EENDING')
  await hold.release()
  await (await client._connection()).ended
}

sections.revoked = async (client) => {
  let asked
  const isAsked = new Promise((resolve) => {
    asked = resolve
  })
  await client.mutex('/transcript/revoked').run(() => isAsked, { onRevoke: asked })
}

sections.status = async (client) => {
  const [seen] = await client.contenders('/transcript/status')
  assert.deepEqual([seen.kind, seen.holds, String(seen.data)], ['mutex', true, 'web2'])
  await client.revoke(seen.node)
}

sections.election = async (client) => {
  const own = client.election('/transcript/election', { id: '10.0.0.7:8080' })
  await own.run(async (term) => {
    const leader = await own.leader()
    assert.deepEqual([String(leader.id), leader.token], ['10.0.0.7:8080', term.token], 'leader')
    assert.deepEqual((await own.participants()).holders, [term.node], 'participants')
  }, { timeoutMs: 5000 })
  assert.equal(await own.leader(), undefined, 'nobody')
}

sections.watch = async (client) => {
  const seen = client.mutex('/transcript/watch').watch()
  await untilSeen(seen, (state) => state.holders.length > 0)
  await seen.return()
}

sections.watched_election = async (client) => {
  const seen = client.election('/transcript/watched_election', { id: '' }).watch()
  await untilSeen(seen, (state) => String(state.leader) === '10.0.0.8:8080')
  await seen.return()
}

sections.shared_value = async (client) => {
  const value = await client.sharedValue('/transcript/shared_value', { seed: 'red' }).open()
  await value.changed()
  const red = await value.get()
  assert.equal(String(red.value), 'red', 'the first one')
  await value.set(BYTES)
  assert.deepEqual((await value.changed()).value, BYTES, 'bytes')
  await refused(value.set('green', { ifUnchanged: red }), 'UVZK_EBADVERSION')
  await value.close()
}

sections.shared_count = async (client) => {
  const count = await client.sharedCount('/transcript/shared_count', { seed: 4 }).open()
  assert.equal((await count.changed()).value, 4, 'the first one')
  await count.set(-5)
  assert.equal((await count.get()).value, -5, 'the next one')
  await count.close()
}

sections.persistent_node = async (client) => {
  const node = await client.persistentNode('/transcript/persistent_node', { data: 'a' }).open()
  await node.there()
  await node.set(BYTES)
  await node.there()
  await node.close()
}

sections.group_member = async (client) => {
  const member = await client.groupMember('/transcript/group_member', { member: 'a', data: '1' }).open()
  assert.deepEqual(await member.changed(), new Map([['a', Buffer.from('1')]]))
  await member.set('2')
  await member.close()
}

sections.barrier = async (client) => {
  const one = client.barrier('/transcript/barrier')
  await one.set()
  await refused(one.wait({ timeoutMs: 50 }), 'UV_ETIMEDOUT')
  await one.remove()
  await one.wait()
}

sections.double_barrier = async (client) => {
  const one = client.doubleBarrier('/transcript/double_barrier', { members: 1 })
  await one.enter()
  await one.leave()
}

sections.atomic_long = async (client) => {
  const number = client.atomicLong('/transcript/atomic_long')
  await number.create(2n ** 53n - 1n)
  await refused(number.create(1), 'UVZK_ENODEEXISTS')
  assert.equal(await number.add(-1), 2n ** 53n - 2n, 'sum')
  assert.equal(await number.set(5), 2n ** 53n - 2n, 'before')
  await refused(number.compareAndSet(4, 6), 'UVZK_EBADVERSION')
  await number.compareAndSet(5, 6)
  assert.equal(await number.get(), 6n, 'now')
}

/* What a section says that has no place in the transcript, or lacks, the player tells. */
async function play(directory, said, name) {
  const client = opened(await uvzk.connect({ socket: path.join(directory, name) }))
  let why
  try {
    await sections[name](client)
  } catch (error) {
    why = error
  }
  await client.close()
  assert.equal(await said.next(), `ok ${name}`, why && why.stack)
  assert.ifError(why)
}

const cases = {
  sections: async () => {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'uvzk-'))
    const player = start(PYTHON, [path.join(LANGUAGES, 'player'), path.join(LANGUAGES, 'transcript'), directory,
      ...Object.keys(sections)], { stdio: ['pipe', 'pipe', 'inherit'] })
    const said = new Lines(player)
    try {
      assert.equal(await said.next(), 'playing', 'sockets')
      for (const name of Object.keys(sections)) {
        await play(directory, said, name)
      }
    } finally {
      fs.rmSync(directory, { recursive: true, force: true })
    }
  },
}

main(cases)
