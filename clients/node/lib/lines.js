/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of JSON with integers of 64 bits, which JSON.parse() would round. */
'use strict'

const LONG_NUMBER = /[:,[]\s*-?\d{16}/
const STRING_OR_LONG_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d{16,}/g

/* Returns the object of a line. A number of 16 or more digits is a text in it, which BigInt() reads as it
 * reads a number. */
function parseLine(text) {
  if (LONG_NUMBER.test(text)) {
    text = text.replace(STRING_OR_LONG_NUMBER, (part) => (part[0] === '"' ? part : `"${part}"`))
  }
  return JSON.parse(text)
}

/* Returns the line of an object whose own fields may be of the type bigint, or undefined. */
function writeLine(fields) {
  const parts = []
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) {
      parts.push(`${JSON.stringify(name)}:${typeof value === 'bigint' ? value : JSON.stringify(value)}`)
    }
  }
  return `{${parts.join(',')}}\n`
}

/* The field of a znode's data. */
function dataField(data) {
  if (data === undefined) {
    return {}
  }
  if (typeof data === 'string') {
    return { data }
  }
  if (!ArrayBuffer.isView(data)) {
    throw new TypeError('data: neither a string nor bytes')
  }
  return { base64: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64') }
}

function dataOf({ base64, data = '' }) {
  return base64 === undefined ? Buffer.from(data) : Buffer.from(base64, 'base64')
}

module.exports = { parseLine, writeLine, dataField, dataOf }
