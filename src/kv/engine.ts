/**
 * The storage port, an ordered key-value store with serializable optimistic transactions.
 *
 * Keys and values are bytes; keys sort byte-wise. Everything above this file is written once and
 * runs on every engine that passes `tests/contract/engine_contract.ts`. See `README.md` beside
 * it.
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
  /** At most this many pairs; without it, all. */
  readonly limit?: number;
  /** Reads from the end of the range backwards. */
  readonly reverse?: boolean;
  /** Stops after the pair with which the bytes of keys and values reach this number. */
  readonly bytesMax?: number;
  /** The caller does not look at the values, so an engine may leave them out. */
  readonly keysOnly?: boolean;
}

/** Reads at one version. The caller may keep the returned arrays but must never change them. */
export interface ReadTransaction {
  get(key: Bytes): Promise<Bytes | undefined>;
  getRange(range: KeyRange, options?: RangeOptions): Promise<KeyValue[]>;
  /** The version that all reads of this transaction see. Grows with every commit. */
  readVersion(): Promise<bigint>;
}

/** Reads see the transaction's own writes. Everything read is guarded until the commit. */
export interface Transaction extends ReadTransaction {
  /** The same reads without a guard: a later change to what they saw is no conflict. */
  readonly unguarded: Pick<ReadTransaction, "get" | "getRange">;
  set(key: Bytes, value: Bytes): void;
  clear(key: Bytes): void;
  clearRange(range: KeyRange): void;
  /** Adds to a signed little-endian 64-bit counter; a missing one is 0. Adding never conflicts. */
  add(key: Bytes, delta: bigint): void;
  /**
   * Writes `value` under `prefix`, the commit's 10-byte stamp, `suffix`. Unreadable until the
   * commit.
   */
  setStamped(prefix: Bytes, suffix: Bytes, value: Bytes): void;
}

/** A wait for the change of a key. `changed` resolves after a commit that touched it. */
export interface Watch {
  /** Resolves with true on a change, with false when cancelled or when the engine closes. */
  readonly changed: Promise<boolean>;
  cancel(): void;
}

export interface TransactOptions {
  /**
   * Whose work it is, a tenant's number say. Where commits wait for each other, owners take turns;
   * transactions without an owner share one turn.
   */
  readonly owner?: number;
  /**
   * The body writes in all likelihood, and guards all that it reads. Its first run may then read
   * at an older version than the newest, which saves asking for that: if the older one does not
   * hold any more, the commit conflicts. A run that writes nothing is repeated at the newest.
   */
  readonly expectsWrites?: boolean;
  /** It also reads what it does not guard, so even its first run reads at the newest version. */
  readonly readsUnguarded?: boolean;
  /** About what the body writes. What is large lets others go first, one by one. */
  readonly bytes?: number;
  /** No client waits for it: it lets others go first, where processes share the store. */
  readonly isBackground?: boolean;
  /** There may be many more of it: it takes turns with what is large, though it is not. */
  readonly isBulk?: boolean;
}

export interface SnapshotOptions {
  /**
   * Also resolves when what the snapshot saw is not on disk yet. For work that reveals nothing
   * before a commit of its own: that commit is durable only after everything the snapshot saw.
   */
  readonly isUnsynced?: boolean;
}

/** What an engine can do, as far as engines differ: see `capabilities.ts`. */
export interface Capabilities {
  /**
   * Several processes may have the store open at once: they share its work by leases, and none
   * knows what the others have written. Otherwise the store has one owner.
   */
  readonly isShared: boolean;
}

/** What a commit did, in order: one key cleared, a range cleared, or pairs set. */
export type Change =
  | { readonly cleared: Bytes }
  | { readonly clearedRange: KeyRange }
  /** Keys and values, alternating. */
  | { readonly pairs: readonly Bytes[] };

/**
 * Is told of each commit once it is durable, in order. The versions are consecutive; one that is
 * left out has landed, and what it did is not known.
 */
export type DurableListener = (version: number, changes: readonly Change[]) => void;

/** A part of a backup, which only an engine of the same kind can read. */
export interface BackupPiece {
  readonly bytes: Bytes;
  /** Of the bytes. */
  readonly sha256: Bytes;
}

/** What a backup shows: all commits up to this version, and none after it. */
export interface BackupMoment {
  readonly version: bigint;
  /** How long ago it was, in milliseconds. The last pieces are taken after it. */
  readonly ageMs: number;
}

/** The pieces, and in the end the moment. */
export type Backup = AsyncGenerator<BackupPiece, BackupMoment, void>;

export interface Engine {
  readonly capabilities: Capabilities;
  /**
   * Runs `body` until its transaction commits; resolves only when the commit is durable. `body`
   * may run more than once and must touch nothing but `tx`. If it throws, the transaction ends
   * without an effect and the error is rethrown.
   */
  transact<T>(body: (tx: Transaction) => Promise<T>, options?: TransactOptions): Promise<T>;
  /** Reads at one version, guards nothing, writes nothing. */
  snapshot<T>(body: (tx: ReadTransaction) => Promise<T>, options?: SnapshotOptions): Promise<T>;
  /**
   * The version at which a snapshot that began now would read, without a read. While it stays
   * the same, nothing was written. Undefined while a write is not on disk yet, and always if the
   * store is shared.
   */
  durableVersion(): number | undefined;
  watch(key: Bytes): Watch;
  /**
   * Copies the whole store as of one moment, while it is read and written. `restoreStore` of
   * `open_engine.ts` puts the pieces together again. One backup at a time. Reads at old versions
   * end once, when it completes.
   * @throws {EngineUnavailable} if it cannot be completed, or if another backup runs.
   */
  backup(): Backup;
  /** Figures for operators, off the path of transactions. */
  measure(): Promise<EngineMeasure>;
  /**
   * Resolves when data cleared before the call is gone from this machine's files, as far as an
   * engine can tell. Resolves at once if the files are elsewhere.
   */
  forget(): Promise<void>;
  /**
   * Why everything is refused until the process restarts: the content of the disk is unknown.
   * Never if the store is elsewhere.
   */
  failure(): Error | undefined;
  /** Resolves when there is a {@link Engine.failure}; otherwise never. */
  untilBroken(): Promise<Error>;
  /**
   * Waits for running transactions, then refuses everything with {@link EngineClosed}. A store
   * with a failure is left as it is, for the next start to read.
   */
  close(): Promise<void>;
}

export interface EngineMeasure {
  /** Attempts to commit that lost against others since the engine was opened. */
  readonly conflicts: number;
  /** Bytes on this machine's disk by part; absent where the store is elsewhere. */
  readonly bytes?: Readonly<Record<string, number>>;
}

/** Limits of the strictest engine, enforced by all. */
export const kvLimits = {
  keyBytesMax: 10_000,
  valueBytesMax: 100_000,
  transactionBytesMax: 10_000_000,
  transactionSecondsMax: 5,
  /** A transaction that writes more is large. It matters where processes share the store. */
  largeBytesMin: 256 * 1024,
} as const;

/** The store cannot be read or written now; nothing of the call is known to have landed. */
export class EngineUnavailable extends Error {
  override readonly name = "EngineUnavailable";
}

/** The engine was closed. */
export class EngineClosed extends Error {
  override readonly name = "EngineClosed";
}

/** A key, value or transaction above {@link kvLimits}, or a transaction older than five seconds. */
export class EngineLimitExceeded extends Error {
  override readonly name = "EngineLimitExceeded";
}
