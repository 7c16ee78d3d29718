/**
 * The file in which a node keeps a copy of an environment's projections for SQL: its format, and
 * its statements and transactions while it is open for writing.
 *
 * The store remains authoritative: a copy that is not as expected is created anew.
 */

import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { CopiedTable } from "./copy_messages.ts";
import type { Column } from "../domain/projection/ready_projection.ts";
import { sqlTypeOf } from "../domain/projection/sql_value.ts";

/** Raise this with any change of the tables, or of how values are stored in them. */
export const COPY_FORMAT = 1;

/** No projection has one of these names: theirs begin with a letter. */
export const COPY_SCHEMA = `
  CREATE TABLE _about (owner TEXT NOT NULL) STRICT;
  CREATE TABLE _views (
    name TEXT PRIMARY KEY, number INTEGER NOT NULL, version INTEGER NOT NULL, stamp TEXT NOT NULL
  ) STRICT;
  PRAGMA user_version = ${COPY_FORMAT};
`;

/** Prefix of the name of a table that is being filled; it gets its own name at the end. */
export const FILLING = "_filling";

/**
 * The table is ordered by key and has no other index. A statement without ORDER BY therefore
 * returns the same on every node, whatever the history of its file. `key` is the id of the
 * aggregate.
 */
export function createTable(name: string, columns: readonly Column[]): string {
  const lines = columns.map(({ name: column, type }) => `"${column}" ${sqlTypeOf(type)}`);
  const all = ['"key" TEXT PRIMARY KEY NOT NULL', ...lines].join(", ");
  return `CREATE TABLE "${name}" (${all}) STRICT, WITHOUT ROWID`;
}

export interface CopyFile {
  readonly database: DatabaseSync;
  /** The statement for this text, prepared once. */
  prepare(sql: string): StatementSync;
  /** Runs `work` in a transaction of its own, or in the one that is already open. */
  transact(work: () => void): void;
  /** Drops all prepared statements, which do not survive the tables they name. */
  forget(): void;
  close(): void;
}

/** Readable by the owner only, like all files with data. */
const FILE_MODE = 0o600;
const BUSY_MS = 2_000;
const CACHE_KILOBYTES = 16 * 1024;
const LOG_BYTES_KEPT = 64 * 1024 * 1024;
/** The file itself, and the files that SQLite keeps beside it. */
const SUFFIXES = ["", "-wal", "-shm", "-journal"];

/**
 * Opens the copy of `owner`, or creates one; a file that is not such a copy is removed. With
 * `isFirst`, a damaged copy is removed too, and tables that an earlier process left unfinished
 * are dropped.
 */
export function openCopy(path: string, owner: string, isFirst: boolean): CopyFile {
  if (exists(path)) {
    const found = tryOpen(path, owner, isFirst);
    if (found !== undefined) return found;
    removeCopy(path);
  }
  Deno.openSync(path, { create: true, write: true, mode: FILE_MODE }).close();
  const made = connect(path);
  try {
    made.database.exec(COPY_SCHEMA);
    made.prepare("INSERT INTO _about (owner) VALUES (?)").run(owner);
    return made;
  } catch (error) {
    made.close();
    throw error;
  }
}

/** Reopens a file that was closed to make room; undefined if it is gone. */
export function reopenCopy(path: string): CopyFile | undefined {
  return exists(path) ? connect(path) : undefined;
}

export function removeCopy(path: string): void {
  for (const suffix of SUFFIXES) if (exists(path + suffix)) Deno.removeSync(path + suffix);
}

export function listTables(file: CopyFile): CopiedTable[] {
  const rows = file.prepare("SELECT name, number, version, stamp FROM _views").all();
  return rows.map((row) => ({ ...row }) as unknown as CopiedTable);
}

/** Undefined if the file is not a copy of that owner, or is damaged. */
function tryOpen(path: string, owner: string, isFirst: boolean): CopyFile | undefined {
  let file: CopyFile | undefined;
  try {
    file = connect(path);
    if (isCopyOf(file, owner) && (!isFirst || isWhole(file))) {
      if (isFirst) dropFillings(file);
      return file;
    }
  } catch {
    // Whatever it is, it is not the expected copy.
  }
  file?.close();
  return undefined;
}

function isCopyOf({ database }: CopyFile, owner: string): boolean {
  const format = database.prepare("PRAGMA user_version").get()?.user_version;
  return format === COPY_FORMAT &&
    database.prepare("SELECT owner FROM _about").get()?.owner === owner;
}

function isWhole({ database }: CopyFile): boolean {
  const missing = "SELECT 1 FROM _views WHERE name NOT IN (SELECT name FROM sqlite_schema)";
  return database.prepare(missing).get() === undefined &&
    database.prepare("PRAGMA quick_check(1)").get()?.quick_check === "ok";
}

function dropFillings(file: CopyFile): void {
  const rows = file.database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  for (const { name } of rows) {
    if (String(name).startsWith(FILLING)) file.database.exec(`DROP TABLE "${name}"`);
  }
}

function connect(path: string): CopyFile {
  const database = new DatabaseSync(path, { timeout: BUSY_MS });
  const statements = new Map<string, StatementSync>();
  try {
    // Data erased in the store must not survive in a free page, hence secure_delete.
    database.exec(
      `PRAGMA journal_mode = WAL;
       PRAGMA synchronous = NORMAL;
       PRAGMA secure_delete = ON;
       PRAGMA cell_size_check = ON;
       PRAGMA journal_size_limit = ${LOG_BYTES_KEPT};
       PRAGMA cache_size = -${CACHE_KILOBYTES}`,
    );
  } catch (error) {
    database.close();
    throw error;
  }

  function transact(work: () => void): void {
    if (database.isTransaction) return work();
    database.exec("BEGIN IMMEDIATE");
    try {
      work();
      database.exec("COMMIT");
    } catch (error) {
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
  }

  return {
    database,
    prepare(sql) {
      const known = statements.get(sql);
      if (known !== undefined) return known;
      const statement = database.prepare(sql);
      statements.set(sql, statement);
      return statement;
    },
    transact,
    forget: () => statements.clear(),
    close() {
      statements.clear();
      database.close();
    },
  };
}

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
