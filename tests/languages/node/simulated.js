/* SPDX-License-Identifier: Apache-2.0 */
/* simulated.js UVZK - - [CASE...]: the test double of clients/node, with uvzk-sim-server of $UVZK_SIM_SERVER_COMMAND. */
'use strict'

const { CHILD, assert, lost, main, opened, refused, uvzk } = require('./client_kit.js')
const { startSimulatedServer } = require('../../../clients/node/testing.js')

const cases = {}

/* A session is expired, replies are lost, and the client's znodes are seen, without a server of Java. */
cases['faults by command'] = async (path) => {
  const server = await startSimulatedServer({ options: ['--min-session', '500'] })
  try {
    const client = opened(await uvzk.connect({ ...CHILD, hosts: server.hosts }))
    const hold = await client.mutex(path).acquire({ timeoutMs: 5000 })
    assert.ok((await server.command('znodes')).some((line) => line.includes(hold.node)), 'its znode')
    const [session] = await server.command('sessions')
    await server.command(`expire ${session.split(' ')[0]}`)
    assert.equal((await lost(hold)).code, 'UVZK_EEXPIRED')
    await (await client.mutex(path).acquire({ timeoutMs: 30000 })).release()
    await server.command('lose-reply all create')
    await client.mutex(`${path}-2`).run((of) => assert.ok(of.validForMs() > 0), { timeoutMs: 30000 })
    const both = [server.command('sessions'), server.command('connections')]
    assert.deepEqual((await Promise.all(both)).map((lines) => lines.length), [1, 1])
    await assert.rejects(server.command('nonsense'), /nonsense: error/)
  } finally {
    await server.close()
    await server[Symbol.asyncDispose]()
  }
  await assert.rejects(server.command('sessions'), { code: 'ECONNREFUSED' })
}

cases['no command'] = async () => {
  await refused(startSimulatedServer({ command: '/nowhere/uvzk-sim-server' }), 'CLIENT_ECOMMAND')
  await refused(startSimulatedServer({ options: ['--no-such-option'] }), 'CLIENT_ECOMMAND')
}

main(cases)
