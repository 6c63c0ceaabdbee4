/* SPDX-License-Identifier: Apache-2.0 */
/* page.js UVZK HOSTS PYTHON PAGE: each program of docs/guide/node.md prints what is shown behind it. */
'use strict'

const childProcess = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')

const [PAGE] = process.argv.splice(5, 1)
const { CHILD, HOSTS, PATIENCE_MS, UVZK, assert, main } = require('./client_kit.js')

const PROGRAM = /^```js\n(.*?)^```\n\n```text\n(.*?)^```$/gms
const SERVERS = /'10\.0\.0\.1:2181[^']*'/g

async function programs() {
  const text = fs.readFileSync(PAGE, 'utf8')
  const found = [...text.matchAll(PROGRAM)]
  assert.equal(found.length, text.split('\n```js\n').length - 1, 'programs that show what they print')
  const project = fs.mkdtempSync(path.join(os.tmpdir(), 'uvzk-'))
  fs.mkdirSync(path.join(project, 'node_modules'))
  fs.symlinkSync(path.resolve(__dirname, '../../../clients/node'), path.join(project, 'node_modules/uvzk'))
  const file = path.join(project, 'program.mjs')
  for (const [, program, shown] of found) {
    assert.equal((program.match(SERVERS) || ['of the program']).length, 1, `one client: ${program}`)
    fs.writeFileSync(file, program.replace(SERVERS, `'${HOSTS}', options: ${JSON.stringify(CHILD.options)}`))
    const { status, stdout } = childProcess.spawnSync(process.execPath, [file], {
      encoding: 'utf8', env: { ...process.env, UVZK_COMMAND: UVZK }, stdio: ['ignore', 'pipe', 'inherit'], timeout: PATIENCE_MS,
    })
    assert.deepEqual([status, stdout], [0, shown], program)
  }
  fs.rmSync(project, { recursive: true })
}

main({ programs })
