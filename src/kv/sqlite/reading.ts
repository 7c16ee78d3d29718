/**
 * Reads of the SQLite engine at one version, which the first read fixes until the end. Reads are
 * synchronous inside, so their promises are resolved already and a body runs to its end without
 * a turn of the event loop.
 */

import {
  type Bytes,
  EngineUnavailable,
  type KeyRange,
  type KeyValue,
  kvLimits,
  type RangeOptions,
  type ReadTransaction,
} from "../engine.ts";
import {
  checkKey,
  emptyWriteBuffer,
  refuseEnded,
  refuseExpired,
  type WriteBuffer,
} from "../transaction/buffered_transaction.ts";
import { textOf, type TextRange } from "../byte_text.ts";
import { hashOf } from "../key_map.ts";
import { mergeRange } from "../transaction/range_merge.ts";
import type { StoredPairs } from "./pairs.ts";
import type { SqliteViews, View } from "./versions.ts";
import { isKeyWritten, isRangeWritten, type WrittenGroup } from "../transaction/conflict_log.ts";

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
  #startedMs = 0;
  #view: View | undefined;
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
    if (this.#unsynced() !== undefined) this.seesUnsynced = true;
    return this.#view!.version;
  }

  /** The version it reads at; undefined if nothing was read yet. */
  get readsAt(): number | undefined {
    return this.#view?.version;
  }

  get isTooOld(): boolean {
    return this.#view !== undefined && this.#home.nowMs() - this.#startedMs > ageMaxMs;
  }

  /** The value stored under a key with this hash. */
  find(key: Bytes, hash: number): Bytes | undefined {
    const pairs = this.pairs();
    const unsynced = this.#unsynced();
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
  findRange(range: TextRange, limit: number, options: RangeOptions, over: WriteBuffer) {
    const pairs = this.pairs();
    const unsynced = this.#unsynced();
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
  #unsynced(): Unsynced | undefined {
    if (this.seesUnsynced) return undefined;
    const { unsynced } = this.#home;
    return unsynced !== undefined && this.#view!.version >= unsynced.version ? unsynced : undefined;
  }

  /** The pairs at the version, which the first call fixes. */
  pairs(): StoredPairs {
    if (this.#isOver || this.#home.isClosed) refuseEnded(this.#home.isClosed);
    if (this.#view === undefined) {
      this.#startedMs = this.#home.nowMs();
      this.#view = this.#home.views.join(this.#startedMs);
      if (this.#view.pairs !== undefined) return this.#view.pairs;
    }
    const { pairs } = this.#view;
    if (pairs === undefined || this.isTooOld) {
      this.isRefused = true;
      refuseExpired();
    }
    return pairs;
  }

  refuseOver(): void {
    if (this.#isOver || this.#home.isClosed) refuseEnded(this.#home.isClosed);
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

const NO_WRITES = emptyWriteBuffer();

/** Reads alone, without writes, guards and the memory for them. */
export class SqliteSnapshot implements ReadTransaction {
  readonly reading: SqliteReading;

  constructor(home: TransactionHome) {
    this.reading = new SqliteReading(home);
  }

  get(key: Bytes): Promise<Bytes | undefined> {
    return resolved(() => {
      this.reading.refuseOver();
      checkKey(key);
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
export function resolved<T>(read: () => T): Promise<T> {
  try {
    return Promise.resolve(read());
  } catch (error) {
    return Promise.reject(error);
  }
}
