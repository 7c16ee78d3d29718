/**
 * Owns the file under the SQLite engine, with its schema, its connections and the SQL. It knows
 * nothing of transactions or conflicts. The file has one table of pairs in byte order, and one
 * row of facts about the store.
 */

import { DatabaseSync } from "node:sqlite";
import { dirname } from "node:path";
import { spoolPath } from "./backup/pages_piece.ts";
import { bytesOf } from "../byte_text.ts";
import type { Change, DurableListener } from "../engine.ts";
import { openRecentValues } from "./recent_values.ts";
import { giveUpSums } from "./pages/page_notes.ts";
import { dropForeignSums, removePageSums } from "./pages/page_sums.ts";
import { refuseLogAlone } from "./left_redo_log.ts";
import { readMovedRow, refuseEarlierLog } from "./moved_row.ts";
import { redoPathsOf } from "./redo_log.ts";
import { STORE_TABLES } from "./check_file.ts";
import { lockStore } from "./lock.ts";
import { prepareChange, preparePairs, type StoreChange, type StoredPairs } from "./pairs.ts";
import { SQLITE_SIZES, type SqliteSizes } from "./sizes.ts";
import { openSqliteWriter, type SqliteWriter } from "./writer.ts";
import { prepareMoment } from "./store_row.ts";
import { makeFolder, removeIfThere, sizeIfThere, syncFolder } from "./synced_folder.ts";
import { type Copy, copyBeforeUpgrade, FORMAT, upgradeStore } from "./upgrade_store.ts";

/** Chosen by measurement, like the sizes below; see `README.md`. */
const pageBytes = 4096;
const writerCacheKiB = 16 * 1024;
const readerCacheKiB = 1024;
/** No connection holds a lock for long, but a checkpoint and a reader may meet. */
const busyTimeoutMs = 2000;

/** A connection that can hold an old version. */
export interface SqliteReader extends StoredPairs {
  /** Holds on to the newest version until `unpin`. */
  pin(): void;
  unpin(): void;
  close(): void;
}

export interface SqliteFile extends StoredPairs, Omit<SqliteWriter, "close"> {
  readonly path: string;
  readonly bounds: SqliteSizes;
  /**
   * Leaves one file if nothing fails; otherwise what a kill leaves, which the next start reads.
   * Rejects if the disk did not confirm a write.
   */
  close(): Promise<void>;
  /** Reports why page checksums could not be kept. */
  onUnnoted(reason: string): void;
  /** Version of the last commit, as stored. */
  readVersion(): number;
  /** Opens another connection, which sees what was flushed. */
  openReader(): SqliteReader;
  /** Pages of the database, including those that are only in the WAL so far. */
  databasePages(): number;
  /** Bytes on disk: of the database file, and of its logs together. */
  sizes(): Promise<{ readonly database: number; readonly log: number }>;
}

export interface SqliteFileOptions {
  /** The database file; its folder is created if missing. */
  readonly path: string;
  /** Largest size of the database file, in pages. For tests of a full disk. */
  readonly pagesMax?: number;
  /** Sizes other than {@link SQLITE_SIZES}. For tests. */
  readonly sizes?: Partial<SqliteSizes>;
  /** Replaces the sync of a log. For tests of a slow disk and of a failing one. */
  readonly syncLog?: (log: Deno.FsFile) => Promise<void>;
  /** Is told of every commit. It must not throw. */
  readonly onDurable?: DurableListener;
  /** Called if an earlier build wrote the store, with the folder of the copy made before. */
  readonly onUpgraded?: (copy: string) => void;
  /**
   * Called once with the reason why page checksums could not be kept; the store goes on without
   * them.
   */
  readonly onUnnoted?: (reason: string) => void;
}

/**
 * Opens the file, or creates it.
 * @throws {StoreInUse} when a process has it open.
 * @throws {Error} when a newer build wrote it, or when its other files do not belong to it.
 */
export function openSqliteFile(options: SqliteFileOptions): SqliteFile {
  const { path, pagesMax } = options;
  makeFolder(dirname(path));
  const lock = lockStore(path);
  try {
    const hasLeftLog = (sizeIfThere(`${path}-wal`) ?? 0) > 0;
    makeReady(path, hasLeftLog);
    // What a killed process has left of a backup.
    removeIfThere(spoolPath(path));
    const moved = readMovedRow(path);
    const copy = copyBeforeUpgrade(path, moved);
    const db = new DatabaseSync(path, { timeout: busyTimeoutMs });
    try {
      const isNew = isEmpty(db);
      if (isNew) refuseLogAlone(path);
      else refuseOrDrop(copy, () => refuseEarlierLog(db, path, moved));
      const isUpgraded = prepareSchema(db, path);
      if (copy !== undefined && !isUpgraded) removeIfThere(copy.folder);
      else if (copy !== undefined) options.onUpgraded?.(copy.folder);
      // Checksums beside a new store can only be those of another one.
      if (isNew) dropSums(options, () => removePageSums(path));
      else if (!hasLeftLog) dropSums(options, () => dropForeignSums(path, prepareMoment(db)));
      // SQLite goes on if it cannot sync the names of new files, so they are synced here.
      syncFolder(dirname(path));
      if (pagesMax !== undefined) db.exec(`PRAGMA max_page_count = ${pagesMax}`);
      return buildFile(db, options, hasLeftLog, lock);
    } catch (error) {
      if (hasLeftLog) LEFT_OPEN.push(db);
      else db.close();
      throw error;
    }
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** What is refused is not upgraded: a copy of it must not be taken for one of the right files. */
function refuseOrDrop(copy: Copy | undefined, refuse: () => void): void {
  try {
    refuse();
  } catch (error) {
    if (copy?.isNew) removeIfThere(copy.folder);
    throw error;
  }
}

function dropSums({ path, onUnnoted }: SqliteFileOptions, drop: () => void): void {
  try {
    drop();
  } catch (error) {
    onUnnoted?.(giveUpSums(path, error));
  }
}

/**
 * The file has signing keys in it, so it is for its owner alone; SQLite gives its side files the
 * same mode. Call this only under the lock: closing the file drops the locks that SQLite holds
 * on it in this process.
 *
 * A killed process may have moved pages that it did not sync any more. If another program has kept
 * what SQLite knows of its log, SQLite counts them as moved, and may write over them there.
 */
function makeReady(path: string, hasLeftLog: boolean): void {
  using file = Deno.openSync(path, { create: true, append: true, mode: 0o600 });
  if (hasLeftLog) file.syncDataSync();
}

function isEmpty(db: DatabaseSync): boolean {
  return (db.prepare("SELECT count(*) AS n FROM sqlite_schema").get() as { n: number }).n === 0;
}

/**
 * Returns whether the store was of an earlier format.
 *
 * Neither column is declared NOT NULL: then no statement can fail half-way, and SQLite needs no
 * statement journal for each (a temporary file, and each page written twice).
 */
function prepareSchema(db: DatabaseSync, path: string): boolean {
  db.exec(`
    PRAGMA page_size = ${pageBytes};
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = 0;
    PRAGMA temp_store = MEMORY;
    PRAGMA cache_size = -${writerCacheKiB};
    BEGIN IMMEDIATE;
    ${STORE_TABLES.map((table) => `CREATE TABLE IF NOT EXISTS ${table}`).join("; ")};
    INSERT OR IGNORE INTO store (id, format, version, version_again) VALUES (1, ${FORMAT}, 0, 0);
    COMMIT`);
  return upgradeStore(db, path);
}

function buildFile(
  db: DatabaseSync,
  { path, sizes, syncLog, onUnnoted: tell, onDurable }: SqliteFileOptions,
  hasLeftLog: boolean,
  lock: { release(): void },
): SqliteFile {
  const pairs = preparePairs(db);
  const version = db.prepare("SELECT version FROM store");
  const pages = db.prepare("PRAGMA page_count");
  const recent = openRecentValues(pairs.get);
  const readVersion = () => (version.get() as { version: number }).version;
  const bounds = { ...SQLITE_SIZES, ...sizes };
  let isTold = false;
  // Each pass would report the same again.
  const onUnnoted = (reason: string) => {
    if (!isTold) tell?.(reason);
    isTold = true;
  };
  const writer = openSqliteWriter(db, {
    path,
    sizes: bounds,
    hasLeftLog,
    change: prepareChange(db, pairs, recent),
    readVersion,
    syncLog,
    onUnnoted,
    onRollback: recent.forgetAll,
  });
  return {
    ...writer,
    ...(onDurable && tellDurable(writer, onDurable)),
    path,
    bounds,
    onUnnoted,
    scan: pairs.scan,
    get: recent.get,
    readVersion,
    openReader: () => openReader(path),
    databasePages: () => (pages.get() as { page_count: number }).page_count,
    async sizes() {
      const logs = [`${path}-wal`, ...redoPathsOf(path)];
      const [database, ...sizes] = await Promise.all([path, ...logs].map(fileSize));
      return { database: database!, log: sizes.reduce((sum, size) => sum + size, 0) };
    },
    async close() {
      let isClean = false;
      try {
        isClean = await writer.close();
      } finally {
        if (isClean) db.close();
        else LEFT_OPEN.push(db);
        lock.release();
      }
    },
    abandon() {
      writer.abandon();
      LEFT_OPEN.push(db);
      lock.release();
    },
  };
}

/** Notes what each commit does, and tells it when the commit is on disk. */
function tellDurable(
  writer: SqliteWriter,
  onDurable: DurableListener,
): Pick<SqliteWriter, "commit" | "sync" | "syncAll"> {
  let waiting: { readonly version: number; readonly changes: readonly Change[] }[] = [];

  async function after(synced: Promise<void>): Promise<void> {
    const told = waiting;
    waiting = [];
    await synced;
    for (const { version, changes } of told) onDurable(version, changes);
  }

  return {
    commit(version, apply, isBySingleKeys) {
      const changes: Change[] = [];
      writer.commit(version, (change) => apply(noted(change, changes)), isBySingleKeys);
      waiting.push({ version, changes });
    },
    sync: () => after(writer.sync()),
    syncAll: () => after(writer.syncAll()),
  };
}

function noted(change: StoreChange, into: Change[]): StoreChange {
  return {
    ...change,
    clear(key) {
      into.push({ cleared: key });
      change.clear(key);
    },
    clearRange({ begin, end }) {
      into.push({ clearedRange: { begin: bytesOf(begin), end: bytesOf(end) } });
      change.clearRange({ begin, end });
    },
    setAll(pairs) {
      into.push({ pairs });
      change.setAll(pairs);
    },
  };
}

/**
 * Connections of stores that were left as they are. If they were closed, even by the garbage
 * collector, SQLite would move what is in the WAL and remove it.
 */
const LEFT_OPEN: DatabaseSync[] = [];

async function fileSize(path: string): Promise<number> {
  return (await Deno.stat(path)).size;
}

function openReader(path: string): SqliteReader {
  const db = new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs });
  db.exec(`PRAGMA cache_size = -${readerCacheKiB}`);
  return {
    ...preparePairs(db),
    pin() {
      db.exec("BEGIN");
      // SQLite fixes its version with the first read.
      db.prepare("SELECT version FROM store").get();
    },
    unpin: () => db.exec("COMMIT"),
    close: () => db.close(),
  };
}
