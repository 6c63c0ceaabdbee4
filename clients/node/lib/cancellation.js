/* SPDX-License-Identifier: Apache-2.0 */
/* Waits that an AbortSignal ends. */
'use strict'

const listening = new WeakMap() // a signal: what it calls

/* Has it called when the signal is aborted; returns what undoes that. One signal may end any number of waits,
 * and has one listener all the same: Node.js warns of more than ten. */
function onAbort(signal, callback) {
  if (!signal) {
    return () => {}
  }
  if (signal.aborted) {
    callback()
    return () => {}
  }
  let callbacks = listening.get(signal)
  if (!callbacks) {
    callbacks = new Set()
    listening.set(signal, callbacks)
    const all = callbacks
    signal.addEventListener('abort', () => {
      for (const each of [...all]) {
        each()
      }
    }, { once: true })
  }
  callbacks.add(callback)
  return () => callbacks.delete(callback)
}

function throwIfAborted(signal) {
  if (signal && signal.aborted) {
    throw signal.reason
  }
}

/* Returns what a promise does, or rejects with the signal's reason if that comes first. */
function orAborted(promise, signal) {
  if (!signal) {
    return promise
  }
  return new Promise((resolve, reject) => {
    const undo = onAbort(signal, () => reject(signal.reason))
    promise.then(resolve, reject).finally(undo)
  })
}

function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      undo()
      resolve()
    }, ms)
    const undo = onAbort(signal, () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
}

/* An iterator of what an async generator yields. `generate` is given a signal which is aborted with the program's,
 * or when the iteration ends, also while it waits. */
function iteration(generate, signal) {
  const ends = new AbortController()
  const over = {}
  async function* run() {
    const undo = onAbort(signal, () => ends.abort(signal.reason))
    try {
      throwIfAborted(signal)
      yield* generate(ends.signal)
    } catch (error) {
      if (error !== over) {
        throw error
      }
    } finally {
      undo()
    }
  }
  const running = run()
  return {
    next: () => running.next(),
    return: (value) => {
      ends.abort(over)
      return running.return(value)
    },
    [Symbol.asyncIterator]() {
      return this
    },
    [Symbol.asyncDispose]() {
      return this.return()
    },
  }
}

module.exports = { onAbort, throwIfAborted, orAborted, pause, iteration }
