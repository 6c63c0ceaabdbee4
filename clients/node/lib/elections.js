/* SPDX-License-Identifier: Apache-2.0 */
/* Elections, as Curator's LeaderLatch (the default) or LeaderSelector ("mutex") has them. */
'use strict'

const { iteration, pause } = require('./cancellation.js')
const { UvzkError } = require('./errors.js')
const { Hold } = require('./holds.js')
const { dataOf } = require('./lines.js')
const { acquireBy, participantsOf, runUnder, watched } = require('./locks.js')
const { checkOptions, wholeMs } = require('./options.js')

// Before it stands again after an error: the first pause, each twice as long, and the longest.
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5000

class Election {
  constructor(client, path, id, kind) {
    this._client = client
    this._fields = { path, lock: kind }
    this._id = id
  }

  async lead(options = {}) {
    checkOptions(options, 'timeoutMs', 'signal')
    const { timeoutMs, signal } = options
    const fields = { ...this._fields, data: this._id, timeout_ms: wholeMs(timeoutMs, 'timeoutMs') }
    return acquireBy(this._client, 'elect', fields, { signal, granted: (...answer) => new Hold(...answer) })
  }

  async run(body, options) {
    return runUnder(await this.lead(options), body)
  }

  terms({ signal } = {}) {
    const stand = (ends) => this._stand(ends)
    return iteration(async function* standing(ends) {
      for (;;) {
        const term = await stand(ends)
        try {
          yield term
        } finally {
          await term.release()
        }
      }
    }, signal)
  }

  /* Leads; after errors that are retriable it stands again. */
  async _stand(signal) {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      try {
        return await this.lead({ signal })
      } catch (why) {
        if (!(why instanceof UvzkError && why.retriable)) {
          throw why
        }
      }
      await pause(pauseMs, signal)
    }
  }

  async leader() {
    const connection = await this._client._connection({ toAskServers: true })
    const { leader } = await connection.ask('leader', this._fields)
    return leader ? { id: dataOf(leader), node: leader.node, token: BigInt(leader.token) } : undefined
  }

  async participants() {
    const connection = await this._client._connection({ toAskServers: true })
    return participantsOf(await connection.ask('participants', this._fields))
  }

  watch({ signal } = {}) {
    return watched(this._client, this._fields, signal)
  }
}

module.exports = { Election }
