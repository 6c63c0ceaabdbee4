/* SPDX-License-Identifier: Apache-2.0 */
/* A hold: how long it is valid, its loss, its release, and what is written and read under it. */
'use strict'

const { UvzkConnectionError, UvzkError, UvzkLost, lostBecauseOf } = require('./errors.js')
const { dataField, dataOf } = require('./lines.js')
const { OVER, leftMs } = require('./validity.js')

// Of a daemon with a socket: a validity is asked for again after this part of it has passed, ...
const RENEWAL = 1 / 3
const SOONEST_MS = 100
// ... and after the validity's end its answer may come so much later. It may wait in the socket of a process that
// was stopped.
const LATE_ANSWER_MS = 1000
const LONGEST_MS = 86400000 // of a timer
const NEVER_MS = Number.MAX_SAFE_INTEGER // the end of a hold without a limit

function untilOf(answer) {
  return { bootMs: Number(answer.valid_until_ms), monotonicMs: answer.sentMs + Number(answer.valid_for_ms) }
}

/* An operation of a guarded write. See create(), setData(), remove() and check(). */
class Write {
  constructor(kind, path, data, version) {
    this._fields = { kind, path, ...dataField(data), ...(version === undefined ? {} : { version }) }
  }
}

/* A persistent znode; its parent exists. */
const create = (path, data) => new Write('create', path, data)
const setData = (path, data, version) => new Write('set', path, data, version)
const remove = (path, version) => new Write('delete', path, undefined, version)
/* It exists, and has this version. */
const check = (path, version) => new Write('check', path, undefined, version)

class Hold {
  constructor(connection, answer, onRevoke) {
    this.token = BigInt(answer.token)
    this.nodes = answer.nodes || [answer.node]
    this._connection = connection
    this._number = answer.hold
    this._slot = connection.validity && answer.slot !== null ? answer.slot : undefined
    this._told = untilOf(answer)
    this._limitMs = NEVER_MS
    this._onRevoke = onRevoke
    this._reason = undefined // of the loss
    this._aborts = undefined // of the signal, if somebody wants it
    this._released = undefined
    this._asked = false
    this._late = false
    connection.listen('hold', this._number, (event) => this._happened(event))
    this._timer = this._lookIn(Number(answer.valid_for_ms))
  }

  get node() {
    return this.nodes[0]
  }

  get signal() {
    if (!this._aborts) {
      this._aborts = new AbortController()
      if (this._reason) {
        this._aborts.abort(this._reason)
      }
    }
    return this._aborts.signal
  }

  validForMs() {
    return leftMs(this._until())
  }

  _until() {
    if (this._released || this._reason || this._connection.end) {
      return OVER
    }
    return this._slot === undefined ? this._told : this._connection.validity.until(this._slot, this._number)
  }

  async valid() {
    return this._validity('valid')
  }

  async verify() {
    return this._validity('verify')
  }

  async _validity(op) {
    this._told = untilOf(await this._ask(op))
    return this.validForMs()
  }

  async write(...writes) {
    await this._ask('write', { writes: writes.map((write) => write._fields) })
  }

  async read(path) {
    const answer = await this._ask('read', { path })
    return { data: dataOf(answer), version: answer.version }
  }

  async _ask(op, fields) {
    if (this._reason) {
      throw this._reason
    }
    if (this._released) {
      throw new UvzkError('UVZK_ENOTHELD', 'the hold was released')
    }
    try {
      return await this._connection.ask(op, { hold: this._number, ...fields })
    } catch (why) {
      throw this._reason && !why.outcomeUnknown ? this._reason : why
    }
  }

  async release() {
    this._giveBack()
    await this._released
  }

  async [Symbol.asyncDispose]() {
    await this.release()
    if (this._reason) {
      throw this._reason
    }
  }

  /* Begins the release, and does not wait for it. */
  _giveBack() {
    if (this._reason && this._reason.code === 'SERVE_EENDING') {
      // The daemon waits with its end until this program has stopped its work.
      this._connection.tell('release', { hold: this._number })
    }
    if (this._reason || this._released) {
      return
    }
    this._released = new Promise((resolve) => {
      this._over()
      try {
        this._connection.send('release', { hold: this._number }, () => resolve())
      } catch (why) {
        if (!(why instanceof UvzkConnectionError)) {
          throw why
        }
        resolve() // the daemon has released it, or its session ends
      }
    })
  }

  // ------------------------------------------------------------ what happens to it

  _happened(event) {
    if (event.event === 'lost') {
      this._lost(lostBecauseOf(event))
    } else if (event.event === 'max_hold') {
      this._limitMs = event.ends_at_ms
    } else if (event.event === 'revoke' && this._onRevoke) {
      process.nextTick(this._onRevoke)
    }
  }

  _over() {
    clearTimeout(this._timer)
    this._connection.listenNoMore('hold', this._number)
  }

  /* The signal's listeners run in a turn of their own: they may do anything. */
  _lost(reason) {
    this._over()
    this._reason = reason
    if (this._aborts) {
      process.nextTick(() => this._aborts.abort(reason))
    }
  }

  /* Is it valid still? A daemon that is stopped cannot tell that it is not. */
  _look() {
    const until = this._until()
    const left = leftMs(until)
    // A file that says 0 is ahead of the event, which has the reason.
    const mayBeTold = this._slot === undefined || until.bootMs === 0
    if (left === 0 && (this._late || !mayBeTold)) {
      this._connection.tell('release', { hold: this._number })
      this._lost(this._whyOver(until))
      return
    }
    this._late = left === 0
    if (this._slot === undefined && !this._asked) {
      this._asked = true
      this._connection.send('valid', { hold: this._number }, (answer, sentMs) => this._renewed({ ...answer, sentMs }))
    }
    this._timer = this._lookIn(left)
  }

  _lookIn(left) {
    let next = left
    if (this._late) {
      next = LATE_ANSWER_MS
    } else if (this._slot === undefined) {
      next = Math.min(left, Math.max(left * RENEWAL, SOONEST_MS))
    }
    return setTimeout(() => this._look(), Math.min(next, LONGEST_MS))
  }

  _whyOver(until) {
    if (until.bootMs >= this._limitMs) {
      return new UvzkLost('UVZK_EMAXHOLD', 'the hold has lasted its maxHoldMs', { retriable: true })
    }
    return new UvzkLost('UVZK_EPROOF', 'no proof of ownership came in time', { retriable: true })
  }

  _renewed(answer) {
    this._asked = false
    if (answer.ok) {
      this._told = untilOf(answer)
    }
  }
}

module.exports = { Hold, Write, create, setData, remove, check }
