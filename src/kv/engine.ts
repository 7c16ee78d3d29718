/**
 * THE STORAGE PORT: an ordered key-value store with serializable optimistic transactions.
 *
 * Keys and values are bytes; keys sort byte-wise. Everything above this file is written once and
 * runs on every engine that passes `tests/contract/engine_contract.ts`. See `README.md` beside it.
 */

export type Bytes = Uint8Array<ArrayBuffer>;

export interface KeyRange {
  /** First key of the range. */
  readonly begin: Bytes;
  /** First key after the range. */
  readonly end: Bytes;
}

export interface KeyValue {
  readonly key: Bytes;
  readonly value: Bytes;
}

export interface RangeOptions {
  /** At most so many pairs. Without it: all. */
  readonly limit?: number;
  /** From the end of the range backwards. */
  readonly reverse?: boolean;
  /** Stop after the pair with which keys and values reach so many bytes. */
  readonly bytesMax?: number;
  /** Nobody looks at the values, so an engine may leave them out. */
  readonly keysOnly?: boolean;
}

/** Reads at one version. The arrays it gives are the caller's to keep, never to change. */
export interface ReadTransaction {
  get(key: Bytes): Promise<Bytes | undefined>;
  getRange(range: KeyRange, options?: RangeOptions): Promise<KeyValue[]>;
  /** The version all reads of this transaction see. Grows with every commit. */
  readVersion(): Promise<bigint>;
}

/** Reads see the transaction's own writes. What is read is guarded until the commit. */
export interface Transaction extends ReadTransaction {
  /** The same reads without a guard: a later change to what they saw is no conflict. */
  readonly unguarded: Pick<ReadTransaction, "get" | "getRange">;
  set(key: Bytes, value: Bytes): void;
  clear(key: Bytes): void;
  clearRange(range: KeyRange): void;
  /** Adds to a signed little-endian 64-bit counter; missing is 0. Never a conflict of its own. */
  add(key: Bytes, delta: bigint): void;
  /** Writes `value` under `prefix`, the commit's 10-byte stamp, `suffix`. Not readable before. */
  setStamped(prefix: Bytes, suffix: Bytes, value: Bytes): void;
}

/** Ends the wait for a change. `changed` resolves after a commit that touched the key. */
export interface Watch {
  /** Resolves with true on a change, with false when cancelled or when the engine closes. */
  readonly changed: Promise<boolean>;
  cancel(): void;
}

export interface SnapshotOptions {
  /**
   * Resolves also where what it has seen is not on the disk yet. For work that is told to nobody
   * before a commit of its own: that one is on the disk only after all that it has seen.
   */
  readonly isUnsynced?: boolean;
}

export interface Engine {
  /**
   * Runs `body` until its transaction commits; resolves only when the commit is durable.
   * `body` may run more than once and must touch nothing but `tx`. What it throws ends the
   * transaction without an effect and is thrown on.
   */
  transact<T>(body: (tx: Transaction) => Promise<T>): Promise<T>;
  /** Reads at one version, guards nothing, writes nothing. */
  snapshot<T>(body: (tx: ReadTransaction) => Promise<T>, options?: SnapshotOptions): Promise<T>;
  /**
   * What a snapshot that began now would read at, asked without a read: while it is the same,
   * nothing was written. Undefined while a write is not on the disk yet; absent where others write
   * too.
   */
  durableVersion?(): number | undefined;
  watch(key: Bytes): Watch;
  /** For operators, off the path of transactions. An engine may have nothing to tell. */
  measure?(): Promise<EngineMeasure>;
  /**
   * Resolves when what was cleared before the call is not in this machine's files any more, as far
   * as an engine can tell. Absent where the files are elsewhere.
   */
  forget?(): Promise<void>;
  /**
   * Why everything is refused until the process is started again: what is on the disk is not known.
   * Absent where the store is elsewhere.
   */
  failure?(): Error | undefined;
  /** Resolves when {@link Engine.failure} is there; else never. */
  untilBroken?(): Promise<Error>;
  /**
   * Waits for running transactions, then refuses everything with {@link EngineClosed}. A store with
   * a failure is left as it is, for the next start to read.
   */
  close(): Promise<void>;
}

export interface EngineMeasure {
  /** Attempts to commit that lost against others since the engine was opened. */
  readonly conflicts: number;
  /** Bytes on this machine's disk by part; absent where the store is elsewhere. */
  readonly bytes?: Readonly<Record<string, number>>;
}

/** Limits of the strictest engine, kept by all. */
export const kvLimits = {
  keyBytesMax: 10_000,
  valueBytesMax: 100_000,
  transactionBytesMax: 10_000_000,
  transactionSecondsMax: 5,
} as const;

/** The store cannot be reached or written now; nothing of the call is known to have landed. */
export class EngineUnavailable extends Error {
  override readonly name = "EngineUnavailable";
}

/** The engine was closed. */
export class EngineClosed extends Error {
  override readonly name = "EngineClosed";
}

/** A key, value or transaction above {@link kvLimits}, or one older than its five seconds. */
export class EngineLimitExceeded extends Error {
  override readonly name = "EngineLimitExceeded";
}
