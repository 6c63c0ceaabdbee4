/* SPDX-License-Identifier: Apache-2.0 */
// Uses all of the package. It is never run.
import * as uvzk from 'uvzk'
import { startSimulatedServer } from 'uvzk/testing'

export async function locks(signal: AbortSignal): Promise<void> {
  const client: uvzk.Client = await uvzk.connect({ hosts: '10.0.0.1:2181', options: ['--session-timeout', '10'] })
  client.on('state', (state, why) => [state === 'connected', why?.code])
  const hold = await client.mutex('/a').acquire({ timeoutMs: 1, signal, owner: 'o', data: 'd', maxHoldMs: 5 })
  const token: bigint = hold.token
  const left: number = hold.validForMs()
  const lost: boolean = hold.signal.aborted
  await hold.write(uvzk.create('/b', Uint8Array.of(1)), uvzk.setData('/b', 'x', 1), uvzk.remove('/b'), uvzk.check('/b'))
  const text: string = (await hold.read('/b')).data.toString('utf8')
  await hold.release()
  await hold[Symbol.asyncDispose]()
  const sum: number = await client.readWrite('/c').read.run(async (of) => of.validForMs() + left, { onQueued: (n) => n + 1 })
  await client.semaphore('/d', 3).acquire({ leases: 2 })
  await client.allOf([client.mutex('/e'), client.mutex('/f')], { inTurn: true }).run(() => 1)
  for await (const { holders } of client.mutex('/a').watch({ signal })) {
    holders.map((node) => node.length)
  }
  console_of([token, lost, text, sum])
  // @ts-expect-error it is a bigint
  const wrong: number = hold.token
  // @ts-expect-error a misspelt option
  await client.mutex('/a').acquire({ timeout: 5 })
  // @ts-expect-error of semaphores
  await client.mutex('/a').acquire({ leases: 5 })
  // @ts-expect-error a hold comes from acquire()
  new uvzk.Hold()
  await client.close({ patienceMs: wrong })
}

export async function others(client: uvzk.Client, signal: AbortSignal): Promise<void> {
  for await (const term of client.election('/a', { id: 'b', kind: 'mutex' }).terms({ signal })) {
    term.signal.aborted
  }
  const id: string | undefined = (await client.election('/a', { id: 'b' }).leader())?.id.toString()
  const value = await client.sharedValue('/c', { seed: 'red' }).open()
  await value.set(Uint8Array.of(1), { ifUnchanged: await value.changed({ signal }) })
  const count = await client.sharedCount('/d').open()
  const next: number = (await count.get()).value + 1
  await count.set(next)
  // @ts-expect-error a count is a number
  await count.set('5')
  const member = await client.groupMember('/e', { member: 'm', data: 'x' }).open()
  const names: string[] = [...(await member.members()).keys()]
  await (await client.persistentNode('/f', { persistent: true }).open()).there({ signal })
  await client.barrier('/g').wait({ timeoutMs: 5, signal })
  await client.doubleBarrier('/h', { members: 2 }).enter({ signal })
  const number: bigint = await client.atomicLong('/i').add(5n)
  try {
    await client.connected({ timeoutMs: 5 })
  } catch (why) {
    if (why instanceof uvzk.UvzkTimeout) {
      console_of([why.code, why.retriable, why.outcomeUnknown, id, names, number])
    }
  }
}

export async function tests(): Promise<string[]> {
  const server = await startSimulatedServer({ options: ['--tick', '100'] })
  const client = await uvzk.connect({ hosts: server.hosts })
  await client.close()
  return server.command('znodes')
}

function console_of(values: unknown[]): number {
  return values.length
}
