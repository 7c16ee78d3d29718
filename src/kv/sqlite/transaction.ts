/**
 * Transactions and snapshots of the SQLite engine. Each reads at one version, which the first read
 * fixes until the end. Reads are synchronous inside, so their promises are resolved already and a
 * body runs to its end without a turn of the event loop.
 */

import {
  type Bytes,
  EngineUnavailable,
  type KeyRange,
  type KeyValue,
  kvLimits,
  type RangeOptions,
  type ReadTransaction,
  type Transaction,
} from "../engine.ts";
import { textOf, type TextRange } from "../byte_text.ts";
import { hashOf } from "../key_map.ts";
import { newBytes } from "../slab.ts";
import * as own from "../transaction/buffered_transaction.ts";
import { isKeyWritten, isRangeWritten, type WrittenGroup } from "../transaction/conflict_log.ts";
import { mergeRange } from "../transaction/range_merge.ts";
import type { StoredPairs } from "./pairs.ts";
import type { SqliteViews, View } from "./versions.ts";

const ageMaxMs = kvLimits.transactionSecondsMax * 1000;

/** The commit that is being synced. */
export interface Unsynced {
  readonly version: number;
  /** What it wrote; undefined if that is not known. */
  readonly written: WrittenGroup | undefined;
}

/** What a transaction needs from its engine. */
export interface TransactionHome {
  readonly views: SqliteViews;
  /** Undefined while everything is on disk. */
  readonly unsynced: Unsynced | undefined;
  nowMs(): number;
  readonly isClosed: boolean;
}

/** One version, for a snapshot or for one attempt of a transaction. */
export class SqliteReading {
  readonly #home: TransactionHome;
  /** When what it reads at becomes too old, by the engine's clock. */
  #endMs = Infinity;
  #view: View | undefined;
  /** The version it reads at; undefined if nothing was read yet. */
  readsAt: number | undefined;
  /** Whether a read was refused as expired. */
  isRefused = false;
  /**
   * Whether something was read that the commit being synced wrote, or the version that it made.
   * All else is the same as before that commit, so it may be told before the commit is on disk.
   */
  seesUnsynced = false;
  /** Set once its body has returned or thrown. */
  #isOver = false;

  constructor(home: TransactionHome) {
    this.#home = home;
  }

  /** The version it reads at; fixes it if nothing was read yet. */
  version(): number {
    this.pairs();
    if (this.#unseen() !== undefined) this.seesUnsynced = true;
    return this.#view!.version;
  }

  get isTooOld(): boolean {
    return this.#home.nowMs() > this.#endMs;
  }

  /** The value stored under a key with this hash. */
  find(key: Bytes, hash: number): Bytes | undefined {
    const pairs = this.pairs();
    const unsynced = this.#home.unsynced && this.#unseen();
    if (unsynced !== undefined) {
      const { written } = unsynced;
      this.seesUnsynced = written === undefined || isKeyWritten(written, key, hash);
    }
    try {
      return pairs.get(key, hash);
    } catch (error) {
      throw unreadable(error);
    }
  }

  /** A range with writes laid over it. */
  findRange(range: TextRange, limit: number, options: RangeOptions, over: own.WriteBuffer) {
    const pairs = this.pairs();
    const unsynced = this.#home.unsynced && this.#unseen();
    if (unsynced !== undefined) {
      const { written } = unsynced;
      this.seesUnsynced = written === undefined || isRangeWritten(written, range);
    }
    const { reverse = false, bytesMax = Infinity, keysOnly = false } = options;
    try {
      const rows = pairs.scan(range, { reverse, limit, bytesMax, keysOnly });
      return mergeRange(rows, over, range, options);
    } catch (error) {
      throw unreadable(error);
    }
  }

  /** The commit being synced, if this reads behind it and has not seen anything of it yet. */
  #unseen(): Unsynced | undefined {
    if (this.seesUnsynced) return undefined;
    const { unsynced } = this.#home;
    return unsynced !== undefined && this.#view!.version >= unsynced.version ? unsynced : undefined;
  }

  /** The pairs at the version, which the first call fixes. */
  pairs(): StoredPairs {
    if (this.#isOver || this.#home.isClosed) own.refuseEnded(this.#home.isClosed);
    if (this.#view === undefined) {
      const nowMs = this.#home.nowMs();
      this.#endMs = nowMs + ageMaxMs;
      this.#view = this.#home.views.join(nowMs);
      this.readsAt = this.#view.version;
      if (this.#view.pairs !== undefined) return this.#view.pairs;
    }
    const { pairs } = this.#view;
    if (pairs === undefined || this.#home.nowMs() > this.#endMs) {
      this.isRefused = true;
      this.refuse();
    }
    return pairs;
  }

  /**
   * @throws {EngineLimitExceeded} if it was open for too long.
   * @throws {EngineUnavailable} if the store had to give up its version earlier: repeated later,
   * the same reads may succeed.
   */
  refuse(): never {
    if (this.isTooOld) own.refuseExpired();
    throw new EngineUnavailable("The store gave up the version that was read, to go on itself");
  }

  refuseOver(): void {
    if (this.#isOver || this.#home.isClosed) own.refuseEnded(this.#home.isClosed);
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#view !== undefined) this.#home.views.leave(this.#view);
  }
}

function unreadable(cause: unknown): EngineUnavailable {
  return new EngineUnavailable("The store cannot be read", { cause });
}

const NO_WRITES = own.emptyWriteBuffer();

/** Reads alone, without writes, guards and the memory for them. */
export class SqliteSnapshot implements ReadTransaction {
  readonly reading: SqliteReading;

  constructor(home: TransactionHome) {
    this.reading = new SqliteReading(home);
  }

  get(key: Bytes): Promise<Bytes | undefined> {
    return resolved(() => {
      this.reading.refuseOver();
      own.checkKey(key);
      return this.reading.find(key, hashOf(key));
    });
  }

  getRange(range: KeyRange, options: RangeOptions = {}): Promise<KeyValue[]> {
    return resolved(() => {
      this.reading.refuseOver();
      const wanted: TextRange = { begin: textOf(range.begin), end: textOf(range.end) };
      if (wanted.begin >= wanted.end) return [];
      const { limit = Infinity } = options;
      return this.reading.findRange(wanted, limit, options, NO_WRITES).pairs;
    });
  }

  readVersion(): Promise<bigint> {
    return resolved(() => BigInt(this.reading.version()));
  }
}

/** Reads are done at once; what they throw becomes a rejection. */
function resolved<T>(read: () => T): Promise<T> {
  try {
    return Promise.resolve(read());
  } catch (error) {
    return Promise.reject(error);
  }
}

/**
 * One attempt of one transaction. It reads with its own writes laid over, and collects guards and
 * writes for the commit.
 */
export class SqliteTransaction extends own.BufferedTransaction<TransactionHome>
  implements Transaction {
  readonly unguarded: Pick<ReadTransaction, "get" | "getRange">;
  readonly reading: SqliteReading;

  constructor(home: TransactionHome) {
    super(home);
    this.reading = new SqliteReading(home);
    this.unguarded = {
      get: (key) => resolved(() => this.#get(key, false)),
      getRange: (range, options) => resolved(() => this.#getRange(range, options, false)),
    };
  }

  /** As `resolved` does, without its two calls, because every write reads several keys. */
  get(key: Bytes): Promise<Bytes | undefined> {
    try {
      return Promise.resolve(this.#get(key, true));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  getRange(range: KeyRange, options?: RangeOptions): Promise<KeyValue[]> {
    return resolved(() => this.#getRange(range, options, true));
  }

  readVersion(): Promise<bigint> {
    return resolved(() => BigInt(this.reading.version()));
  }

  // The rest is for the engine alone.

  /** Whether a read was refused as expired, or its commit would be. */
  get isExpired(): boolean {
    return this.reading.isRefused || (this.reading.isTooOld && this.hasWrites);
  }

  /** Ends reading and writing; the guards and writes stay for the commit. */
  end(): void {
    this.isOver = true;
    this.reading.end();
  }

  /** Completes the stamped keys. */
  stamp(version: number, order: number): void {
    const stamp = new Uint8Array(own.stampBytes);
    const view = new DataView(stamp.buffer);
    view.setBigUint64(0, BigInt(version));
    view.setUint16(8, order);
    for (const { prefix, suffix, value } of this.buffer.stamped) {
      const key = newBytes(prefix.length + own.stampBytes + suffix.length);
      key.set(prefix);
      key.set(stamp, prefix.length);
      key.set(suffix, prefix.length + own.stampBytes);
      own.putWrite(this.buffer, key, value);
    }
  }

  #get(key: Bytes, isGuarded: boolean): Bytes | undefined {
    this.checkCall(key);
    const hash = hashOf(key);
    const { writes, cleared } = this.buffer;
    // Most reads come before the first write.
    const write = writes.entries.length === 0 ? undefined : writes.get(key, hash);
    if (write !== undefined && write.delta === undefined) return write.value;
    if (write === undefined && cleared.length > 0 && own.isCleared(this.buffer, key)) {
      return undefined;
    }
    const stored = this.reading.find(key, hash);
    if (isGuarded) this.guards.keys.put({ key, hash });
    return write === undefined ? stored : own.addToCounter(stored, write.delta!);
  }

  #getRange(range: KeyRange, options: RangeOptions = {}, isGuarded: boolean): KeyValue[] {
    this.refuseOver();
    const wanted: TextRange = { begin: textOf(range.begin), end: textOf(range.end) };
    if (wanted.begin >= wanted.end) return [];
    const limit = this.#rowsToScan(wanted, options);
    const { pairs, read } = this.reading.findRange(wanted, limit, options, this.buffer);
    if (isGuarded) this.guards.ranges.push(...own.unownedParts(this.buffer, read));
    return pairs;
  }

  /** Each own write may hide a row; with cleared ranges, the number of hidden rows is unknown. */
  #rowsToScan(range: TextRange, { limit = Infinity }: RangeOptions): number {
    if (limit === Infinity || this.buffer.cleared.length > 0) return Infinity;
    return limit + own.writesWithin(this.buffer, range).length;
  }
}
