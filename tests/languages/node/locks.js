/* SPDX-License-Identifier: Apache-2.0 */
/* clients/node: locks, over a child and over a daemon's socket. */
'use strict'

const { once } = require('node:events')
const {
  CHILD, Daemon, HOSTS, Lines, OPTIONS, UVZK, ask, assert, both, children, lost, main, nothingIsLeft, nowMs, opened,
  refused, start, stateOf, until, untilBlocking, uvzk, waiting, withChild, withSocket,
} = require('./client_kit.js')
const { parseLine, writeLine } = require('../../../clients/node/lib/lines.js')

const CANCELLED = Number(process.env.UVZK_CANCELLED || 3000)
const MOMENT_MS = 50
const PACKAGE = require.resolve('../../../clients/node')

const cases = {}

// ------------------------------------------------------------------------ locks

cases['one at a time'] = both(async (path, one, other) => {
  const hold = await one.mutex(path).acquire({ timeoutMs: 5000 })
  assert.ok(hold.validForMs() > 0 && await hold.verify() > 0, 'valid')
  assert.equal(typeof hold.token, 'bigint')
  const why = await refused(other.mutex(path).acquire({ timeoutMs: 0 }), 'UV_ETIMEDOUT')
  assert.ok(why instanceof uvzk.UvzkTimeout && why instanceof uvzk.UvzkError && why.retriable, 'a time-out')
  assert.ok(why.stack.includes('locks.js'), `it tells who has asked: ${why.stack}`)
  await until(async () => `${await children(path)}` === hold.node.split('/').pop(), 'its znode alone')
  const [acquiring] = await waiting(other.mutex(path))
  const { holders, waiters } = await one.mutex(path).participants()
  assert.deepEqual([holders, waiters.length], [[hold.node], 1], 'participants')
  await hold.release()
  const next = await acquiring
  assert.ok(next.token > hold.token && hold.validForMs() === 0 && !hold.signal.aborted, 'the next one')
  await next.release()
  await next.release()
})

cases['kinds'] = both(async (path, one, other) => {
  const readers = [await one.readWrite(path).read.acquire(), await other.readWrite(path).read.acquire({ timeoutMs: 5000 })]
  await refused(other.readWrite(path).write.acquire({ timeoutMs: 0 }), 'UV_ETIMEDOUT')
  const leases = [await one.semaphore(`${path}-semaphore`, 3).acquire({ leases: 2 }),
    await other.semaphore(`${path}-semaphore`, 3).acquire({ timeoutMs: 5000 })]
  await refused(other.semaphore(`${path}-semaphore`, 3).acquire({ timeoutMs: 0 }), 'UV_ETIMEDOUT')
  const all = await one.allOf([one.mutex(`${path}-a`), one.mutex(`${path}-b`)]).acquire({ timeoutMs: 5000 })
  assert.equal(all.nodes.length, 2, 'znodes')
  await refused(other.mutex(`${path}-b`).acquire({ timeoutMs: 0 }), 'UV_ETIMEDOUT')
  const owned = [await one.mutex(`${path}-owner`).acquire({ owner: 'a' }),
    await one.mutex(`${path}-owner`).acquire({ owner: 'a', timeoutMs: 5000 })]
  for (const hold of [...readers, ...leases, all, ...owned]) {
    await hold.release()
  }
  await refused(other.mutex(path).acquire({ timeoutMs: 5000, leases: 2 }), 'SERVE_EREQUEST')
  await refused(other.mutex('no-slash').acquire(), 'UVZK_EPATH')
  await assert.rejects(other.mutex(path).acquire({ timeout: 5 }), TypeError)
  await assert.rejects(other.mutex(path).acquire({ timeoutMs: -1 }), RangeError)
})

cases['under a hold'] = both(async (path, one) => {
  const hold = await one.mutex(path).acquire()
  await hold.write(uvzk.create(`${path}-stock`, '41'))
  const stock = await hold.read(`${path}-stock`)
  assert.deepEqual(stock, { data: Buffer.from('41'), version: 0 }, 'what was written')
  await hold.write(uvzk.setData(`${path}-stock`, Uint8Array.of(0xff, 0), stock.version))
  const why = await refused(hold.write(uvzk.check(path), uvzk.remove(`${path}-stock`, stock.version)), 'UVZK_EBADVERSION')
  assert.ok(!why.retriable && !why.outcomeUnknown, 'nothing was done')
  assert.deepEqual((await hold.read(`${path}-stock`)).data, Buffer.of(0xff, 0), 'bytes')
  await hold.write(uvzk.remove(`${path}-stock`))
  await hold.release()
  await refused(hold.read(path), 'UVZK_ENOTHELD')
})

cases['revoke'] = both(async (path, one, other) => {
  let asked
  const revoked = new Promise((resolve) => {
    asked = resolve
  })
  const hold = await one.mutex(path).acquire({ onRevoke: asked })
  await other.revoke(hold.node)
  await revoked
  await hold.release()
})

cases['run'] = both(async (path, one, other) => {
  const free = async () => (await other.mutex(path).acquire({ timeoutMs: 5000 })).release()
  assert.equal(await one.mutex(path).run(async (hold) => hold.nodes.length, { timeoutMs: 5000 }), 1, 'result')
  await free()
  await assert.rejects(one.mutex(path).run(() => {
    throw new Error('its own')
  }), /its own/)
  await free()
  const of = { seen: [] }
  const losing = one.mutex(path).run(async (hold) => {
    const [deleted] = [ask('deleteContenders', path)]
    await assert.rejects(once(new EventTarget(), 'never', { signal: hold.signal }).catch((why) => {
      of.seen.push(hold.signal.reason)
      throw why
    }), { name: 'AbortError' })
    await deleted
    return 'in vain'
  })
  await refused(losing, 'UVZK_EDELETED')
  assert.ok(of.seen[0] instanceof uvzk.UvzkLost, 'the signal tells the reason')
  const fetching = one.mutex(path).run(async (hold) => {
    await ask('deleteContenders', path)
    await lost(hold)
    throw new DOMException('of fetch()', 'AbortError')
  })
  await refused(fetching, 'UVZK_EDELETED')
})

cases['disposed'] = both(async (path, one) => {
  const hold = await one.mutex(path).acquire()
  await hold[Symbol.asyncDispose]()
  assert.equal(hold.validForMs(), 0, 'released')
  const other = await one.mutex(path).acquire()
  await ask('deleteContenders', path)
  await lost(other)
  await refused(other[Symbol.asyncDispose](), 'UVZK_EDELETED')
  await refused(other.verify(), 'UVZK_EDELETED')
  await other.release()
})

cases['kazoo with names of Curator'] = async (path) => {
  const client = await withChild()
  const hold = await client.mutex(path).acquire()
  assert.equal(await ask('acquire', path, 0), false, 'not both')
  await hold.release()
  assert.equal(await ask('acquire', path, 10), true, 'it is free')
  await refused(client.mutex(path).acquire({ timeoutMs: 0 }), 'UV_ETIMEDOUT')
  await ask('release', path)
  await (await client.mutex(path).acquire({ timeoutMs: 10000 })).release()
}

/* JSON.parse() would round them; in a text they are no numbers. */
cases['numbers of 64 bits'] = async () => {
  const line = '{"token":9223372036854775807,"all":[-9007199254740993],"data":"\\",:12345678901234567 ","id":1}'
  const { token, all, data, id } = parseLine(line)
  assert.deepEqual([BigInt(token), BigInt(all[0]), data, id],
    [2n ** 63n - 1n, -(2n ** 53n) - 1n, '",:12345678901234567 ', 1])
  assert.equal(writeLine({ value: -(2n ** 63n), data: 'x', not: undefined }), '{"value":-9223372036854775808,"data":"x"}\n')
}

// ----------------------------------------------------------------------- losses

cases['killed child'] = async (path) => {
  const client = await withChild()
  const states = []
  client.on('state', (state, why) => states.push(why ? why.code : state))
  const before = (await client._connection()).child
  const hold = await client.mutex(path).acquire()
  const [acquiring] = await waiting(client.mutex(path))
  const validUntil = nowMs() + hold.validForMs()
  process.kill(before.pid, 'SIGKILL')
  assert.equal((await lost(hold)).code, 'CLIENT_EENDED')
  assert.ok(nowMs() < validUntil && hold.validForMs() === 0, 'before its end')
  await refused(acquiring, 'CLIENT_EENDED')
  await hold.release()
  await (await client.mutex(`${path}-2`).acquire({ timeoutMs: 30000 })).release()
  assert.notEqual((await client._connection()).child.pid, before.pid, 'another child')
  await until(() => stateOf(before.pid) === undefined, 'no zombie stays')
  await client.close()
  await until(() => states.length === 4, 'closed')
  assert.deepEqual(states, ['connected', 'CLIENT_EENDED', 'connected', 'closed'])
}

/* A program that holds a lock, and prints until when; Bun's hrtime() is of each process. */
const HOLDER = `
const uvzk = require(${JSON.stringify(PACKAGE)})
uvzk.connect(JSON.parse(process.argv[1])).then(async (client) => {
  const hold = await client.mutex(process.argv[2]).acquire()
  console.log(Date.now() + hold.validForMs())
})
`

cases['killed program'] = async (path) => {
  const program = start(process.execPath, ['-e', HOLDER, JSON.stringify(CHILD), path], { stdio: ['ignore', 'pipe', 'inherit'] })
  const validUntil = Number(await new Lines(program).next())
  const client = await withChild()
  const [acquiring] = await waiting(client.mutex(path))
  program.kill('SIGKILL')
  await (await acquiring).release()
  assert.ok(Date.now() < validUntil, 'by a release')
}

cases['blocked loop'] = async (path) => {
  const [client, other] = [await withChild(), await withSocket(await Daemon.serving())]
  const [hold, otherHold] = [await client.mutex(path).acquire(), await other.mutex(`${path}-2`).acquire()]
  const validUntil = nowMs() + Math.max(hold.validForMs(), otherHold.validForMs())
  untilBlocking(() => nowMs() > validUntil)
  assert.ok(hold.validForMs() > 0, 'valid, in the first moment')
  assert.equal(otherHold.validForMs(), 0, 'it has heard nothing')
  assert.ok(await otherHold.valid() > 0, 'the daemon knows better')
  assert.ok(await hold.verify() > 0 && await otherHold.verify() > 0, 'held')
  await Promise.all([hold.release(), otherHold.release()])
}

/* Neither more than the daemon knows, nor much less: both clocks are rounded. */
cases['validity of the file'] = async (path) => {
  const client = await withChild()
  const connection = await client._connection()
  const hold = await client.mutex(path).acquire()
  const told = async () => {
    const { sentMs, valid_for_ms: left } = await connection.ask('valid', { hold: hold._number })
    return sentMs + left
  }
  await until(async () => {
    const earlier = await told()
    const end = nowMs() + hold.validForMs()
    assert.ok(end <= await told() + 1, 'not more than the daemon knows')
    return end >= earlier - 15
  }, 'what the daemon knows')
  await hold.release()
}

cases['renewed by itself'] = async (path) => {
  const client = await withSocket(await Daemon.serving())
  const hold = await client.mutex(path).acquire()
  const validUntil = nowMs() + hold.validForMs()
  await until(() => {
    assert.ok(!hold.signal.aborted, 'held')
    const now = nowMs()
    const left = hold.validForMs()
    return left > 0 && now + left > validUntil + 20
  }, 'renewed')
  await hold.release()
}

cases['stopped daemons'] = async (path) => {
  const daemon = await Daemon.serving()
  const [client, other] = [await withChild(), await withSocket(daemon)]
  const holds = [await client.mutex(path).acquire(), await other.mutex(`${path}-2`).acquire()]
  const pids = [(await client._connection()).child.pid, daemon.pid]
  for (const pid of pids) {
    process.kill(pid, 'SIGSTOP')
    await until(() => stateOf(pid) === 'T', 'stopped')
  }
  const ends = holds.map((hold) => nowMs() + hold.validForMs())
  const reasons = await Promise.all(holds.map(lost))
  assert.ok(ends.every((end) => nowMs() >= end), 'not before')
  assert.deepEqual(reasons.map((reason) => reason.code), ['UVZK_EPROOF', 'UVZK_EPROOF'])
  assert.deepEqual(holds.map((hold) => hold.validForMs()), [0, 0], 'over')
  pids.forEach((pid) => process.kill(pid, 'SIGCONT'))
}

cases['daemon that ends'] = async (path) => {
  const daemon = await Daemon.serving()
  const client = await withSocket(daemon)
  const hold = await client.mutex(path).acquire()
  const validUntil = nowMs() + hold.validForMs()
  const { ended } = await client._connection()
  process.kill(daemon.pid, 'SIGTERM')
  assert.equal((await lost(hold)).code, 'SERVE_EENDING')
  await hold.release()
  await ended
  assert.ok(nowMs() < validUntil, 'it need not wait for the end of the validity')
  const why = await refused(client.mutex(path).acquire(), 'CLIENT_EENDED')
  assert.ok(why instanceof uvzk.UvzkConnectionError && why.retriable, 'there is no daemon')
  await until(() => stateOf(daemon.pid) === undefined, 'it ends')
  await Daemon.serving(daemon.directory)
  await (await client.mutex(path).acquire({ timeoutMs: 30000 })).release()
}

cases['longest hold'] = async (path) => {
  const client = await withChild()
  for (let round = 0; round < 3; round += 1) {
    const hold = await client.mutex(path).acquire({ maxHoldMs: 50 })
    assert.equal((await lost(hold)).code, 'UVZK_EMAXHOLD')
  }
}

// ---------------------------------------------------------------- cancellations

cases['aborted before, and while it waits'] = both(async (path, one, other) => {
  await assert.rejects(one.mutex(path).acquire({ signal: AbortSignal.abort(new Error('before')) }), /before/)
  const hold = await one.mutex(path).acquire()
  const aborts = new AbortController()
  const [acquiring] = await waiting(other.mutex(path), { signal: aborts.signal })
  aborts.abort(new Error('while'))
  await assert.rejects(acquiring, /while/)
  await until(async () => (await children(path)).length === 1, 'its znode is gone')
  await hold.release()
})

cases['aborted as it is granted'] = async (path) => {
  const client = await withChild()
  const connection = await client._connection()
  const received = connection._received.bind(connection)
  const aborts = new AbortController()
  connection._received = (line) => {
    if (line.hold) {
      aborts.abort(new Error('now'))
    }
    received(line)
  }
  await assert.rejects(client.mutex(path).acquire({ signal: aborts.signal }), /now/)
  delete connection._received
  await nothingIsLeft(client, path)
}

/* A random number of 0 to 1 from a seed (mulberry32). */
function moments(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/* At random times, and at random lines, before or after the client knows them. */
cases['aborted at any moment'] = async (path) => {
  const seed = Number(process.env.UVZK_SEED || Math.floor(Math.random() * 2 ** 32))
  console.log(`        UVZK_SEED=${seed}`)
  const random = moments(seed)
  const client = await withChild()
  const connection = await client._connection()
  const received = connection._received.bind(connection)
  const locks = [client.mutex(path), client.mutex(path), client.mutex(`${path}-2`), client.semaphore(`${path}-3`, 2),
    client.allOf([client.mutex(`${path}-4`), client.mutex(`${path}-5`)])]
  let granted = 0
  let [aborts, over] = [[], 0]
  connection._received = (line) => {
    for (const step of [() => {}, () => received(line)]) {
      step()
      if (random() < 0.05 && aborts.length > 0) {
        aborts[Math.floor(random() * aborts.length)].abort()
      }
    }
  }
  for (let round = 0; round < CANCELLED / 100; round += 1) {
    aborts = Array.from({ length: 100 }, () => new AbortController())
    const tasks = aborts.map((abort) => locks[Math.floor(random() * locks.length)].run(async () => {
      granted += 1
      for (let turns = Math.floor(random() * 3); turns > 0; turns -= 1) {
        await new Promise(setImmediate)
      }
    }, { signal: abort.signal }).catch((why) => assert.equal(why.name, 'AbortError', why.stack)).finally(() => {
      over += 1
    }))
    aborts.forEach((abort) => setTimeout(() => abort.abort(), random() ** 2 * MOMENT_MS))
    await Promise.all(tasks)
  }
  delete connection._received
  assert.equal(over, Math.ceil(CANCELLED / 100) * 100, 'promises that have ended')
  for (const number of ['', '-2', '-3/locks', '-3/leases', '-4', '-5']) {
    await nothingIsLeft(client, path + number)
  }
  console.log(`        ${granted} of ${over} were granted before`)
}

cases['one signal of many'] = async (path) => {
  const client = await withChild()
  const hold = await client.mutex(path).acquire()
  const aborts = new AbortController()
  const all = []
  for (let number = 0; number < 50; number += 1) {
    all.push(...await waiting(client.mutex(path), { signal: aborts.signal }))
  }
  aborts.abort()
  for (const acquiring of all) {
    await assert.rejects(acquiring, { name: 'AbortError' })
  }
  await hold.release()
  await nothingIsLeft(client, path)
}

// ----------------------------------------------------------------------- errors

cases['servers that are not there'] = async (path) => {
  const client = await withChild()
  await client.connected({ timeoutMs: 10000 })
  const nobody = opened(new uvzk.Client({ ...CHILD, hosts: '127.0.0.1:1' }))
  const why = await refused(nobody.connected({ timeoutMs: 50 }), 'UV_ETIMEDOUT')
  assert.ok(why instanceof uvzk.UvzkTimeout && why.retriable, why.stack)
  await refused(nobody.mutex(path).acquire({ timeoutMs: 50 }), 'UVZK_EUNREACHABLE')
}

cases['no daemon'] = async (path) => {
  for (const where of [{ command: '/nowhere/uvzk' }, { command: UVZK, options: ['--no-such-option'] }]) {
    const why = await refused(uvzk.connect({ hosts: HOSTS, ...where }), 'CLIENT_ECOMMAND')
    assert.ok(why instanceof uvzk.UvzkConnectionError && !why.retriable, why.stack)
  }
  await refused(uvzk.connect({ socket: '/nowhere/socket' }), 'CLIENT_EENDED')
  assert.throws(() => new uvzk.Client({ socket: '/nowhere/socket', hosts: HOSTS }), TypeError)
  assert.throws(() => new uvzk.Client({ host: HOSTS }), TypeError)
  const client = opened(new uvzk.Client(CHILD))
  await client.mutex(path).run(async (hold) => {
    await refused(hold.write(uvzk.create(`${path}-1`, 'x'.repeat(5 << 20))), 'CLIENT_ELINE')
    await hold.write(uvzk.create(`${path}-1`, 'é'.repeat(100000)))
    assert.equal((await hold.read(`${path}-1`)).data.length, 200000, 'more than a daemon\'s line')
  })
  const hold = await client.mutex(path).acquire()
  await client.close()
  assert.equal((await lost(hold)).code, 'CLIENT_ECLOSED')
  await hold.release()
  await refused(client.mutex(path).acquire(), 'CLIENT_ECLOSED')
}

cases['daemon that has just begun'] = async (path) => {
  for (const ask1 of [(client) => client.mutex(path).acquire({ timeoutMs: 0 }),
    (client) => client.mutex(path).participants(), (client) => client.contenders(path)]) {
    await ask1(await withChild())
  }
}

cases['closed while it opens'] = async (path) => {
  const client = opened(new uvzk.Client(CHILD))
  const acquiring = refused(client.mutex(path).acquire(), 'CLIENT_ECLOSED')
  await client.close()
  await acquiring
}

/* A program ends by itself when nothing is held and nothing is waited for. */
cases['program that ends'] = async (path) => {
  const script = `
const uvzk = require(${JSON.stringify(PACKAGE)})
uvzk.connect(JSON.parse(process.argv[1])).then(async (client) => {
  await client.mutex(process.argv[2]).run(() => console.log((client._current.child.pid)))
})
`
  const program = start(process.execPath, ['-e', script, JSON.stringify(CHILD), path], { stdio: ['ignore', 'pipe', 'inherit'] })
  const pid = Number(await new Lines(program).next())
  const [status] = await once(program, 'exit')
  assert.equal(status, 0)
  await until(() => stateOf(pid) === undefined || stateOf(pid) === 'Z', 'its child has ended')
}

main(cases)
