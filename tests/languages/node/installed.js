/* SPDX-License-Identifier: Apache-2.0 */
/* installed.js UVZK [UVZK_SIM_SERVER]: the packages are installed from their files into an empty project, without a network, without install
 * scripts and without a compiler. Both ways to load the package have the same classes. If UVZK needs no shared library, the
 * client starts its package's daemon, to which nothing else leads, and the test double its package's server. Otherwise it is
 * refused, and the client finds none. Commands of another processor get a package for that. */
'use strict'

const assert = require('node:assert/strict')
const childProcess = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')

const NODE = path.resolve(__dirname, '../../../clients/node')
const PLATFORM = `@uvzk/linux-${process.arch}`
const PROGRAM = `
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import * as uvzk from 'uvzk'
import { startSimulatedServer } from 'uvzk/testing'
const required = createRequire(import.meta.url)('uvzk')
for (const [name, value] of Object.entries(required)) {
  assert.equal(uvzk[name], value, name)
}
try {
  const client = await uvzk.connect({ hosts: '127.0.0.1:1' })
  console.log(fs.readlinkSync('/proc/' + client._current.child.pid + '/exe'))
  await client.close()
  const server = await startSimulatedServer()
  const tester = await uvzk.connect({ hosts: server.hosts })
  await tester.mutex('/installed').run((hold) => assert.ok(hold.validForMs() > 0))
  await tester.close()
  await server.close()
} catch (why) {
  console.log(why.code)
}
`

function run(command, words, options) {
  const { status, stdout, error } = childProcess.spawnSync(command, words, {
    encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], ...options,
  })
  assert.equal(status, 0, `${command} ${words.join(' ')}: ${error}`)
  return stdout.trim()
}

/* By npm if it is there; else as npm does it where there are no other packages. */
function install(project, files) {
  const npm = process.env.PATH.split(':').some((directory) => fs.existsSync(path.join(directory, 'npm')))
  if (npm) {
    run('npm', ['install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', ...files], { cwd: project })
    return
  }
  for (const [number, file] of files.entries()) {
    const folder = path.join(project, 'node_modules', ['uvzk', PLATFORM][number])
    fs.mkdirSync(folder, { recursive: true })
    run('tar', ['-xzf', file, '-C', folder, '--strip-components=1'])
  }
}

/* The same program, if nobody runs it: it says that it is for another processor. */
function ofAnotherProcessor(command, directory) {
  const other = path.join(directory, path.basename(command))
  const bytes = fs.readFileSync(command)
  const [machine, name] = process.arch === 'x64' ? [183, 'arm64'] : [62, 'x64']
  bytes.writeUInt16LE(machine, 18) // e_machine
  fs.writeFileSync(other, bytes)
  return { other, name }
}

function packageOfAnotherProcessor(commands, made, version) {
  const directory = fs.mkdtempSync(path.join(made, 'other-'))
  const others = commands.map((command) => ofAnotherProcessor(command, directory))
  const [{ name }] = others
  run(path.join(NODE, 'packages'), [directory, ...others.map(({ other }) => other)])
  const words = ['-xzf', path.join(directory, `uvzk-linux-${name}-${version}.tgz`), '-C', directory]
  run('tar', words)
  const { os: platforms, cpu, name: called } = JSON.parse(fs.readFileSync(path.join(directory, 'package/package.json'), 'utf8'))
  assert.deepEqual([platforms, cpu, called], [['linux'], [name], `@uvzk/linux-${name}`])
  assert.deepEqual(fs.readdirSync(path.join(directory, 'package/bin')), commands.map((command) => path.basename(command)))
  const mixed = childProcess.spawnSync(path.join(NODE, 'packages'), [directory, commands[0], others[1].other], { encoding: 'utf8' })
  assert.match(mixed.stderr, /of another processor/)
}

function main() {
  const [made, project] = [0, 1].map(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'uvzk-'))))
  const commands = process.argv.slice(2)
  try {
    const packages = childProcess.spawnSync(path.join(NODE, 'packages'), [made, ...commands], { encoding: 'utf8' })
    const withCommand = packages.status === 0
    assert.match(packages.stderr, withCommand ? /^$/ : /needs shared libraries/)
    const names = withCommand ? ['uvzk', `uvzk-linux-${process.arch}`] : ['uvzk']
    const { version } = JSON.parse(fs.readFileSync(path.join(NODE, 'package.json'), 'utf8'))
    const files = names.map((name) => path.join(made, `${name}-${version}.tgz`))
    fs.writeFileSync(path.join(project, 'package.json'), '{ "private": true }\n')
    install(project, files)
    fs.writeFileSync(path.join(project, 'program.mjs'), PROGRAM)
    const told = run(process.execPath, ['program.mjs'], { cwd: project, env: { PATH: '/nowhere' } })
    assert.equal(told, withCommand ? path.join(project, `node_modules/${PLATFORM}/bin/uvzk`) : 'CLIENT_ECOMMAND')
    if (withCommand) {
      packageOfAnotherProcessor(commands, made, version)
    }
    files.forEach((file) => console.log(path.basename(file), fs.statSync(file).size, 'bytes'))
  } finally {
    fs.rmSync(made, { recursive: true })
    fs.rmSync(project, { recursive: true })
  }
}

main()
