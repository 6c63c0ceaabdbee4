/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers: tasks wait until one is removed, or until so many members have entered and left. */
'use strict'

const { onAbort, orAborted, throwIfAborted } = require('./cancellation.js')
const { UvzkError, errorOf } = require('./errors.js')
const { wholeMs } = require('./options.js')

/* Resolves with the answer. Who is cancelled waits no more, and is no member of what it has entered. */
async function cancellable(connection, op, fields, signal) {
  throwIfAborted(signal)
  const answer = await new Promise((resolve, reject) => {
    let waits = true
    const number = connection.send(op, fields, (line) => {
      undo()
      if (!waits && op === 'enter' && line.ok) {
        connection.tell('close', { object: line.object })
      }
      resolve(line)
    })
    const undo = onAbort(signal, () => {
      waits = false
      connection.tell('cancel', { acquire: number })
      reject(signal.reason)
    })
  })
  if (!answer.ok) {
    throw errorOf(answer)
  }
  return answer
}

/* As Curator's DistributedBarrier. It stays set until somebody removes it. */
class Barrier {
  constructor(client, path) {
    this._client = client
    this._path = path
  }

  async set() {
    await (await this._client._connection()).ask('barrier_set', { path: this._path })
  }

  async remove() {
    await (await this._client._connection()).ask('barrier_remove', { path: this._path })
  }

  async wait({ timeoutMs, signal } = {}) {
    const fields = { path: this._path, timeout_ms: wholeMs(timeoutMs, 'timeoutMs') }
    throwIfAborted(signal)
    await cancellable(await orAborted(this._client._connection(), signal), 'barrier_wait', fields, signal)
  }
}

/* As Curator's DistributedDoubleBarrier: its members enter, and all of them leave, together. */
class DoubleBarrier {
  constructor(client, path, members) {
    this._client = client
    this._fields = { path, member_quantity: members }
    this._connection = undefined
    this._number = undefined
  }

  async enter({ timeoutMs, signal } = {}) {
    if (this._connection) {
      throw new UvzkError('UVZK_ESTATE', 'it has entered already')
    }
    throwIfAborted(signal)
    const connection = await orAborted(this._client._connection(), signal)
    const fields = { ...this._fields, timeout_ms: wholeMs(timeoutMs, 'timeoutMs') }
    const { object } = await cancellable(connection, 'enter', fields, signal)
    this._connection = connection
    this._number = object
  }

  async leave({ timeoutMs, signal } = {}) {
    if (!this._connection) {
      throw new UvzkError('UVZK_ESTATE', 'it has not entered')
    }
    const connection = this._connection
    this._connection = undefined
    const fields = { object: this._number, timeout_ms: wholeMs(timeoutMs, 'timeoutMs') }
    await cancellable(connection, 'leave', fields, signal)
  }
}

module.exports = { Barrier, DoubleBarrier }
