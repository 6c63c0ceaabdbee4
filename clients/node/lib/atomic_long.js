/* SPDX-License-Identifier: Apache-2.0 */
/* An atomic long: a number that all clients change one after the other, as Curator's DistributedAtomicLong. */
'use strict'

/* -2^63 to 2^63 - 1: all numbers that are returned are of the type bigint. */
class AtomicLong {
  constructor(client, path) {
    this._client = client
    this._path = path
  }

  async _ask(op, fields) {
    return (await this._client._connection()).ask(op, { path: this._path, ...fields })
  }

  async get() {
    return BigInt((await this._ask('atomic_get')).value)
  }

  async add(delta = 1n) {
    return BigInt((await this._ask('atomic_add', { delta: BigInt(delta) })).value)
  }

  async set(value) {
    return BigInt((await this._ask('atomic_set', { value: BigInt(value) })).previous)
  }

  async compareAndSet(expected, value) {
    await this._ask('atomic_compare_and_set', { expected: BigInt(expected), value: BigInt(value) })
  }

  async create(value) {
    await this._ask('atomic_create', { value: BigInt(value) })
  }
}

module.exports = { AtomicLong }
