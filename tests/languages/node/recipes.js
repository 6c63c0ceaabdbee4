/* SPDX-License-Identifier: Apache-2.0 */
/* clients/node: elections, watches, and what is no lock. */
'use strict'

const {
  ask, assert, children, lost, main, nothingIsLeft, refused, stateOf, until, untilSeen, uvzk, withChild,
} = require('./client_kit.js')

const cases = {}

/* A case of two clients. */
function ofTwo(run) {
  return async (path) => {
    const [one, other] = [await withChild(), await withChild()]
    await run(path, one, other)
    await nothingIsLeft(one, `${path}-nothing`)
    await nothingIsLeft(other, `${path}-nothing`)
  }
}

/* Who leads is seen by the others; after a lost term the next one comes. */
cases['election'] = ofTwo(async (path, one, other) => {
  const seen = other.election(path, { id: 'other' }).watch()
  const terms = []
  const began = (term) => untilSeen(seen, (state) => state.holders[0] === term.node && String(state.leader) === 'one')
  for await (const term of one.election(path, { id: 'one' }).terms()) {
    terms.push(term)
    await began(term)
    if (terms.length === 1) {
      const leader = await other.election(path, { id: 'other' }).leader()
      assert.deepEqual([leader.token, String(leader.id)], [term.token, 'one'], 'leader')
      await ask('deleteContenders', path)
      assert.equal((await lost(term)).code, 'UVZK_EDELETED')
    } else if (terms.length === 2) {
      process.kill((await one._connection()).child.pid, 'SIGKILL')
      assert.equal((await lost(term)).code, 'CLIENT_EENDED')
    } else {
      break
    }
  }
  assert.deepEqual(terms.map((term) => term.signal.aborted), [true, true, false], 'lost, but the last')
  await other.election(path, { id: 'other' }).run(async (term) => {
    await untilSeen(seen, (state) => String(state.leader) === 'other' && state.holders[0] === term.node)
    assert.deepEqual((await one.election(path, { id: 'one' }).participants()).waiters, [])
  }, { timeoutMs: 5000 })
  await untilSeen(seen, (state) => state.leader === undefined)
  await seen.return()
})

cases['terms that end'] = ofTwo(async (path, one, other) => {
  const term = await other.election(path, { id: 'other' }).lead()
  const aborts = new AbortController()
  const standing = one.election(path, { id: 'one' }).terms({ signal: aborts.signal })
  const next = standing.next()
  await until(async () => (await children(path)).length === 2, 'it stands')
  aborts.abort(new Error('no more'))
  await assert.rejects(next, /no more/)
  const waits = one.election(path, { id: 'one' }).terms()
  const waited = waits.next()
  await until(async () => (await children(path)).length === 2, 'it stands')
  await waits.return()
  assert.deepEqual(await waited, { done: true, value: undefined })
  await until(async () => (await children(path)).length === 1, 'it stands no more')
  await term.release()
  for await (const own of one.election(path, { id: 'one' }).terms()) {
    assert.ok(own.validForMs() > 0)
    break
  }
  await until(async () => (await children(path)).length === 0, 'it has resigned')
  await assert.rejects(one.election('no-slash', { id: 'one' }).terms().next(), { code: 'UVZK_EPATH' })
})

cases['watch'] = ofTwo(async (path, one, other) => {
  const seen = one.mutex(path).watch()
  await untilSeen(seen, (state) => state.holders.length === 0 && state.waiters.length === 0)
  await other.mutex(path).run(async (hold) => {
    await untilSeen(seen, (state) => state.holders[0] === hold.node)
    const rows = (await one.contenders(path)).map(({ node, kind, holds }) => ({ node, kind, holds }))
    assert.deepEqual(rows, [{ node: hold.node, kind: 'mutex', holds: true }])
  })
  await untilSeen(seen, (state) => state.holders.length === 0)
  const next = seen.next()
  await seen.return()
  assert.equal((await next).done, true)
  const aborts = new AbortController()
  const other1 = one.mutex(path).watch({ signal: aborts.signal })
  await other1.next()
  const waits = other1.next()
  aborts.abort(new Error('enough'))
  await assert.rejects(waits, /enough/)
})

cases['shared value'] = ofTwo(async (path, one, other) => {
  const value = await one.sharedValue(path, { seed: 'red' }).open()
  await refused(value.open(), 'UVZK_ESTATE')
  const red = await value.changed()
  const same = await other.sharedValue(path, { seed: 'blue' }).open()
  assert.deepEqual([String(red.value), await same.changed()], ['red', red], 'of the first one')
  assert.equal(typeof red.mzxid, 'bigint')
  await same.set(Uint8Array.of(0xff, 0))
  assert.deepEqual((await value.changed()).value, Buffer.of(0xff, 0), 'bytes')
  await refused(value.set('green', { ifUnchanged: red }), 'UVZK_EBADVERSION')
  await value.set('green', { ifUnchanged: await value.get() })
  while (String((await same.changed()).value) !== 'green') {
    // an earlier one
  }
  await same.close()
  const waits = value.changed()
  await until(async () => String((await value.get()).value) === 'green', 'the value that was set')
  await Promise.race([waits, value.close()])
  await waits.catch((why) => assert.equal(why.code, 'UVZK_ECLOSED'))
  await refused(value.get(), 'UVZK_ECLOSED')
})

cases['shared count'] = ofTwo(async (path, one, other) => {
  const count = await one.sharedCount(path, { seed: 4 }).open()
  const four = await count.changed()
  const same = await other.sharedCount(path).open()
  assert.deepEqual([four.value, await same.changed()], [4, four], 'of the first one')
  await same.set(-5, { ifUnchanged: four })
  await same.close()
  assert.equal((await count.changed()).value, -5, 'changed')
  const aborts = new AbortController()
  const waits = count.changed({ signal: aborts.signal })
  aborts.abort(new Error('enough'))
  await assert.rejects(waits, /enough/)
  const later = count.changed()
  process.kill((await one._connection()).child.pid, 'SIGKILL')
  await refused(later, 'CLIENT_EENDED')
  await count.close()
  await (await count.open()).close()
})

cases['persistent node'] = ofTwo(async (path, one, other) => {
  const node = await one.persistentNode(path, { data: 'a' }).open()
  await node.there()
  await node.set('b')
  await node.there()
  assert.equal(await ask('data', path), 'b', 'its data')
  await ask('remove', path)
  await node.there()
  await refused(other.persistentNode('no-slash').open(), 'UVZK_EPATH')
  await node.close()
  await until(async () => await ask('data', path) === null, 'gone')
})

cases['group'] = ofTwo(async (path, one, other) => {
  const told = (members) => [...members].map(([member, data]) => `${member}=${data.toString('latin1')}`).join()
  const a = await one.groupMember(path, { member: 'a', data: '1' }).open()
  const b = await other.groupMember(path, { member: 'b', data: Buffer.of(0xff) }).open()
  while (told(await a.changed()) !== 'a=1,b=\xff') {
    // an earlier one
  }
  await a.set('2')
  await b.close()
  while (told(await a.members()) !== 'a=2') {
    await a.changed()
  }
  await a[Symbol.asyncDispose]()
  await until(async () => (await children(path)).length === 0, 'nobody is left')
})

cases['barriers'] = ofTwo(async (path, one, other) => {
  await one.barrier(path).set()
  await refused(other.barrier(path).wait({ timeoutMs: 50 }), 'UV_ETIMEDOUT')
  await assert.rejects(other.barrier(path).wait({ signal: AbortSignal.timeout(20) }), { name: 'TimeoutError' })
  const waits = other.barrier(path).wait()
  await one.barrier(path).remove()
  await waits
  const members = [one, other].map((client) => client.doubleBarrier(`${path}-2`, { members: 2 }))
  await Promise.all(members.map((member) => member.enter()))
  await Promise.all(members.map((member) => member.leave()))
  await refused(one.doubleBarrier(`${path}-2`, { members: 2 }).enter({ timeoutMs: 50 }), 'UV_ETIMEDOUT')
  await refused(one.doubleBarrier(`${path}-2`, { members: 2 }).leave(), 'UVZK_ESTATE')
  const aborts = new AbortController()
  const entering = one.doubleBarrier(`${path}-2`, { members: 2 }).enter({ signal: aborts.signal })
  const alone = one.doubleBarrier(`${path}-3`, { members: 1 })
  await alone.enter()
  aborts.abort(new Error('enough'))
  await assert.rejects(entering, /enough/)
  await alone.leave()
})

cases['atomic long'] = ofTwo(async (path, one, other) => {
  const [number, same] = [one.atomicLong(path), other.atomicLong(path)]
  await number.create(2n ** 62n)
  await refused(same.create(1), 'UVZK_ENODEEXISTS')
  assert.equal(await same.add(-1), 2n ** 62n - 1n, 'sum')
  assert.equal(await number.set(5), 2n ** 62n - 1n, 'before')
  await refused(same.compareAndSet(4, 6), 'UVZK_EBADVERSION')
  await same.compareAndSet(5, 6)
  assert.equal(await number.get(), 6n, 'now')
  const sums = await Promise.all(Array.from({ length: 20 }, (_, i) => (i % 2 ? number : same).add()))
  assert.deepEqual([new Set(sums).size, await number.get()], [20, 26n], 'each once')
})

/* Of what was under way when the child was killed. An acquire has none. */
cases['unknown outcome'] = async (path) => {
  const client = await withChild()
  const hold = await client.mutex(path).acquire()
  const connection = await client._connection()
  const { pid } = connection.child
  process.kill(pid, 'SIGSTOP')
  await until(() => stateOf(pid) === 'T', 'stopped')
  const waits = [hold.write(uvzk.create(`${path}-1`)), client.atomicLong(`${path}-2`).add(),
    client.mutex(path).acquire(), client.mutex(path).participants()]
  const whys = Promise.all(waits.map((wait) => refused(wait, 'CLIENT_EENDED')))
  await until(() => connection._answered.size === 4, 'under way')
  process.kill(pid, 'SIGKILL')
  assert.deepEqual((await whys).map((why) => [why.retriable, why.outcomeUnknown]),
    [[true, true], [true, true], [true, false], [true, false]])
}

main(cases)
