/* SPDX-License-Identifier: Apache-2.0 */
/* The options that a program gives. */
'use strict'

const LATEST_MS = 86400000

/* Refuses a name that is misspelt: `timeout` would wait forever. */
function checkOptions(given, ...allowed) {
  for (const name of Object.keys(given)) {
    if (!allowed.includes(name)) {
      throw new TypeError(`${name}: no such option; there are ${allowed.join(', ')}`)
    }
  }
}

/* Rounded up: an acquire with a time waits for it. */
function wholeMs(ms, name) {
  if (ms !== undefined && !(ms >= 0 && ms <= LATEST_MS)) {
    throw new RangeError(`${name}: 0 to ${LATEST_MS} ms`)
  }
  return ms === undefined ? undefined : Math.ceil(ms)
}

module.exports = { checkOptions, wholeMs }
