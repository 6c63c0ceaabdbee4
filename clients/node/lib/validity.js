/* SPDX-License-Identifier: Apache-2.0 */
/* Until when a hold is valid: the daemon's file in memory, and the clocks.
 *
 * docs/guide/serve.md describes the file. It can be read at any moment, and without a turn of the loop. */
'use strict'

const fs = require('node:fs')

const MAGIC = 'uvzkhold'
const HEAD_BYTES = 24
const SLOT_BYTES = 24
const OVER = { bootMs: 0, monotonicMs: 0 }

// process.hrtime() is CLOCK_MONOTONIC in Node.js, and in Bun the time since the program began: then only what was counted
// on it in this process can be compared with it.
const HAS_MONOTONIC = !process.versions.bun

/* CLOCK_MONOTONIC, rounded down; Node.js reads it at each call. */
function monotonicMs() {
  return Number(process.hrtime.bigint() / 1000000n)
}

let uptime // the file /proc/uptime, or null: it cannot be read
const uptimeText = Buffer.alloc(64)

/* CLOCK_BOOTTIME, rounded up. The kernel rounds it down to 10 ms. If it is not known, the other clock decides alone. */
function bootMs() {
  if (uptime === undefined) {
    try {
      uptime = fs.openSync('/proc/uptime', 'r')
    } catch {
      uptime = null
    }
  }
  if (uptime === null) {
    return HAS_MONOTONIC ? 0 : Infinity
  }
  const length = fs.readSync(uptime, uptimeText, 0, uptimeText.length, 0)
  return Math.round(parseFloat(uptimeText.latin1Slice(0, length)) * 1000) + 10
}

/* How many ms are left until then, by the clock that says less. CLOCK_MONOTONIC stands still while the machine is
 * suspended, and /proc/uptime may be that of a container. */
function leftMs(until) {
  const left = Math.min(until.monotonicMs - (monotonicMs() + 1), until.bootMs - bootMs())
  return Math.max(0, left)
}

class ValidityFile {
  constructor(path) {
    this._file = fs.openSync(path, 'r')
    this._one = Buffer.alloc(SLOT_BYTES)
    this._other = Buffer.alloc(SLOT_BYTES)
    const head = Buffer.alloc(HEAD_BYTES)
    fs.readSync(this._file, head, 0, HEAD_BYTES, 0)
    const numbers = new Uint32Array(head.buffer, head.byteOffset + 8, 3)
    if (head.latin1Slice(0, 8) !== MAGIC || numbers[0] !== 1) {
      this.close()
      throw new Error(`${path}: another layout`)
    }
    this._begin = numbers[1]
    this._size = numbers[2]
  }

  /* Returns OVER when the hold is over. */
  until(slot, hold) {
    const at = this._begin + this._size * slot
    do {
      fs.readSync(this._file, this._one, 0, SLOT_BYTES, at)
      fs.readSync(this._file, this._other, 0, SLOT_BYTES, at)
    } while (!this._one.equals(this._other))
    const [number, boot, monotonic] = new BigUint64Array(this._one.buffer, this._one.byteOffset, 3)
    return number === BigInt(hold) ? { bootMs: Number(boot), monotonicMs: HAS_MONOTONIC ? Number(monotonic) : Infinity } : OVER
  }

  close() {
    fs.closeSync(this._file)
  }
}

/* Returns null if this process cannot read it: then `valid` is asked. */
function validityFile(path) {
  try {
    return path ? new ValidityFile(path) : null
  } catch {
    return null
  }
}

module.exports = { OVER, monotonicMs, leftMs, validityFile }
