/* SPDX-License-Identifier: Apache-2.0 */
/* Locks on ZooKeeper: Apache Curator's recipes, through the daemon `uvzk serve`. */
'use strict'

require('./lib/dispose.js')
const { Client, connect } = require('./lib/client.js')
const { UvzkConnectionError, UvzkError, UvzkLost, UvzkTimeout } = require('./lib/errors.js')
const { Hold, check, create, remove, setData } = require('./lib/holds.js')

module.exports = {
  Client, Hold, UvzkConnectionError, UvzkError, UvzkLost, UvzkTimeout, check, connect, create, remove, setData,
}
