/* SPDX-License-Identifier: Apache-2.0 */
/* One connection to a daemon: requests, answers and events, each a line of JSON. */
'use strict'

const { isMainThread } = require('node:worker_threads')
const { commandError, longestLine, openLink } = require('./daemon.js')
const { UvzkConnectionError, UvzkError, copyOf, errorOf } = require('./errors.js')
const { parseLine, writeLine } = require('./lines.js')
const { monotonicMs, validityFile } = require('./validity.js')

// The fields by which an event tells whose it is.
const NUMBERED = ['hold', 'object', 'watch', 'id']
// If the connection ends before the answer, the servers may have carried these out.
const CHANGES = new Set(['write', 'set', 'revoke', 'barrier_set', 'barrier_remove', 'atomic_add',
  'atomic_compare_and_set', 'atomic_set', 'atomic_force_set', 'atomic_create'])
// What a daemon that has just begun gets to find the servers, before it is asked what needs them at once.
const FIRST_CONTACT_MS = 10000
// So many characters of requests do not wait for the end of the turn: the daemon carries them out while the others
// are made.
const BATCH = 2048
// What the daemon gets to release everything.
const PATIENCE_MS = 5000

function ignore() {
  // an answer that changes nothing
}

function closedError() {
  return new UvzkConnectionError('CLIENT_ECLOSED', 'the client was closed')
}

class Connection {
  constructor({ socket, child }, longest) {
    this.end = null // why there is no connection any more
    this.child = child
    this.validity = null
    this.ended = new Promise((resolve) => {
      this._tellEnd = resolve
    })
    this._socket = socket
    this._longest = longest
    this._lastId = 0
    this._answered = new Map()
    this._listeners = new Map()
    this._text = ''
    this._unsent = ''
    this._closing = false
    this._needed = undefined
    this._servers = null
    socket.setEncoding('utf8')
    socket.on('data', (text) => this._readable(text))
    socket.on('error', ignore) // it is closed then
    socket.on('end', () => this._over(this._why()))
    socket.on('close', () => this._over(this._why()))
    this._stayWhileNeeded()
  }

  // ------------------------------------------------------------------ requests

  /* Sends a request, and returns its id. `answered` is called once, with the answer or, when the connection ends
   * before that, with another one that says so; never within this call. Its second argument is the time at which
   * the request was sent. */
  send(op, fields, answered) {
    if (this.end || this._closing) {
      throw this.end ? copyOf(this.end) : closedError()
    }
    const id = this._lastId + 1
    const line = writeLine({ id, op, ...fields })
    const bytes = Buffer.byteLength(line)
    if (bytes > this._longest) {
      throw new UvzkError('CLIENT_ELINE', `${op}: the request has ${bytes} bytes; ${this._longest} are allowed`)
    }
    this._lastId = id
    this._answered.set(id, { op, answered, sentMs: monotonicMs() })
    this._stayWhileNeeded()
    if (!this._unsent) {
      process.nextTick(() => this._flush())
    }
    this._unsent += line
    if (this._unsent.length >= BATCH) {
      this._flush()
    }
    return id
  }

  /* Sends what needs no answer, if there is a connection still. */
  tell(op, fields) {
    if (!this.end && !this._closing) {
      this.send(op, fields, ignore)
    }
  }

  /* Returns the answer, or rejects with its error. */
  async ask(op, fields = {}) {
    const answer = await new Promise((resolve) => {
      this.send(op, fields, (line, sentMs) => resolve({ ...line, sentMs }))
    })
    if (!answer.ok) {
      throw errorOf(answer)
    }
    return answer
  }

  /* Waits once, until the daemon is connected to the servers: before that they cannot be asked anything. What is asked
   * afterwards has its own error if it is not. */
  servers() {
    if (!this._servers) {
      this._servers = this.ask('connected', { timeout_ms: FIRST_CONTACT_MS }).catch(() => {})
    }
    return this._servers
  }

  /* Has the listener called with each event that has this number, the last of which says that it is over. */
  listen(kind, number, listener) {
    this._listeners.set(`${kind} ${number}`, { kind, number, listener })
    this._stayWhileNeeded()
  }

  listenNoMore(kind, number) {
    this._listeners.delete(`${kind} ${number}`)
    this._stayWhileNeeded()
  }

  /* The program may end by itself while nothing is held, open or waited for. */
  _stayWhileNeeded() {
    const needed = this._answered.size + this._listeners.size > 0
    if (needed !== this._needed && !this._closing) {
      this._needed = needed
      this._socket[needed ? 'ref' : 'unref']()
    }
  }

  // --------------------------------------------------------------------- lines

  _readable(text) {
    this._text += text
    for (let end = this._text.indexOf('\n'), begin = 0; ; end = this._text.indexOf('\n', begin)) {
      if (end < 0 || this.end) {
        this._text = this._text.slice(begin)
        return
      }
      this._received(parseLine(this._text.slice(begin, end)))
      begin = end + 1
    }
  }

  _received(line) {
    if (line.event === undefined) {
      const request = this._answered.get(line.id)
      if (request) {
        this._answered.delete(line.id)
        request.answered(line, request.sentMs)
        this._stayWhileNeeded()
      }
      return
    }
    if (line.event === 'closing') {
      this._over(new UvzkConnectionError(line.error, line.message, { retriable: true }))
      return
    }
    for (const kind of NUMBERED) {
      const found = line[kind] === undefined ? undefined : this._listeners.get(`${kind} ${line[kind]}`)
      if (found) {
        found.listener(line)
      }
    }
  }

  _flush() {
    const text = this._unsent
    this._unsent = ''
    if (text && !this.end) {
      this._socket.write(text)
    }
  }

  // ----------------------------------------------------------------------- end

  _why() {
    return this._closing ? closedError() : new UvzkConnectionError('CLIENT_EENDED', 'the daemon has ended', { retriable: true })
  }

  /* Resolves when the daemon has released everything and, as a child, has ended; at the latest after this time. */
  async close(patienceMs = PATIENCE_MS) {
    if (!this.end && !this._closing) {
      this._flush()
      this._closing = true
      this._socket.end()
    }
    this._socket.ref()
    const waits = [this.ended]
    if (this.child && this.child.exitCode === null && this.child.signalCode === null) {
      this.child.ref()
      waits.push(new Promise((resolve) => {
        this.child.once('exit', resolve)
      }))
    }
    let timer
    await Promise.race([Promise.all(waits), new Promise((resolve) => {
      timer = setTimeout(resolve, patienceMs)
    })])
    clearTimeout(timer)
    this._over(closedError())
    if (this.child) {
      this.child.unref()
    }
  }

  /* Tells everybody who waits for something. */
  _over(why) {
    if (this.end) {
      return
    }
    this.end = why
    this._socket.destroy()
    if (this.validity) {
      this.validity.close()
    }
    const over = { error: why.code, message: why.message }
    const [listeners, requests] = [[...this._listeners.values()], [...this._answered.values()]]
    this._listeners.clear()
    this._answered.clear()
    for (const { kind, number, listener } of listeners) {
      listener({ event: 'lost', [kind]: number, ...over })
    }
    for (const { op, answered } of requests) {
      answered({ ok: false, retriable: why.retriable, unknown: CHANGES.has(op), ...over })
    }
    this._tellEnd()
  }
}

const connections = new Set() // of this thread

/* A worker thread's children are not waited for any more when it has ended, so each would be a zombie. */
if (!isMainThread) {
  process.on('beforeExit', () => {
    for (const connection of connections) {
      connection.close()
    }
  })
}

/* Starts the daemon, or connects to it, and asks what it speaks. */
async function openConnection(where) {
  const link = await openLink(where)
  const connection = new Connection(link, longestLine(where))
  connections.add(connection)
  connection.ended.then(() => connections.delete(connection))
  let hello = {} // of a daemon that is older than this request
  try {
    hello = await connection.ask('hello', { version: 1 })
  } catch (why) {
    if (why instanceof UvzkConnectionError && link.child) {
      throw commandError('the daemon has ended at once; its standard error says why')
    }
    if (why.code !== 'SERVE_EREQUEST') {
      throw why
    }
  }
  connection.validity = validityFile(hello.validity_file)
  return connection
}

module.exports = { Connection, closedError, openConnection }
