/* SPDX-License-Identifier: Apache-2.0 */
/** Locks on ZooKeeper: Apache Curator's recipes, through the daemon `uvzk serve`. See docs/guide/node.md. */

declare global {
  interface SymbolConstructor {
    readonly asyncDispose: unique symbol
  }
}

export type Data = string | Uint8Array

export interface Where {
  /** Of ZooKeeper, "10.0.0.1:2181,10.0.0.2:2181"; without it $ZOOKEEPER_HOSTS. A daemon is started as a child of
   * this process; its reports are on this process's standard error. */
  hosts?: string
  /** Of a daemon that runs already, instead of `hosts`, `command` and `options`. */
  socket?: string
  /** The command uvzk; without it $UVZK_COMMAND, the one of the package for this platform, or the one of PATH. */
  command?: string
  /** More of the daemon's options, such as ["--session-timeout", "10"]. */
  options?: readonly string[]
  /** The longest request in bytes that this daemon accepts. */
  maxLine?: number
}

/** Starts the daemon, or connects to it. */
export function connect(where?: Where): Promise<Client>

export type State = 'connected' | 'disconnected' | 'closed'

/** Has one connection to a daemon, and opens another one at the next request when that has ended. `new Client()`
 * opens the first one at the first request. */
export class Client {
  constructor(where?: Where)
  /** Releases everything, and waits so long at most until that is done (5000). */
  close(options?: { patienceMs?: number }): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
  /** Called with the state of the connection to the daemon, and the reason when it has ended. */
  on(event: 'state', listener: (state: State, why?: UvzkError) => void): this
  once(event: 'state', listener: (state: State, why?: UvzkError) => void): this
  off(event: 'state', listener: (state: State, why?: UvzkError) => void): this
  mutex(path: string): Lock
  readWrite(path: string): ReadWrite
  /** `leases` is how many there are, the same in all programs. */
  semaphore(path: string, leases: number): Semaphore
  /** Several locks as one. `inTurn`: one after the other, in the order of their paths. */
  allOf(locks: readonly Lock[], options?: { inTurn?: boolean }): AllOf
  /** `id` tells the others who leads. `kind`: as Curator's LeaderLatch ("latch") or LeaderSelector ("mutex"). */
  election(path: string, options: { id: string; kind?: 'latch' | 'mutex' }): Election
  /** `seed`: what a missing znode is created with. */
  sharedValue(path: string, options?: { seed?: Data }): Shared<Buffer, Data>
  /** -2^31 to 2^31 - 1. */
  sharedCount(path: string, options?: { seed?: number }): Shared<number, number>
  /** `persistent`: the znode stays if the daemon is killed; else it ends with the daemon's session. */
  persistentNode(path: string, options?: { data?: Data; persistent?: boolean }): PersistentNode
  groupMember(path: string, options: { member: string; data?: Data }): GroupMember
  barrier(path: string): Barrier
  doubleBarrier(path: string, options: { members: number }): DoubleBarrier
  atomicLong(path: string): AtomicLong
  /** Resolves when the daemon is connected to the servers; UvzkTimeout after so long, which is more than 0. */
  connected(options: { timeoutMs: number }): Promise<void>
  /** All that stand at a path, those that hold first; the first 100. */
  contenders(path: string): Promise<Contender[]>
  /** Asks the owner of a lock's znode to release it. If it is not revocable, it hears nothing. */
  revoke(node: string): Promise<void>
  /** The daemon's metrics, as text for Prometheus. */
  metrics(): Promise<string>
}

export interface WaitOptions {
  /** 0: only if it is free now. Without it: wait forever. UvzkTimeout is thrown. */
  timeoutMs?: number
  /** Ends the wait, with its reason: no znode stays. */
  signal?: AbortSignal
}

export interface AcquireAllOptions extends WaitOptions {
  /** Who has this name within this client may acquire the lock again, and releases it as often. */
  owner?: string
  /** Of the lock's znode. */
  data?: string
  /** The longest hold: then it is lost with UVZK_EMAXHOLD. */
  maxHoldMs?: number
}

export interface AcquireOptions extends AcquireAllOptions {
  /** Called when the acquire has a place in the queue. */
  onQueued?: (ahead: number) => void
  /** Called when another client asks for the lock. The znode has no data then. */
  onRevoke?: () => void
}

export interface SemaphoreOptions extends AcquireAllOptions {
  /** How many this acquire takes (1). */
  leases?: number
  onQueued?: (ahead: number) => void
}

interface Acquires<Options> {
  acquire(options?: Options): Promise<Hold>
  /** Runs the body while the lock is held, and releases it always. Throws UvzkLost if the hold was lost: it is so when
   * the body has returned, or has thrown an AbortError. */
  run<Result>(body: (hold: Hold) => Result | PromiseLike<Result>, options?: Options): Promise<Result>
}

/** One lock at one path. It costs nothing until it is acquired; any number of tasks may use it. */
export interface Lock<Options = AcquireOptions> extends Acquires<Options> {
  readonly path: string
  participants(): Promise<Participants>
  /** The participants, now and after each change. Several changes may be one. */
  watch(options?: { signal?: AbortSignal }): Iteration<Participants>
}

export type Semaphore = Lock<SemaphoreOptions>

export interface ReadWrite {
  readonly read: Lock
  readonly write: Lock
}

export type AllOf = Acquires<AcquireAllOptions>

export interface Iteration<Value> extends AsyncIterableIterator<Value> {
  /** Ends the iteration, also while it waits. */
  return(): Promise<IteratorResult<Value>>
  [Symbol.asyncDispose](): Promise<unknown>
}

/** The znodes of those who hold a lock and of those who wait for it, in their order. `leader`: of an election. */
export interface Participants {
  holders: string[]
  waiters: string[]
  leader?: Buffer
}

export interface Contender {
  node: string
  kind: string
  holds: boolean
  data: Buffer
}

/** A lock that is held. It stays while the loop is blocked. */
export class Hold {
  private constructor()
  /** The fencing token: greater than that of every earlier hold. */
  readonly token: bigint
  readonly node: string
  /** Of several locks as one, those of all members. */
  readonly nodes: readonly string[]
  /** Is aborted when the hold is lost, with an UvzkLost as its reason. Not when it is released. */
  readonly signal: AbortSignal
  /** For how many ms the servers cannot grant the lock to another client; 0: the hold is over. Reads clocks and memory,
   * and waits for nothing. With a child it is right also directly after the loop was blocked. With a daemon's socket it
   * is what the daemon has told last: see valid(). */
  validForMs(): number
  /** Asks the daemon for it. */
  valid(): Promise<number>
  /** The same, after a quorum of the servers has agreed that the hold stands. */
  verify(): Promise<number>
  /** Carries out all of them in one transaction, if the hold stands, or none. */
  write(...writes: Write[]): Promise<void>
  /** What the znode contained at a moment at which the hold stood. */
  read(path: string): Promise<{ data: Buffer; version: number }>
  /** Resolves when the lock is free. Nothing happens if the hold is over. */
  release(): Promise<void>
  /** The same; then throws UvzkLost if the hold was lost. */
  [Symbol.asyncDispose](): Promise<void>
}

declare const written: unique symbol

/** One operation of Hold.write(). */
export interface Write {
  readonly [written]: never
}

/** A persistent znode; its parent exists. */
export function create(path: string, data?: Data): Write
export function setData(path: string, data: Data, version?: number): Write
export function remove(path: string, version?: number): Write
/** It exists, and has this version. */
export function check(path: string, version?: number): Write

export interface Election {
  /** Resolves when this program leads. */
  lead(options?: WaitOptions): Promise<Hold>
  run<Result>(body: (term: Hold) => Result | PromiseLike<Result>, options?: WaitOptions): Promise<Result>
  /** Stands for election again and again. A term that is still held when the next one is asked for is over. */
  terms(options?: { signal?: AbortSignal }): Iteration<Hold>
  leader(): Promise<Leader | undefined>
  participants(): Promise<Participants>
  watch(options?: { signal?: AbortSignal }): Iteration<Participants>
}

export interface Leader {
  /** What it has stood with. */
  id: Buffer
  node: string
  token: bigint
}

interface Opened {
  open(options?: { signal?: AbortSignal }): Promise<this>
  /** Resolves when it is closed, and its znode is gone if it has one of its own. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** A value, and what tells it from every other one. */
export interface Versioned<Value> {
  value: Value
  mzxid: bigint
  version: number
}

/** A value in a znode that every client sees and sets. */
export interface Shared<Value, Given> extends Opened {
  /** What the daemon knows. Directly after open() it knows nothing (UVZK_ENONODE): wait for changed(). */
  get(): Promise<Versioned<Value>>
  /** With `ifUnchanged`, an error with UVZK_EBADVERSION if somebody has set another value since. */
  set(value: Given, options?: { ifUnchanged?: Versioned<Value> }): Promise<void>
  /** The first value that is known, and then the latest one after each change. */
  changed(options?: { signal?: AbortSignal }): Promise<Versioned<Value>>
}

/** A znode that the daemon creates again whenever it is missing; it is deleted at the end. */
export interface PersistentNode extends Opened {
  /** Resolves when the znode is there; again, when it is there again or has other data. */
  there(options?: { signal?: AbortSignal }): Promise<void>
  /** Resolves before the servers have it: wait for there(). */
  set(data: Data): Promise<void>
}

export interface GroupMember extends Opened {
  set(data: Data): Promise<void>
  /** The name of each member that the daemon knows, and its data. */
  members(): Promise<Map<string, Buffer>>
  /** The members after the next change of the group, or of this member's znode. */
  changed(options?: { signal?: AbortSignal }): Promise<Map<string, Buffer>>
}

export interface Barrier {
  set(): Promise<void>
  remove(): Promise<void>
  /** Resolves when it is not set. */
  wait(options?: WaitOptions): Promise<void>
}

export interface DoubleBarrier {
  /** Resolves when all members have entered. */
  enter(options?: WaitOptions): Promise<void>
  /** Resolves when all members have left. Afterwards this one has left, also after an error. */
  leave(options?: WaitOptions): Promise<void>
}

/** -2^63 to 2^63 - 1. After an error whose `outcomeUnknown` is true, the change may have been made. */
export interface AtomicLong {
  get(): Promise<bigint>
  /** Resolves with the sum. */
  add(delta?: bigint | number): Promise<bigint>
  /** Resolves with the value before. */
  set(value: bigint | number): Promise<bigint>
  /** An error with UVZK_EBADVERSION if it has another value. */
  compareAndSet(expected: bigint | number, value: bigint | number): Promise<void>
  /** An error with UVZK_ENODEEXISTS if it is there already. */
  create(value: bigint | number): Promise<void>
}

export class UvzkError extends Error {
  constructor(code: string, message: string, options?: { retriable?: boolean; outcomeUnknown?: boolean; cause?: unknown })
  readonly code: string
  /** A later attempt may succeed without a change to the program. */
  readonly retriable: boolean
  /** A write may have been carried out. */
  readonly outcomeUnknown: boolean
}

/** Not granted in time. `code` tells why: UV_ETIMEDOUT (others were ahead), UVZK_EUNREACHABLE (there was no connection
 * to the servers), UVZK_ENOTQUEUED (the servers were slow). */
export class UvzkTimeout extends UvzkError {}

/** A hold has ended without a release, or what was opened is over: `code` tells why. */
export class UvzkLost extends UvzkError {}

/** There is no daemon, or no longer. */
export class UvzkConnectionError extends UvzkError {}
