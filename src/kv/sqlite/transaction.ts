/**
 * One attempt of one transaction on the SQLite engine. It reads at its version with its own
 * writes laid over, and collects guards and writes for the commit. Reads are synchronous inside,
 * so their promises are resolved already and a body runs to its end without a turn of the event
 * loop.
 */

import type {
  Bytes,
  KeyRange,
  KeyValue,
  RangeOptions,
  ReadTransaction,
  Transaction,
} from "../engine.ts";
import { BufferedTransaction, checkKey, stampBytes } from "../transaction/buffered_transaction.ts";
import { textOf, type TextRange } from "../byte_text.ts";
import { noteWrites, type WrittenGroup } from "../transaction/conflict_log.ts";
import { hashOf } from "../key_map.ts";
import { newBytes } from "../slab.ts";
import { resolved, SqliteReading, type TransactionHome } from "./reading.ts";
import * as own from "../transaction/buffered_transaction.ts";

export class SqliteTransaction extends BufferedTransaction<TransactionHome> implements Transaction {
  readonly unguarded: Pick<ReadTransaction, "get" | "getRange">;
  readonly #reading: SqliteReading;

  constructor(home: TransactionHome) {
    super(home);
    this.#reading = new SqliteReading(home);
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
    return resolved(() => BigInt(this.#reading.version()));
  }

  // The rest is for the engine alone.

  /** The version it reads at; undefined if nothing was read yet. */
  get readsAt(): number | undefined {
    return this.#reading.readsAt;
  }

  /** Whether what was read is of a commit that may not be on disk yet. */
  get seesUnsynced(): boolean {
    return this.#reading.seesUnsynced;
  }

  /** Rows that the commit sets or clears one by one. */
  get rows(): number {
    return this.buffer.writes.entries.length + this.buffer.stamped.length;
  }

  /** Whether a read was refused as expired, or its commit would be. */
  get isExpired(): boolean {
    return this.#reading.isRefused || (this.hasWrites && this.#reading.isTooOld);
  }

  /** Ends reading and writing; the guards and writes stay for the commit. */
  end(): void {
    this.isOver = true;
    this.#reading.end();
  }

  /** Completes the stamped keys and notes all writes. */
  stampAndNote(version: number, order: number, written: WrittenGroup): void {
    if (this.buffer.stamped.length > 0) this.#putStamped(version, order);
    noteWrites(written, this.buffer.writes, this.buffer.cleared);
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
    const hash = hashOf(key);
    const { writes, cleared } = this.buffer;
    // Most reads come before the first write.
    const write = writes.entries.length === 0 ? undefined : writes.get(key, hash);
    if (write !== undefined && write.delta === undefined) return write.value;
    if (write === undefined && cleared.length > 0 && own.isCleared(this.buffer, key)) {
      return undefined;
    }
    const stored = this.#reading.find(key, hash);
    if (isGuarded) this.guards.keys.put({ key, hash });
    return write === undefined ? stored : own.addToCounter(stored, write.delta!);
  }

  #getRange(range: KeyRange, options: RangeOptions = {}, isGuarded: boolean): KeyValue[] {
    this.refuseOver();
    const wanted: TextRange = { begin: textOf(range.begin), end: textOf(range.end) };
    if (wanted.begin >= wanted.end) return [];
    const limit = this.#rowsToScan(wanted, options);
    const { pairs, read } = this.#reading.findRange(wanted, limit, options, this.buffer);
    if (isGuarded) this.guards.ranges.push(...own.unownedParts(this.buffer, read));
    return pairs;
  }

  /** Each own write may hide a row; with cleared ranges, the number of hidden rows is unknown. */
  #rowsToScan(range: TextRange, { limit = Infinity }: RangeOptions): number {
    if (limit === Infinity || this.buffer.cleared.length > 0) return Infinity;
    return limit + own.writesWithin(this.buffer, range).length;
  }
}
