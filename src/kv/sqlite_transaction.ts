/**
 * One attempt of one transaction on the SQLite engine: reads at its version with its own writes
 * laid over them, and collects guards and writes for the commit. Reads are synchronous inside, so
 * their promises are resolved already and a body runs to its end without a turn of the event loop.
 */

import type { Bytes, KeyRange, KeyValue, RangeOptions, ReadTransaction } from "./engine.ts";
import { EngineUnavailable, kvLimits, type Transaction } from "./engine.ts";
import { BufferedTransaction } from "./buffered_transaction.ts";
import { textOf, type TextRange } from "./byte_text.ts";
import type { WrittenGroup } from "./conflict_log.ts";
import { mergeRange } from "./range_merge.ts";
import type { StoredPairs } from "./sqlite_pairs.ts";
import type { SqliteViews, View } from "./sqlite_views.ts";
import { newBytes } from "./slab.ts";
import { stampBytes } from "./transaction_bytes.ts";
import { checkKey, refuseExpired } from "./size_limits.ts";
import * as own from "./write_buffer.ts";

const ageMaxMs = kvLimits.transactionSecondsMax * 1000;

/** What a transaction needs of its engine. */
export interface TransactionHome {
  readonly views: SqliteViews;
  nowMs(): number;
  isClosed(): boolean;
}

export class SqliteTransaction extends BufferedTransaction<TransactionHome> implements Transaction {
  readonly unguarded: Pick<ReadTransaction, "get" | "getRange">;
  #startedMs = 0;
  #view: View | undefined;
  #isExpired = false;

  constructor(home: TransactionHome) {
    super(home);
    this.unguarded = {
      get: (key) => resolved(() => this.#get(key, false)),
      getRange: (range, options) => resolved(() => this.#getRange(range, options, false)),
    };
  }

  get(key: Bytes): Promise<Bytes | undefined> {
    return resolved(() => this.#get(key, true));
  }

  getRange(range: KeyRange, options?: RangeOptions): Promise<KeyValue[]> {
    return resolved(() => this.#getRange(range, options, true));
  }

  readVersion(): Promise<bigint> {
    return resolved(() => {
      this.#pairs();
      return BigInt(this.#view!.version);
    });
  }

  // What follows is for the engine alone.

  /** Undefined when nothing was read at a version. */
  get readsAt(): number | undefined {
    return this.#view?.version;
  }

  /** Whether a read was refused for the transaction's age, or its commit would be. */
  get isExpired(): boolean {
    return this.#isExpired || (this.hasWrites && this.#isTooOld());
  }

  /** Ends reading and writing; the guards and writes stay for the commit. */
  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    if (this.#view !== undefined) this.home.views.leave(this.#view);
  }

  /** Completes the stamped keys and notes all that this writes. */
  stampAndNote(version: number, order: number, written: WrittenGroup): void {
    if (this.buffer.stamped.length > 0) this.#putStamped(version, order);
    for (const text of this.buffer.writes.keys()) written.keys.add(text);
    for (const range of this.buffer.cleared) written.ranges.push(range);
  }

  #putStamped(version: number, order: number): void {
    const stamp = new Uint8Array(stampBytes);
    const view = new DataView(stamp.buffer);
    view.setBigUint64(0, BigInt(version));
    view.setUint16(8, order);
    for (const { prefix, suffix, value } of this.buffer.stamped) {
      const key = newBytes(prefix.length + stampBytes + suffix.length);
      key.set(prefix);
      key.set(stamp, prefix.length);
      key.set(suffix, prefix.length + stampBytes);
      own.putWrite(this.buffer, key, value);
    }
  }

  #get(key: Bytes, isGuarded: boolean): Bytes | undefined {
    this.refuseOver();
    checkKey(key);
    const text = textOf(key);
    const write = own.findWrite(this.buffer, text);
    if (write !== undefined && write.delta === undefined) return write.value;
    if (write === undefined && own.isCleared(this.buffer, text)) return undefined;
    const stored = this.#reading((pairs) => pairs.get(key, text));
    if (isGuarded) this.guards.keys.add(text);
    return write === undefined ? stored : own.addToCounter(stored, write.delta!);
  }

  #getRange(range: KeyRange, options: RangeOptions = {}, isGuarded: boolean): KeyValue[] {
    this.refuseOver();
    const wanted: TextRange = { begin: textOf(range.begin), end: textOf(range.end) };
    if (wanted.begin >= wanted.end) return [];
    const { pairs, read } = this.#reading((stored) => {
      const { reverse = false, bytesMax = Infinity, keysOnly = false } = options;
      const limit = this.#rowsToScan(wanted, options);
      const rows = stored.scan(wanted, { reverse, limit, bytesMax, keysOnly });
      return mergeRange(rows, this.buffer, wanted, options);
    });
    if (isGuarded) this.guards.ranges.push(...own.unownedParts(this.buffer, read));
    return pairs;
  }

  /** Each own write may hide a row; with ranges cleared there is no telling how many are. */
  #rowsToScan(range: TextRange, { limit = Infinity }: RangeOptions): number {
    if (limit === Infinity || this.buffer.cleared.length > 0) return Infinity;
    return limit + own.writesWithin(this.buffer, range).length;
  }

  #reading<T>(read: (pairs: StoredPairs) => T): T {
    const pairs = this.#pairs();
    try {
      return read(pairs);
    } catch (error) {
      throw new EngineUnavailable("The store cannot be read", { cause: error });
    }
  }

  #pairs(): StoredPairs {
    this.refuseOver();
    if (this.#view === undefined) {
      this.#startedMs = this.home.nowMs();
      this.#view = this.home.views.join(this.#startedMs);
      if (this.#view.pairs !== undefined) return this.#view.pairs;
    }
    const pairs = this.#view.pairs;
    if (pairs === undefined || this.#isTooOld()) {
      this.#isExpired = true;
      refuseExpired();
    }
    return pairs;
  }

  #isTooOld(): boolean {
    return this.#view !== undefined && this.home.nowMs() - this.#startedMs > ageMaxMs;
  }
}

function resolved<T>(read: () => T): Promise<T> {
  try {
    return Promise.resolve(read());
  } catch (error) {
    return Promise.reject(error);
  }
}
