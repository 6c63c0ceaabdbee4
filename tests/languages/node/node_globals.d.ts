/* SPDX-License-Identifier: Apache-2.0 */
// What the package's types need of Node.js, where @types/node is not installed.
interface Buffer extends Uint8Array {
  toString(encoding?: string): string
}

interface AbortSignal {
  readonly aborted: boolean
  readonly reason: unknown
}
