/**
 * Reads and changes the pairs of a SQLite file on one connection, by SQL statements. One pair is
 * read by its key, a range page by page. Each row has a checksum, because SQLite checks nothing
 * inside a value.
 *
 * Each array that SQLite returns has memory of its own, which costs more than finding its row.
 * So small consecutive rows come as one array, and keys and values are pieces of it.
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import { bytesOf, textAfter, textOf, type TextRange } from "../byte_text.ts";
import type { Bytes, KeyValue, RangeOptions } from "../engine.ts";
import type { RecentValues } from "./recent_values.ts";

/** Reads at whatever version its connection is. */
export interface StoredPairs {
  /** The value under a key with this hash. */
  get(key: Bytes, hash: number): Bytes | undefined;
  /**
   * Pairs in order, for as long as they are asked for; `bytesMax` only hints at how much that
   * may be. With `keysOnly` values are empty: only the index of keys is read. Must be read at
   * once.
   */
  scan(range: TextRange, options: Required<RangeOptions>): Iterable<KeyValue>;
}

/** Rows of a range that one call of SQLite reads, at first and at most. */
const firstPageRows = 16;
const pageRowsMax = 64;
/** Assumed until the length of the rows is known. */
const presumedRowBytes = 4096;
/** Rows of more bytes are faster copied one by one. */
const framedBytesMax = 2048;

const NO_BYTES = new Uint8Array(0);

type Row = readonly [key: Bytes, value: Bytes];
/**
 * Keys and values, alternating, one after another, and their lengths; both null if there is no
 * row.
 */
type Frame = readonly [bytes: Bytes | null, lengths: string | null];

interface RangeStatements {
  readonly rows: StatementSync;
  readonly frame: StatementSync;
  /** A frame with empty values. */
  readonly keys: StatementSync;
}

export function preparePairs(db: DatabaseSync): StoredPairs {
  const get = db.prepare("SELECT v FROM kv WHERE k = ?");
  const forward = prepareRange(db, "ASC");
  const backward = prepareRange(db, "DESC");
  return {
    get(key) {
      const row = get.get(key) as { v: Bytes } | undefined;
      return row?.v;
    },
    scan: (range, options) => scanPages(options.reverse ? backward : forward, range, options),
  };
}

function prepareRange(db: DatabaseSync, direction: "ASC" | "DESC"): RangeStatements {
  // SQLite looks at a bare `LIMIT ?` to plan, and would then compile the statement each time.
  const range = `FROM kv WHERE k >= ? AND k < ? ORDER BY k ${direction} LIMIT +?`;
  // The outer SELECT takes rows in the inner order: the inner one has a limit, so it runs as it
  // stands.
  const frame = "SELECT CAST(group_concat(k || v, '') AS BLOB), " +
    `group_concat(length(k) || ',' || length(v)) FROM (SELECT k, v ${range})`;
  const keys = "SELECT CAST(group_concat(k, '') AS BLOB), group_concat(length(k) || ',0') " +
    `FROM (SELECT k ${range})`;
  return {
    rows: prepareArrays(db, `SELECT k, v ${range}`),
    frame: prepareArrays(db, frame),
    keys: prepareArrays(db, keys),
  };
}

/** Rows as arrays, which are cheaper than objects. The runtime's types lack this method. */
function prepareArrays(db: DatabaseSync, sql: string): StatementSync {
  const statement = db.prepare(sql);
  (statement as StatementSync & { setReturnArrays(isOn: boolean): void }).setReturnArrays(true);
  return statement;
}

/**
 * The rows of a range, a page at a time: one call for many rows is much cheaper than one for
 * each. Pages grow, because most ranges are short and most reads stop before the end of their
 * range. A page has as many rows as `bytesMax` is likely to need, because a row may be 100 KB.
 */
function* scanPages(
  { rows, frame, keys }: RangeStatements,
  range: TextRange,
  { reverse, limit, bytesMax, keysOnly }: Required<RangeOptions>,
): Generator<KeyValue> {
  let [begin, end] = [bytesOf(range.begin), bytesOf(range.end)];
  let left = limit;
  let rowBytes = presumedRowBytes;
  let [passed, bytes] = [0, 0];
  const firstPage = keysOnly ? pageRowsMax : firstPageRows;
  for (let page = firstPage; left > 0; page = Math.min(4 * page, pageRowsMax)) {
    const likely = Math.max(1, Math.ceil((bytesMax - bytes) / rowBytes));
    const wanted = Math.min(page, left, likely);
    const isFramed = passed > 0 && rowBytes <= framedBytesMax;
    const pairs: KeyValue[] = isFramed || keysOnly
      ? readFrame(keysOnly ? keys : frame, begin, end, wanted)
      : readRows(rows, begin, end, wanted);
    for (const pair of pairs) {
      bytes += pair.key.length + pair.value.length;
      yield pair;
    }
    if (pairs.length < wanted) return;
    left -= wanted;
    passed += wanted;
    rowBytes = bytes / passed;
    const last = pairs.at(-1)!.key;
    if (reverse) end = last;
    else begin = bytesOf(textAfter(textOf(last)));
  }
}

function readRows(statement: StatementSync, begin: Bytes, end: Bytes, limit: number): KeyValue[] {
  const rows = statement.all(begin, end, limit) as unknown as Row[];
  return rows.map(([key, value]) => ({ key, value }));
}

function readFrame(statement: StatementSync, begin: Bytes, end: Bytes, limit: number): KeyValue[] {
  const [[bytes, lengths]] = statement.all(begin, end, limit) as unknown as readonly [Frame];
  if (bytes === null) return [];
  const parts = lengths!.split(",");
  const pairs: KeyValue[] = [];
  for (let part = 0, at = 0; part < parts.length; part += 2) {
    const middle = at + Number(parts[part]);
    const after = middle + Number(parts[part + 1]);
    const value = after === middle ? NO_BYTES : bytes.subarray(middle, after);
    pairs.push({ key: bytes.subarray(at, middle), value });
    at = after;
  }
  return pairs;
}

/** Rows set by one call of SQLite, largest first: fewer calls cost less. */
const rowsPerCall = [32, 8, 1] as const;
/** Key, value, checksum. */
const VALUES_PER_ROW = 3;

/** The changes that a commit can make to the store. */
export interface StoreChange {
  get(key: Bytes, hash: number): Bytes | undefined;
  clear(key: Bytes): void;
  clearRange(range: TextRange): void;
  /** Keys and values, alternating. */
  setAll(pairs: Bytes[]): void;
  /** Reports the new value of a key: called for each key that is set or cleared by itself. */
  note(key: Bytes, hash: number, value: Bytes | undefined): void;
}

export function prepareChange(
  db: DatabaseSync,
  stored: StoredPairs,
  recent: RecentValues,
): StoreChange {
  const clear = db.prepare("DELETE FROM kv WHERE k = ?");
  const clearRange = db.prepare("DELETE FROM kv WHERE k >= ? AND k < ?");
  const sets = rowsPerCall.map((rows) => {
    const values = Array(rows).fill("(?, ?, ?)").join(", ");
    const sql = `INSERT INTO kv VALUES ${values} ` +
      "ON CONFLICT (k) DO UPDATE SET v = excluded.v, c = excluded.c";
    return { values: VALUES_PER_ROW * rows, statement: db.prepare(sql) };
  });
  return {
    get: stored.get,
    clear: (key) => void clear.run(key),
    clearRange({ begin, end }) {
      recent.forgetAll();
      clearRange.run(bytesOf(begin), bytesOf(end));
    },
    note: recent.change,
    setAll(pairs) {
      const rows: (Bytes | number)[] = [];
      for (let at = 0; at < pairs.length; at += 2) {
        const [key, value] = [pairs[at]!, pairs[at + 1]!];
        rows.push(key, value, rowChecksum(key, value));
      }
      let from = 0;
      for (const { values, statement } of sets) {
        for (; rows.length - from >= values; from += values) {
          statement.run(...rows.slice(from, from + values));
        }
      }
    },
  };
}

/** CRC-32 of the key and then the value: any burst of up to 32 flipped bits changes it. */
export function rowChecksum(key: Bytes, value: Bytes): number {
  return crc32(value, crc32(key));
}
