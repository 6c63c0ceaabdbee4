/* SPDX-License-Identifier: Apache-2.0 */
/* What may go wrong: one class for each thing that a program does differently.
 *
 * The codes are those of docs/errors.md and docs/guide/serve.md, and these of this package:
 *
 * CLIENT_ECOMMAND   the command uvzk was not found, or its daemon did not begin
 * CLIENT_EENDED     the daemon has ended, or has closed the connection
 * CLIENT_ECLOSED    the client was closed
 * CLIENT_ELINE      the request is longer than the daemon accepts */
'use strict'

const NOT_IN_TIME = new Set(['UV_ETIMEDOUT', 'UVZK_EUNREACHABLE', 'UVZK_ENOTQUEUED'])
const NO_DAEMON = new Set(['CLIENT_ECOMMAND', 'CLIENT_EENDED', 'CLIENT_ECLOSED',
  'SERVE_ELINE', 'SERVE_ECONNECTIONS', 'SERVE_EUNREAD', 'SERVE_EENDING'])

class UvzkError extends Error {
  constructor(code, message, { retriable = false, outcomeUnknown = false, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.retriable = retriable
    this.outcomeUnknown = outcomeUnknown
  }
}

class UvzkTimeout extends UvzkError {}

class UvzkLost extends UvzkError {}

class UvzkConnectionError extends UvzkError {}

for (const Kind of [UvzkError, UvzkTimeout, UvzkLost, UvzkConnectionError]) {
  Object.defineProperty(Kind.prototype, 'name', { value: Kind.name, writable: true, configurable: true })
}

/* The error of an answer that is not ok. */
function errorOf({ error, message, retriable, unknown }) {
  const Kind = NOT_IN_TIME.has(error) ? UvzkTimeout : NO_DAEMON.has(error) ? UvzkConnectionError : UvzkError
  return new Kind(error, message, { retriable: Boolean(retriable), outcomeUnknown: Boolean(unknown) })
}

/* The same, made now: an error tells where it was thrown. */
function copyOf({ constructor: Kind, code, message, retriable, outcomeUnknown }) {
  return new Kind(code, message, { retriable, outcomeUnknown })
}

/* The reason of an event `lost` or `unwatched`. To begin anew may succeed. */
function lostBecauseOf({ error, message }) {
  return new UvzkLost(error, message, { retriable: true })
}

module.exports = { UvzkError, UvzkTimeout, UvzkLost, UvzkConnectionError, errorOf, copyOf, lostBecauseOf }
