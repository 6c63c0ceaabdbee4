/* SPDX-License-Identifier: Apache-2.0 */
/* A client: it has one connection to a daemon, and another one when that has ended. */
'use strict'

const { EventEmitter } = require('node:events')
const { AtomicLong } = require('./atomic_long.js')
const { Barrier, DoubleBarrier } = require('./barriers.js')
const { closedError, openConnection } = require('./connection.js')
const { Election } = require('./elections.js')
const { dataOf } = require('./lines.js')
const { AllOf, Lock, ReadWrite } = require('./locks.js')
const { GroupMember, PersistentNode, Shared } = require('./objects.js')
const { checkOptions, wholeMs } = require('./options.js')

class Client extends EventEmitter {
  constructor(where = {}) {
    super()
    checkOptions(where, 'hosts', 'socket', 'command', 'options', 'maxLine')
    if (where.socket && (where.hosts || where.command || where.options)) {
      throw new TypeError('with socket, there are no hosts, command and options: the daemon has its own')
    }
    this._where = where
    this._current = null
    this._opening = null
    this._closed = false
  }

  /* Releases everything, and waits so long at most until that is done. */
  async close({ patienceMs } = {}) {
    const first = !this._closed
    this._closed = true
    if (this._opening) {
      await this._opening.catch(() => {}) // whoever waits has its error
    }
    if (this._current) {
      await this._current.close(patienceMs)
    }
    if (first) {
      this._tell('closed')
    }
  }

  async [Symbol.asyncDispose]() {
    await this.close()
  }

  /* The connection, which is opened if there is none. The servers can be asked at once: a daemon that has just begun
   * has found them. */
  async _connection({ toAskServers = false } = {}) {
    while (!this._current || this._current.end) {
      if (this._closed) {
        throw closedError()
      }
      if (!this._opening) {
        this._opening = this._open().finally(() => {
          this._opening = null
        })
      }
      await this._opening
    }
    const connection = this._current
    if (toAskServers) {
      await connection.servers()
    }
    return connection
  }

  async _open() {
    const connection = await openConnection(this._where)
    this._current = connection
    this._tell('connected')
    connection.ended.then(() => {
      if (!this._closed) {
        this._tell('disconnected', connection.end)
      }
    })
  }

  /* In a turn of its own: listeners may do anything. */
  _tell(state, why) {
    process.nextTick(() => this.emit('state', state, why))
  }

  mutex(path) {
    return new Lock(this, path)
  }

  readWrite(path) {
    return new ReadWrite(this, path)
  }

  semaphore(path, leases) {
    return new Lock(this, path, 'semaphore', leases)
  }

  allOf(locks, { inTurn = false } = {}) {
    return new AllOf(this, locks, inTurn)
  }

  election(path, { id, kind = 'latch' }) {
    return new Election(this, path, id, kind)
  }

  sharedValue(path, { seed = '' } = {}) {
    return new Shared(this, 'shared_value', path, seed)
  }

  sharedCount(path, { seed = 0 } = {}) {
    return new Shared(this, 'shared_count', path, seed)
  }

  persistentNode(path, { data, persistent = false } = {}) {
    return new PersistentNode(this, path, data, persistent)
  }

  groupMember(path, { member, data }) {
    return new GroupMember(this, path, member, data)
  }

  barrier(path) {
    return new Barrier(this, path)
  }

  doubleBarrier(path, { members }) {
    return new DoubleBarrier(this, path, members)
  }

  atomicLong(path) {
    return new AtomicLong(this, path)
  }

  async connected({ timeoutMs }) {
    const connection = await this._connection()
    await connection.ask('connected', { timeout_ms: wholeMs(timeoutMs, 'timeoutMs') })
  }

  /* All that stand at a path, those that hold first; the first 100. */
  async contenders(path) {
    const { participants } = await (await this._connection({ toAskServers: true })).ask('status', { path })
    return participants.map((row) => ({ node: row.node, kind: row.lock, holds: row.holds, data: dataOf(row) }))
  }

  async revoke(node) {
    await (await this._connection({ toAskServers: true })).ask('revoke', { node })
  }

  async metrics() {
    return (await (await this._connection()).ask('metrics')).text
  }
}

async function connect(where) {
  const client = new Client(where)
  await client._connection()
  return client
}

module.exports = { Client, connect }
