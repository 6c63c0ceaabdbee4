/* SPDX-License-Identifier: Apache-2.0 */
/* clients/node and Curator at the same locks, in both orders. The environment has how CuratorPeer.java is started,
 * UVZK_TEST_CURATOR. */
'use strict'

const {
  HOSTS, Lines, assert, main, nothingIsLeft, refused, start, until, waiting, withChild,
} = require('./client_kit.js')

const SESSION_MS = 10000

class Curator {
  static async started() {
    const [command, ...words] = process.env.UVZK_TEST_CURATOR.split(' ')
    const curator = new Curator()
    curator._child = start(command, [...words, HOSTS, `${SESSION_MS}`], { stdio: ['pipe', 'pipe', 'inherit'] })
    curator._lines = new Lines(curator._child)
    await curator.says('ready')
    return curator
  }

  tell(command) {
    this._child.stdin.write(`${command}\n`)
  }

  async says(wanted) {
    assert.equal(await this._lines.next(), wanted)
  }

  async ask(command, answer) {
    this.tell(command)
    await this.says(answer)
  }
}

const twoStandAt = (client, path) => until(async () => (await client.contenders(path)).length === 2, 'two')

/* `name` is the peer's for the same lock, which is free. */
async function excludeOneAnother(client, curator, lock, name) {
  await lock.run(async () => {
    await curator.ask(`try a ${name} 0`, 'timeout a')
    curator.tell(`acquire a ${name}`)
    await twoStandAt(client, lock.path)
  })
  await curator.says('granted a')
  await refused(lock.acquire({ timeoutMs: 0 }), 'UV_ETIMEDOUT')
  const [acquiring] = await waiting(lock)
  await curator.ask(`release a ${name}`, 'released a')
  await (await acquiring).release()
}

const cases = {}

cases['locks'] = async (path) => {
  const [curator, client] = [await Curator.started(), await withChild()]
  await curator.ask(`mutex m ${path}-1`, 'made m')
  await excludeOneAnother(client, curator, client.mutex(`${path}-1`), 'm')
  await curator.ask(`rw rw ${path}-2`, 'made rw')
  const sides = client.readWrite(`${path}-2`)
  await excludeOneAnother(client, curator, sides.write, 'rw.write')
  await excludeOneAnother(client, curator, sides.write, 'rw.read')
  await excludeOneAnother(client, curator, sides.read, 'rw.write')
  await sides.read.run(async () => {
    await curator.ask('try a rw.read 10000', 'granted a')
    await curator.ask('release a rw.read', 'released a')
  })
  await nothingIsLeft(client, `${path}-1`)
}

cases['semaphore'] = async (path) => {
  const [curator, client] = [await Curator.started(), await withChild()]
  await curator.ask(`semaphore s ${path} 2`, 'made s')
  const semaphore = client.semaphore(path, 2)
  await semaphore.run(async () => {
    await curator.ask('try a s 10000', 'granted a')
    await refused(semaphore.acquire({ timeoutMs: 0 }), 'UV_ETIMEDOUT')
    await curator.ask('release a s', 'released a')
  })
  await semaphore.run(() => curator.ask('try a s 0', 'timeout a'), { leases: 2 })
}

cases['election'] = async (path) => {
  const [curator, client] = [await Curator.started(), await withChild()]
  const election = client.election(path, { id: 'node' })
  await election.run(async () => {
    await curator.ask(`latch l ${path} java`, 'made l')
    await twoStandAt(client, path)
  })
  await curator.says('leads l')
  assert.equal(String((await election.leader()).id), 'java')
  const leading = election.lead()
  await twoStandAt(client, path)
  curator.tell('leave l silent')
  const term = await leading
  assert.equal(String((await election.leader()).id), 'node')
  await term.release()
}

main(cases)
