/**
 * The check of an embedded store's file: of its pages and tables, and of each row against its
 * checksum. Clusters check their pages themselves.
 */

import { DatabaseSync } from "node:sqlite";
import type { Bytes } from "../engine.ts";
import { lockStore } from "./lock.ts";
import { rowChecksum } from "./pairs.ts";

/** The tables of a store, in the order of their creation, as SQLite keeps their text. */
export const STORE_TABLES = [
  "store (id INTEGER PRIMARY KEY CHECK (id = 1), format INTEGER NOT NULL, " +
  "version INTEGER NOT NULL, version_again INTEGER NOT NULL, redo BLOB)",
  "kv (k BLOB PRIMARY KEY, v BLOB, c INTEGER)",
] as const;

interface Row {
  readonly k: unknown;
  readonly v: unknown;
  readonly c: unknown;
}

/** Limits the report on a file that is broken all over. */
const FAULTS_MAX = 100;

/**
 * The faults of the file: of its pages and indexes, as SQLite reports them, and rows that differ
 * from what was written. The file is not changed.
 * @throws {StoreInUse} when a process has it open.
 */
export function checkSqliteFile(path: string): string[] {
  const lock = lockStore(path);
  try {
    return [...walkFile(path)].slice(0, FAULTS_MAX);
  } finally {
    lock.release();
  }
}

function* walkFile(path: string): Generator<string> {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { readOnly: true });
    for (const row of db.prepare("PRAGMA integrity_check").all()) {
      const text = String(Object.values(row)[0]);
      if (text !== "ok") yield text;
    }
    const tables = db.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL").all();
    const expected = STORE_TABLES.map((table) => ({ sql: `CREATE TABLE ${table}` }));
    if (JSON.stringify(tables) !== JSON.stringify(expected)) yield "its tables are not a store's";
    const { version, version_again } = db.prepare("SELECT * FROM store").get() ?? {};
    if (version !== version_again) yield "the version of the last commit is stored as two numbers";
    let number = 0;
    for (const row of db.prepare("SELECT k, v, c FROM kv").iterate()) {
      number++;
      if (!isWhole(row as unknown as Row)) yield `row ${number} is not what was written`;
    }
  } catch (error) {
    yield error instanceof Error ? error.message : String(error);
  } finally {
    db?.close();
  }
}

function isWhole({ k, v, c }: Row): boolean {
  return k instanceof Uint8Array && v instanceof Uint8Array &&
    c === rowChecksum(k as Bytes, v as Bytes);
}
