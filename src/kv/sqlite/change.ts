/** The SQL statements by which a commit changes the pairs of a SQLite file. */

import type { DatabaseSync } from "node:sqlite";
import { bytesOf, type TextRange } from "../byte_text.ts";
import type { Bytes } from "../engine.ts";
import type { RecentValues } from "./recent_values.ts";
import { rowChecksum } from "./row_checksum.ts";
import type { StoredPairs } from "./pairs.ts";

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
