/* SPDX-License-Identifier: Apache-2.0 */
/* What is no lock: shared values and counts, persistent nodes and groups. Each is opened and closed. */
'use strict'

const { onAbort, orAborted, throwIfAborted } = require('./cancellation.js')
const { UvzkError, errorOf, lostBecauseOf } = require('./errors.js')
const { dataField, dataOf } = require('./lines.js')

/* Something that the daemon follows for this client, as long as the connection lasts. */
class Opened {
  constructor(client, op, fields) {
    this._client = client
    this._op = op
    this._fields = fields
    this._connection = undefined
    this._number = undefined
    this._reason = undefined // of its loss
    this._news = undefined // the latest event that was not returned yet
    this._waits = new Set() // of changed()
    this._opening = false
  }

  async open({ signal } = {}) {
    if (this._connection || this._opening) {
      throw new UvzkError('UVZK_ESTATE', 'it is open already')
    }
    this._opening = true
    try {
      await this._open(signal)
    } finally {
      this._opening = false
    }
    return this
  }

  async _open(signal) {
    throwIfAborted(signal)
    const connection = await orAborted(this._client._connection(), signal)
    throwIfAborted(signal)
    const answer = await new Promise((resolve, reject) => {
      let waits = true
      connection.send(this._op, this._fields, (line) => {
        undo()
        if (line.ok && waits) {
          this._opens(connection, line.object)
        } else if (line.ok) {
          connection.tell('close', { object: line.object })
        }
        resolve(line)
      })
      const undo = onAbort(signal, () => {
        waits = false
        reject(signal.reason)
      })
    })
    if (!answer.ok) {
      throw errorOf(answer)
    }
  }

  _opens(connection, number) {
    this._connection = connection
    this._number = number
    this._reason = undefined
    this._news = undefined
    connection.listen('object', number, (event) => this._happened(event))
  }

  /* Resolves when it is closed, and its znode is gone if it has one of its own. */
  async close() {
    const [connection, number] = [this._connection, this._number]
    this._connection = undefined
    this._tellAll()
    if (connection) {
      connection.listenNoMore('object', number)
      if (!this._reason) {
        await connection.ask('close', { object: number }).catch(() => {}) // over with the connection
      }
    }
  }

  async [Symbol.asyncDispose]() {
    await this.close()
  }

  _happened(event) {
    if (event.event === 'lost') {
      this._reason = lostBecauseOf(event)
      this._connection.listenNoMore('object', this._number)
    }
    if (this._reason || !event.error) { // else the daemon goes on trying
      this._news = event
      this._tellAll()
    }
  }

  _tellAll() {
    for (const tell of this._waits) {
      tell()
    }
    this._waits.clear()
  }

  _check() {
    if (!this._connection) {
      throw new UvzkError('UVZK_ECLOSED', 'it is not open: open() it')
    }
    if (this._reason) {
      throw this._reason
    }
  }

  async _ask(op, fields) {
    this._check()
    return this._connection.ask(op, { object: this._number, ...fields })
  }

  /* The latest event that was not returned yet, or the next one. */
  async _next(signal) {
    throwIfAborted(signal)
    this._check()
    while (!this._news) {
      let tell
      const told = new Promise((resolve) => {
        tell = resolve
        this._waits.add(tell)
      })
      try {
        await orAborted(told, signal)
      } finally {
        this._waits.delete(tell)
      }
      this._check()
    }
    const event = this._news
    this._news = undefined
    return event
  }
}

/* A value in a znode that every client sees and sets, as Curator's SharedValue or SharedCount. */
class Shared extends Opened {
  constructor(client, op, path, seed) {
    const field = op === 'shared_count' ? countField : dataField
    super(client, op, { path, ...field(seed) })
    this._field = field
  }

  _versioned(line) {
    return { value: this._field === countField ? line.count : dataOf(line), mzxid: BigInt(line.mzxid), version: line.version }
  }

  async get() {
    return this._versioned(await this._ask('get'))
  }

  async set(value, { ifUnchanged } = {}) {
    const same = ifUnchanged ? { mzxid: ifUnchanged.mzxid, version: ifUnchanged.version } : {}
    await this._ask('set', { ...this._field(value), ...same })
  }

  async changed({ signal } = {}) {
    return this._versioned(await this._next(signal))
  }
}

function countField(count) {
  return { count }
}

/* A znode that the daemon creates again whenever it is missing; it is deleted at the end. */
class PersistentNode extends Opened {
  constructor(client, path, data, persistent) {
    super(client, 'persistent_node', { path, ...dataField(data), persistent: persistent ? true : undefined })
  }

  async there({ signal } = {}) {
    await this._next(signal)
  }

  async set(data) {
    await this._ask('set', dataField(data))
  }
}

/* A member of a group, as Curator's GroupMember, and a view of all members. */
class GroupMember extends Opened {
  constructor(client, path, member, data) {
    super(client, 'group_member', { path, member, ...dataField(data) })
  }

  async set(data) {
    await this._ask('set', dataField(data))
  }

  async members() {
    const { members = [] } = await this._ask('get')
    return new Map(members.map((row) => [row.member, dataOf(row)]))
  }

  async changed({ signal } = {}) {
    await this._next(signal)
    return this.members()
  }
}

module.exports = { Shared, PersistentNode, GroupMember }
