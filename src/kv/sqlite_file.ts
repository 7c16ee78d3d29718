/**
 * The file under the SQLite engine: its schema, its connections and the SQL, and nothing of
 * transactions or conflicts. One table of pairs in byte order, one row of facts about the store.
 */

import { DatabaseSync } from "node:sqlite";
import { dirname } from "node:path";
import type { Bytes } from "./engine.ts";
import { bytesOf, type TextRange } from "./byte_text.ts";
import { openRecentValues, type RecentValues } from "./recent_values.ts";
import { rowChecksum, STORE_TABLES } from "./row_checksum.ts";
import { lockStore } from "./sqlite_lock.ts";
import { preparePairs, type StoredPairs } from "./sqlite_pairs.ts";

/** Raised when stores of this build could not be read by the build before; 2 has checksums. */
const formatVersion = 2;
/** Chosen by measurement, as the sizes below; see `README.md`. */
const pageBytes = 4096;
const writerCacheKiB = 16 * 1024;
const readerCacheKiB = 1024;
/** Nobody holds a lock for long, but a checkpoint and a reader may meet. */
const busyTimeoutMs = 2000;
/** Rows set by one call of SQLite, largest first: fewer calls cost less. */
const rowsPerCall = [32, 8, 1] as const;
/** Key, value, checksum. */
const VALUES_PER_ROW = 3;

/** A connection that can hold an old version. */
export interface SqliteReader extends StoredPairs {
  /** Holds on to the newest version until `unpin`. */
  pin(): void;
  unpin(): void;
  close(): void;
}

/** What a commit does to the store. */
export interface StoreChange {
  get(key: Bytes, hash: number): Bytes | undefined;
  clear(key: Bytes): void;
  clearRange(range: TextRange): void;
  /** Keys and values by turns. */
  setAll(pairs: Bytes[]): void;
  /** Says what becomes of a key: told for each key that is set or cleared by itself. */
  note(key: Bytes, hash: number, value: Bytes | undefined): void;
}

export interface SqliteFile extends StoredPairs {
  readonly path: string;
  /** Version of the last commit, as stored. */
  readVersion(): number;
  /** One SQLite transaction, undone when this throws; durable only after `syncLog`. */
  commit(version: number, apply: (change: StoreChange) => void): void;
  /** Resolves when every commit made before the call is on the disk. On a thread of the runtime. */
  syncLog(): Promise<void>;
  openReader(): SqliteReader;
  /** A process that did not end well left a log, and maybe commits in it that were never synced. */
  readonly hasLeftLog: boolean;
  /** Pages in the log, whether or not they were moved to the database already. */
  logFrames(): number;
  /** Of the database, those included that are only in the log so far. */
  databasePages(): number;
  /** Empties the log, all of which was moved: false where somebody still reads in it. */
  truncateLog(): boolean;
  /** Bytes on the disk: of the database file and of its log. */
  sizes(): Promise<{ readonly database: number; readonly log: number }>;
  close(): void;
}

export interface SqliteFileOptions {
  /** The database file; its folder is made when missing. */
  readonly path: string;
  /** Largest size of the database file, in pages. For tests of a full disk. */
  readonly pagesMax?: number;
  /** Syncs the log in the place of the disk. For tests of a slow and of a failing one. */
  readonly syncLog?: (log: Deno.FsFile) => Promise<void>;
}

/**
 * Opens or makes the file.
 * @throws {StoreInUse} when somebody has it open.
 * @throws {Error} when a newer build wrote it.
 */
export function openSqliteFile(options: SqliteFileOptions): SqliteFile {
  const { path, pagesMax } = options;
  Deno.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const lock = lockStore(path);
  try {
    makePrivately(path);
    const hasLeftLog = sizeOf(`${path}-wal`) > 0;
    const db = new DatabaseSync(path, { timeout: busyTimeoutMs });
    try {
      prepareSchema(db, path);
      if (pagesMax !== undefined) db.exec(`PRAGMA max_page_count = ${pagesMax}`);
      return { ...buildFile(db, options, lock), hasLeftLog };
    } catch (error) {
      db.close();
      throw error;
    }
  } catch (error) {
    lock.release();
    throw error;
  }
}

/**
 * Signing keys are in it: for the owner alone. SQLite gives its side files the same mode. Only
 * under the lock: closing the file takes away the locks that SQLite has on it in this process.
 */
function makePrivately(path: string): void {
  Deno.openSync(path, { create: true, append: true, mode: 0o600 }).close();
}

/** In bytes; nothing where there is no file. */
function sizeOf(path: string): number {
  try {
    return Deno.statSync(path).size;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return 0;
    throw error;
  }
}

/**
 * Neither column is declared NOT NULL: then no statement can fail half-way, and SQLite needs no
 * journal of its own for each (a temporary file, and each page written twice).
 */
function prepareSchema(db: DatabaseSync, path: string): void {
  db.exec(`
    PRAGMA page_size = ${pageBytes};
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = 0;
    PRAGMA temp_store = MEMORY;
    PRAGMA cache_size = -${writerCacheKiB};
    BEGIN IMMEDIATE;
    ${STORE_TABLES.map((table) => `CREATE TABLE IF NOT EXISTS ${table}`).join("; ")};
    INSERT OR IGNORE INTO store VALUES (1, ${formatVersion}, 0, 0);
    COMMIT`);
  const row = db.prepare("SELECT format FROM store").get() as { format: number };
  if (row.format < formatVersion) {
    throw new Error(`The store ${path} has format ${row.format}, which no release has written`);
  }
  if (row.format > formatVersion) {
    throw new Error(
      `The store ${path} has format ${row.format}; this build reads up to ${formatVersion}. ` +
        "A newer build wrote it: run that build, or restore a copy made before the upgrade",
    );
  }
}

function buildFile(
  db: DatabaseSync,
  { path, syncLog = (log) => log.syncData() }: SqliteFileOptions,
  lock: { release(): void },
): Omit<SqliteFile, "hasLeftLog"> {
  const pairs = preparePairs(db);
  const version = db.prepare("SELECT version FROM store");
  const begin = db.prepare("BEGIN");
  const beginWrite = db.prepare("BEGIN IMMEDIATE");
  const commit = db.prepare("COMMIT");
  const countFrames = db.prepare("PRAGMA wal_checkpoint(NOOP)");
  const pages = db.prepare("PRAGMA page_count");
  const truncate = db.prepare("PRAGMA wal_checkpoint(TRUNCATE)");
  /** Of commits and, where the process before was killed, of what it left. */
  let frames = 0;
  const recent = openRecentValues();
  const change = prepareChange(db, pairs, recent);
  const setVersion = db.prepare("UPDATE store SET version = ?1, version_again = ?1");

  /** Between commits a read transaction stays open: each read saves taking and giving a lock. */
  function endReading(): void {
    if (db.isTransaction) commit.run();
  }
  function countLogFrames(): number {
    try {
      return (countFrames.get() as { log: number }).log;
    } catch {
      // The commit before is done whatever this says, and the next one counts again.
      return frames;
    }
  }
  // Commits leave the fsync of the log to `syncLog`; checkpoints sync on their own connection.
  db.exec("PRAGMA synchronous = NORMAL");
  // What is cleared is overwritten with zeros, in free pages too: it may have been erased by law.
  db.exec("PRAGMA secure_delete = ON");
  const log = Deno.openSync(`${path}-wal`, { read: true, write: true });
  frames = countLogFrames();
  begin.run();
  return {
    path,
    scan: pairs.scan,
    get: (key, hash) => recent.get(key, hash) ?? recent.keep(key, hash, pairs.get(key, hash)),
    readVersion: () => (version.get() as { version: number }).version,
    commit(number, apply) {
      try {
        // A new transaction sees whether all of the log was moved and may then start it anew.
        endReading();
        beginWrite.run();
        apply(change);
        setVersion.run(number);
        commit.run();
      } catch (error) {
        recent.forgetAll();
        if (db.isTransaction) db.exec("ROLLBACK");
        throw error;
      } finally {
        if (!db.isTransaction) {
          // Before the next read: in the middle of reading SQLite does not tell.
          frames = countLogFrames();
          begin.run();
        }
      }
    },
    syncLog: () => syncLog(log),
    openReader: () => openReader(path),
    logFrames: () => frames,
    databasePages: () => (pages.get() as { page_count: number }).page_count,
    truncateLog() {
      endReading();
      try {
        const { busy, log: left } = truncate.get() as { busy: number; log: number };
        if (busy !== 0 || left > 0) return false;
        frames = 0;
        return true;
      } catch {
        return false;
      } finally {
        begin.run();
      }
    },
    async sizes() {
      const [database, log] = await Promise.all([Deno.stat(path), Deno.stat(`${path}-wal`)]);
      return { database: database.size, log: log.size };
    },
    close() {
      try {
        endReading();
        db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      } catch {
        // The log is as durable as the database; the next start moves it.
      } finally {
        log.close();
        db.close();
        lock.release();
      }
    },
  };
}

function prepareChange(
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

function openReader(path: string): SqliteReader {
  const db = new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs });
  db.exec(`PRAGMA cache_size = -${readerCacheKiB}`);
  return {
    ...preparePairs(db),
    pin() {
      db.exec("BEGIN");
      // SQLite takes its version with the first read.
      db.prepare("SELECT version FROM store").get();
    },
    unpin: () => db.exec("COMMIT"),
    close: () => db.close(),
  };
}
