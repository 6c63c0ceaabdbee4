/* SPDX-License-Identifier: Apache-2.0 */
/* When the requests of clients/node leave: many of a turn in pieces, and the rest at its end. Each leaves once, and
 * they keep their order. */
'use strict'

const assert = require('node:assert')
const { EventEmitter } = require('node:events')
const { Connection } = require('../../../clients/node/lib/connection.js')

class Socket extends EventEmitter {
  sent = []

  write(text) {
    this.sent.push(text)
  }

  setEncoding() {}

  ref() {}

  unref() {}

  destroy() {}
}

function begun() {
  const socket = new Socket()
  return { socket, connection: new Connection({ socket, child: null }, 1 << 20) }
}

function line(id) {
  return `{"id":${id},"op":"release","hold":${id}}\n`
}

function send(connection, count) {
  return Array.from({ length: count }, () => line(connection.send('release', { hold: connection._lastId + 1 }, () => {}))).join('')
}

async function theRestAtTheEnd() {
  const { socket, connection } = begun()
  const lines = send(connection, 3)
  assert.deepStrictEqual(socket.sent, [])
  await new Promise(setImmediate)
  assert.deepStrictEqual(socket.sent, [lines])
}

async function manyInPieces() {
  const { socket, connection } = begun()
  const lines = send(connection, 200)
  const left = socket.sent.join('').length
  assert(lines.length - left < 2048 + line(200).length, `${left} of ${lines.length} have left`)
  assert(socket.sent.length <= lines.length / 2048, `${socket.sent.length} pieces`)
  await new Promise(setImmediate)
  assert(socket.sent.join('') === lines, 'each once, in order')
}

theRestAtTheEnd().then(manyInPieces)
