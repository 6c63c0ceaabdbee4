/* SPDX-License-Identifier: Apache-2.0 */
/* Locks: a mutex, the two sides of a read-write lock, a semaphore, and several locks as one. */
'use strict'

const { iteration, onAbort, orAborted, throwIfAborted } = require('./cancellation.js')
const { UvzkTimeout, errorOf, lostBecauseOf } = require('./errors.js')
const { Hold } = require('./holds.js')
const { dataOf } = require('./lines.js')
const { checkOptions, wholeMs } = require('./options.js')

// After its time an acquire's answer may come so much later.
const LATE_ANSWER_MS = 1000

const ACQUIRE_OPTIONS = ['timeoutMs', 'signal', 'owner', 'data', 'maxHoldMs']

/* The fields of an acquire that come from its options. */
function acquireFields({ timeoutMs, owner, data, maxHoldMs }) {
  const maxHold = wholeMs(maxHoldMs, 'maxHoldMs')
  return {
    timeout_ms: wholeMs(timeoutMs, 'timeoutMs'),
    owner,
    data,
    max_hold_ms: maxHold,
    // The hold is told of its limit as soon as it is known.
    warning_ms: maxHold === undefined ? undefined : Math.max(1, maxHold - 1),
  }
}

function silentError() {
  return new UvzkTimeout('UV_ETIMEDOUT', 'the daemon does not answer', { retriable: true })
}

/* Has it called when an answer that is due after so many ms is late: the daemon is stopped. Returns what stops that. After
 * the loop was blocked, an answer that waits in the socket is read first. With 0 the answer comes when the servers' does. */
function afterSilence(timeoutMs, callback) {
  if (!timeoutMs) {
    return () => {}
  }
  let immediate
  const timer = setTimeout(() => {
    immediate = setImmediate(callback)
  }, timeoutMs + LATE_ANSWER_MS)
  return () => {
    clearTimeout(timer)
    clearImmediate(immediate)
  }
}

/* Returns what `granted` makes of the answer to an acquire. If the signal is aborted before that, no znode stays. */
async function acquireBy(client, op, fields, { signal, granted, onQueued, onRevoke }) {
  throwIfAborted(signal)
  const connection = await orAborted(client._connection({ toAskServers: fields.timeout_ms === 0 }), signal)
  throwIfAborted(signal)
  const { hold, answer } = await new Promise((resolve, reject) => {
    let waits = true
    const giveUp = (why) => {
      undo()
      stopTimer()
      waits = false
      connection.tell('cancel', { acquire: number })
      reject(why)
    }
    const number = connection.send(op, fields, (line, sentMs) => {
      undo()
      stopTimer()
      connection.listenNoMore('id', number)
      const got = line.ok ? granted(connection, { ...line, sentMs }) : undefined
      if (got && !waits) {
        got._giveBack() // the grant and the cancellation have crossed
      }
      resolve({ hold: got, answer: line })
    })
    if (onQueued || onRevoke) {
      connection.listen('id', number, (event) => {
        if (waits && event.event === 'queued' && onQueued) {
          process.nextTick(onQueued, event.ahead)
        } else if (waits && event.event === 'revoke' && onRevoke) {
          process.nextTick(onRevoke)
        }
      })
    }
    const stopTimer = afterSilence(fields.timeout_ms, () => giveUp(silentError()))
    const undo = onAbort(signal, () => giveUp(signal.reason))
  })
  if (!hold) {
    throw errorOf(answer)
  }
  return hold
}

/* Runs the body with the hold, and releases it. A loss goes before what the body returns, and before its AbortError. */
async function runUnder(hold, body) {
  let result
  try {
    result = await body(hold)
  } catch (error) {
    throw hold._reason && error && error.name === 'AbortError' ? hold._reason : error
  } finally {
    await hold.release()
  }
  if (hold._reason) {
    throw hold._reason
  }
  return result
}

/* One lock at one path. It costs nothing until it is acquired; any number of tasks may use it. */
class Lock {
  constructor(client, path, kind, maxLeases) {
    this.path = path
    this._client = client
    this._fields = { path }
    if (kind) {
      this._fields.lock = kind
    }
    if (maxLeases !== undefined) {
      this._fields.max_leases = maxLeases
    }
  }

  async acquire(options = {}) {
    checkOptions(options, ...ACQUIRE_OPTIONS, 'leases', 'onQueued', 'onRevoke')
    const { signal, leases, onQueued, onRevoke } = options
    const fields = {
      ...this._fields,
      ...acquireFields(options),
      leases,
      queued: onQueued ? true : undefined,
      revocable: onRevoke ? true : undefined,
    }
    const granted = (connection, answer) => new Hold(connection, answer, onRevoke)
    return acquireBy(this._client, 'acquire', fields, { signal, granted, onQueued, onRevoke })
  }

  async run(body, options) {
    return runUnder(await this.acquire(options), body)
  }

  async participants() {
    const connection = await this._client._connection({ toAskServers: true })
    return participantsOf(await connection.ask('participants', this._fields))
  }

  watch({ signal } = {}) {
    return watched(this._client, this._fields, signal)
  }
}

/* Many hold `read` at a time, or one holds `write`. */
class ReadWrite {
  constructor(client, path) {
    this.read = new Lock(client, path, 'read')
    this.write = new Lock(client, path, 'write')
  }
}

/* Several locks as one: all are held, or none. */
class AllOf {
  constructor(client, locks, inTurn) {
    this._client = client
    this._fields = { members: locks.map((lock) => lock._fields), in_turn: inTurn ? true : undefined }
  }

  async acquire(options = {}) {
    checkOptions(options, ...ACQUIRE_OPTIONS)
    const fields = { ...this._fields, ...acquireFields(options) }
    const granted = (connection, answer) => new Hold(connection, answer)
    return acquireBy(this._client, 'acquire_all', fields, { signal: options.signal, granted })
  }

  async run(body, options) {
    return runUnder(await this.acquire(options), body)
  }
}

function participantsOf({ holders, waiters, leader }) {
  return { holders, waiters, leader: leader ? dataOf(leader) : undefined }
}

/* An iterator of the participants, now and after each change. Several changes may be one. */
function watched(client, fields, signal) {
  return iteration(async function* watching(ends) {
    const connection = await orAborted(client._connection(), ends)
    let latest
    let tell = () => {}
    const put = (line) => {
      latest = line
      tell()
    }
    let number
    let over = false
    const unwatch = () => {
      if (number !== undefined) {
        connection.listenNoMore('watch', number)
        connection.tell('unwatch', { watch: number })
      }
    }
    connection.send('watch', fields, (answer) => {
      if (answer.ok) {
        number = answer.watch
        connection.listen('watch', number, put)
      }
      put(answer)
      if (over) {
        unwatch()
      }
    })
    try {
      for (;;) {
        if (!latest) {
          await orAborted(new Promise((resolve) => {
            tell = resolve
          }), ends)
        }
        const line = latest
        latest = undefined
        if (!line.holders) {
          throw line.event ? lostBecauseOf(line) : errorOf(line)
        }
        yield participantsOf(line)
        throwIfAborted(ends)
      }
    } finally {
      over = true
      unwatch()
    }
  }, signal)
}

module.exports = { Lock, ReadWrite, AllOf, acquireBy, runUnder, participantsOf, watched }
