/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon `uvzk serve`: as a child of this process, or the one that has a socket. */
'use strict'

const childProcess = require('node:child_process')
const fs = require('node:fs')
const net = require('node:net')
const path = require('node:path')
const { UvzkConnectionError } = require('./errors.js')

// Of a request, in bytes. A child is told the greater one: a znode's data may have a megabyte.
const LINE_OF_A_SOCKET = 16384
const LINE_OF_A_CHILD = 4 << 20

function longestLine({ socket, maxLine }) {
  return maxLine || (socket ? LINE_OF_A_SOCKET : LINE_OF_A_CHILD)
}

function commandError(message) {
  return new UvzkConnectionError('CLIENT_ECOMMAND', message)
}

/* A command of the package for this platform, if it is installed. */
function packagedCommand(name) {
  try {
    return require.resolve(`@uvzk/${process.platform}-${process.arch}/bin/${name}`)
  } catch {
    return undefined
  }
}

function commandOfPath() {
  for (const directory of (process.env.PATH || '').split(':')) {
    const command = path.join(directory, 'uvzk')
    try {
      fs.accessSync(command, fs.constants.X_OK)
      return command
    } catch {
      // not there
    }
  }
  return undefined
}

/* The command uvzk: the one that is named, else $UVZK_COMMAND, the one of the package, or of PATH. */
function findCommand(command) {
  const found = command || process.env.UVZK_COMMAND || packagedCommand('uvzk') || commandOfPath()
  if (!found) {
    throw commandError('the command uvzk was not found: neither $UVZK_COMMAND, nor a package for this platform, nor in PATH')
  }
  return found
}

/* Returns the connected socket, and the child at its other end if there is one. */
async function openLink(where) {
  return where.socket ? { socket: await connectTo(where.socket) } : startChild(where)
}

function connectTo(socketPath) {
  return new Promise((resolve, reject) => {
    const socket = net.connect(socketPath)
    const failed = (why) => {
      reject(new UvzkConnectionError('CLIENT_EENDED', `${socketPath}: ${why.code}`, { retriable: true, cause: why }))
    }
    socket.once('error', failed)
    socket.once('connect', () => {
      socket.removeListener('error', failed)
      resolve(socket)
    })
  })
}

async function startChild(where) {
  const command = findCommand(where.command)
  const hosts = where.hosts ? ['--hosts', where.hosts] : []
  const words = ['serve', ...hosts, '--max-line', String(longestLine(where)), ...(where.options || []),
    '--fd', '3', '--parent', String(process.pid)]
  let child
  try {
    child = childProcess.spawn(command, words, { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] })
    if (child.pid === undefined) {
      await new Promise((_, reject) => child.once('error', reject))
    }
  } catch (why) {
    throw new UvzkConnectionError('CLIENT_ECOMMAND', `${command}: ${why.code}`, { cause: why })
  }
  child.on('error', () => {}) // nobody kills it
  child.unref()
  return { socket: child.stdio[3], child }
}

module.exports = { openLink, findCommand, packagedCommand, longestLine, commandError }
