/* SPDX-License-Identifier: Apache-2.0 */
/** A ZooKeeper in memory for the tests of programs: uvzk-sim-server, which docs/guide/sim-server.md describes. */

declare global {
  interface SymbolConstructor {
    readonly asyncDispose: unique symbol
  }
}

export interface SimulatedServer {
  /** For `connect()`. */
  readonly hosts: string
  /** Carries out one of its commands, such as "cut all". Resolves with the lines of the answer. */
  command(text: string): Promise<string[]>
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** `command`: uvzk-sim-server; without it $UVZK_SIM_SERVER_COMMAND, the one of the package, or of PATH. `options`: its options,
 * such as ["--min-session", "500"]. */
export function startSimulatedServer(options?: { command?: string; options?: readonly string[] }): Promise<SimulatedServer>
