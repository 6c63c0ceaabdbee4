/* SPDX-License-Identifier: Apache-2.0 */
/* client_packages_tasks.js COMMAND HOSTS TASKS WARM_MS WINDOW_MS TRANSPORT
 *
 * Tasks of clients/node, with a child: each acquires a mutex of its own, releases it, and begins again. Prints one
 * object of JSON: the median time from an acquire to its grant, and cycles in a second, in the window after WARM_MS. */
'use strict'

const uvzk = require('../clients/node')

const [command, hosts, ...words] = process.argv.slice(2)
const [tasks, warmMs, windowMs] = words.map(Number)
const options = ['--transport', words[3]]

async function main() {
  const client = await uvzk.connect({ hosts, command, options })
  await client.connected({ timeoutMs: 60000 })
  const begin = performance.now() + warmMs
  const end = begin + windowMs
  const times = []

  async function cycles(lock) {
    for (let asked = performance.now(); asked < end; asked = performance.now()) {
      const hold = await lock.acquire()
      const granted = performance.now()
      if (granted >= begin && granted < end) {
        times.push(granted - asked)
      }
      await hold.release()
    }
  }

  await Promise.all(Array.from({ length: tasks }, (_, number) => cycles(client.mutex(`/node-${number}`))))
  await client.close()
  times.sort((a, b) => a - b)
  const middle = times[times.length >> 1]
  console.log(JSON.stringify({ acquire_p50_us: middle * 1000, cycles_per_s: (times.length * 1000) / windowMs }))
}

main()
