/* SPDX-License-Identifier: Apache-2.0 */
/* The symbol of `await using`, for runtimes that have none. */
'use strict'

if (!Symbol.asyncDispose) {
  Object.defineProperty(Symbol, 'asyncDispose', { value: Symbol('Symbol.asyncDispose') })
}
