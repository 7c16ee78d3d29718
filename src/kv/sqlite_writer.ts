/**
 * The one connection that writes the SQLite file. A transaction of SQLite stays open over many
 * commits, which are durable by the redo log meanwhile: so a page that they change again and again
 * is written once, and while the disk confirms a commit its rows are already put into their pages.
 * Readers of this connection see all of it; others see what ended.
 */

import type { DatabaseSync } from "node:sqlite";
import type { Bytes } from "./engine.ts";
import { giveUpSums, openPageNotes, type PageNote } from "./page_notes.ts";
import {
  createRedoLog,
  readRedoLog,
  type RedoLog,
  redoPathsOf,
  refuseNewerLog,
  removeRedoLog,
} from "./redo_log.ts";
import { recordBytes, type RedoRecord } from "./redo_record.ts";
import type { StoreChange } from "./sqlite_change.ts";
import { openSqliteLog, type SqliteLog } from "./sqlite_log.ts";
import { prepareMoment, prepareRedoName, type RedoName } from "./store_row.ts";
import type { SqliteSizes } from "./sqlite_sizes.ts";

/** What was committed is not all in the store any more: nothing may be read or written. */
export class CommitsLost extends Error {
  override readonly name = "CommitsLost";
}

export interface SqliteWriter {
  /**
   * Makes a commit, or throws and leaves the store as it was; durable only after `sync`.
   * @param isBySingleKeys clears no range, so that the redo log can tell it.
   * @throws {CommitsLost} when those before it could not be brought back.
   */
  commit(version: number, apply: (change: StoreChange) => void, isBySingleKeys: boolean): void;
  /** Ends the transaction of SQLite that is open, for readers on other connections. */
  flush(): void;
  /** Resolves when every commit made before the call is on the disk. On a thread of the runtime. */
  sync(): Promise<void>;
  /** The same, and resolves when all that was flushed is in SQLite's log on the disk. */
  syncAll(): Promise<void>;
  /**
   * What a transaction of SQLite that has ended owes to the disk, while others go on; undefined for
   * nothing.
   */
  syncBehind(): Promise<void> | undefined;
  /** Pages in SQLite's log, whether or not they were moved to the database already. */
  logFrames(): number;
  /** Empties both logs, all of which was moved: false where somebody still reads in them. */
  truncateLog(): boolean;
  /** The process before was killed and left commits in a log, which nobody may have synced. */
  readonly hasLeftLog: boolean;
  /**
   * Puts everything into the database, syncs it and removes both logs. Gives false where SQLite
   * cannot, and rejects where the disk does not confirm it. All files are then left as after a
   * kill, and the database must not be closed, for SQLite would remove its log.
   */
  close(): Promise<boolean>;
  /** Lets go of the files and leaves them as they are. */
  abandon(): void;
}

export interface SqliteWriterOptions {
  readonly path: string;
  /** Whether SQLite's log was there before the file was opened. */
  readonly hasLeftLog: boolean;
  readonly change: StoreChange;
  /** Version of the last commit, as stored. */
  readonly readVersion: () => number;
  readonly syncLog: (log: Deno.FsFile) => Promise<void>;
  readonly sizes: SqliteSizes;
  readonly onUnnoted: (reason: string) => void;
  /** What was read lately may have been taken back. */
  readonly onRollback: () => void;
}

/** @throws {Error} when the redo log does not go with the store. */
export function openSqliteWriter(db: DatabaseSync, options: SqliteWriterOptions): SqliteWriter {
  const { path, sizes, readVersion } = options;
  // Commits leave the fsync of the log to `sync`; checkpoints sync on their own connection.
  // What is cleared is overwritten with zeros, in free pages too: it may have been erased by law.
  db.exec("PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON");
  const log = openSqliteLog(db, path);
  if (log.wasMoved) options.onUnnoted(giveUpSums(path, "nobody knows what a killed process moved"));
  const setVersion = db.prepare("UPDATE store SET version = ?1, version_again = ?1");
  const name = prepareRedoName(db, log);
  /** Absent while the disk has no room for it: then each commit ends a transaction of SQLite. */
  let redo: RedoLog | undefined;
  /** The next sync is that of SQLite's log: the last commit is there alone, or may be. */
  let isLogNext = options.hasLeftLog;
  let windowBytes = sizes.windowBytesAtFirst;
  /** Where the disk has not confirmed the transaction before, others wait from so much on. */
  const redoBytesMax = 2 * sizes.windowBytesMax;
  /** Of the redo log, since the last commit that went there. */
  let syncing: Promise<void> | undefined;

  function endWindow(redo: RedoLog): void {
    windowBytes = nextWindow(redo.bytes, log, sizes);
    redo.turn();
  }

  /** Brings back what no ended transaction has; without any, reading goes on. */
  function replay(): boolean {
    const id = name.read();
    const records = id === undefined ? [] : readRedoLog(path, id, readVersion());
    if (records.length === 0) {
      log.beginReading();
      return false;
    }
    log.startWriting();
    for (const record of records) {
      putBack(record, options.change);
      setVersion.run(record.version);
    }
    return true;
  }

  /**
   * After a kill, puts what the redo log has into SQLite's. On a full disk all that was kept can be
   * read all the same: the log stays until there is room, and what it has is told to nobody before
   * it is known to be on the disk.
   * @returns whether there was anything.
   */
  function recover(): boolean {
    if (name.read() === undefined) refuseNewerLog(path, readVersion());
    const isLeft = replay();
    if (isLeft) {
      try {
        log.endWriting();
      } catch {
        rollBack(false);
        for (const one of redoPathsOf(path)) {
          syncing = joinSyncs(syncing, syncFile(one, options.syncLog));
        }
        return true;
      }
      isLogNext = true;
    }
    beginLog();
    return isLeft;
  }

  /**
   * Begins a redo log in the place of one that has nothing of its own any more. Where the disk has
   * no room for it there is none until the next try.
   * @throws {Error} when the disk does not confirm SQLite's log.
   */
  function beginLog(): void {
    // What an older log had is on the disk in SQLite's before that is written over.
    if (name.read() !== undefined && !nameLog(null)) return;
    const id = name.draw();
    let begun: RedoLog;
    try {
      begun = createRedoLog(path, id);
    } catch {
      return;
    }
    if (nameLog(id)) redo = begun;
    else begun.close();
  }

  /** On the disk when this returns. False where SQLite could not write it. */
  function nameLog(id: Bytes | null): boolean {
    try {
      name.write(id);
    } catch {
      rollBack(false);
      return false;
    }
    log.file.syncDataSync();
    return true;
  }

  /** What is in no ended transaction goes with the one that failed, and is brought back. */
  function rollBack(isAppended: boolean): void {
    options.onRollback();
    // SQLite may have done what it said that it had not.
    isLogNext = true;
    try {
      if (isAppended) redo!.takeBack();
      log.rollBack();
      replay();
    } catch (cause) {
      throw new CommitsLost("What was committed could not be read again", { cause });
    }
  }

  function flush(): void {
    if (!log.isOpen) return;
    try {
      log.endWriting();
    } catch (error) {
      rollBack(false);
      throw error;
    }
  }

  async function sync(): Promise<void> {
    const [redoing, isOfLog] = [syncing, isLogNext];
    syncing = undefined;
    isLogNext = false;
    await redoing;
    if (!isOfLog) return;
    await options.syncLog(log.file);
    if (log.isOpen) return;
    if (redo === undefined) beginLog();
    else redo.restart();
  }

  /** Has the record synced while its rows are set. */
  function logged(into: RedoLog, version: number, onAppend: () => void): StoreChange {
    return appendingChange(options.change, version, (record) => {
      if (recordBytes(record) > sizes.recordBytesMax) return;
      into.append(record);
      onAppend();
      syncing = joinSyncs(syncing, options.syncLog(into.file));
    });
  }

  function commit(
    ...[version, apply, isBySingleKeys]: Parameters<SqliteWriter["commit"]>
  ): void {
    let isAppended = false;
    try {
      if (!log.isOpen) log.startWriting();
      const into = isBySingleKeys && redo !== undefined && redo.bytes < redoBytesMax
        ? redo
        : undefined;
      apply(into === undefined ? options.change : logged(into, version, () => isAppended = true));
      setVersion.run(version);
      if (!isAppended) {
        log.endWriting();
        isLogNext = true;
      } else if (into!.bytes >= windowBytes && into!.isOtherFree) {
        endWindow(into!);
      }
    } catch (error) {
      rollBack(isAppended);
      throw error;
    }
  }

  function truncateLog(): boolean {
    if (log.isOpen) return false;
    log.endReading();
    const isEmpty = log.truncate();
    log.beginReading();
    if (!isEmpty) return false;
    // One that was left on a full disk still has what was cleared since.
    if (redo === undefined) beginLog();
    else redo.empty();
    return redo !== undefined;
  }

  const hasRecovered = orClose(log.file, recover);
  return {
    hasLeftLog: options.hasLeftLog || hasRecovered,
    commit,
    flush,
    sync,
    syncAll() {
      isLogNext = true;
      return sync();
    },
    syncBehind() {
      if (redo === undefined || redo.isOtherFree) return undefined;
      const [behind, { turns }] = [redo, redo];
      return options.syncLog(log.file).then(() => behind.release(turns));
    },
    logFrames: () => log.frames,
    truncateLog,
    async close() {
      const isClean = await closeWholly(db, log, name, options);
      redo?.close();
      if (isClean) removeRedoLog(path);
      return isClean;
    },
    abandon() {
      // Gives the lock of writers back, and writes nothing.
      tryAll(log.rollBack);
      redo?.close();
      log.file.close();
    },
  };
}

/**
 * Ends a transaction of SQLite whose commits have `bytes` in the redo log. The more of them met the
 * same pages, the longer the next one: gives how much that is to have.
 */
function nextWindow(bytes: number, log: SqliteLog, sizes: SqliteSizes): number {
  const before = log.frames;
  log.endWriting();
  // SQLite may have started its log anew.
  const pages = log.frames > before ? log.frames - before : log.frames;
  const fitting = bytes * sizes.pagesWanted / Math.max(1, pages);
  return Math.min(Math.max(sizes.windowBytesMin, fitting), sizes.windowBytesMax);
}

/** Moves all that was committed to the database, which is then on the disk, and cuts the log. */
async function closeWholly(
  db: DatabaseSync,
  log: SqliteLog,
  name: RedoName,
  { path, syncLog, onUnnoted }: SqliteWriterOptions,
): Promise<boolean> {
  const database = Deno.openSync(path, { read: true, write: true });
  let note: PageNote | undefined;
  try {
    if (!tryAll(() => name.write(null), log.endReading)) return false;
    await syncLog(log.file);
    db.exec("PRAGMA synchronous = FULL");
    note = openPageNotes(path, log.file).begin();
    const moved = log.moveAll();
    if (moved === undefined) return false;
    note.note(moved, prepareMoment(db)());
    await note.sync();
    if (note.failure !== undefined) onUnnoted(note.failure);
    // SQLite takes pages for moved that another connection moved, and does not sync them again.
    await database.syncData();
    return log.truncate();
  } finally {
    note?.end();
    // Only now, for closing it takes away the locks that SQLite has on the file in this process.
    database.close();
    log.file.close();
  }
}

function putBack({ cleared, pairs }: RedoRecord, change: StoreChange): void {
  for (const key of cleared) change.clear(key);
  change.setAll(pairs as Bytes[]);
}

function orClose<T>(file: Deno.FsFile, open: () => T): T {
  try {
    return open();
  } catch (error) {
    file.close();
    throw error;
  }
}

/** A change whose record is told before the rows are set. */
function appendingChange(
  change: StoreChange,
  version: number,
  append: (record: RedoRecord) => void,
): StoreChange {
  const cleared: Bytes[] = [];
  return {
    ...change,
    clear(key) {
      cleared.push(key);
      change.clear(key);
    },
    setAll(pairs) {
      append({ version, cleared, pairs });
      change.setAll(pairs);
    },
  };
}

async function syncFile(path: string, sync: SqliteWriterOptions["syncLog"]): Promise<void> {
  using file = Deno.openSync(path, { read: true, write: true });
  await sync(file);
}

/** Whether all of it went well. */
function tryAll(...steps: readonly (() => void)[]): boolean {
  try {
    for (const step of steps) step();
    return true;
  } catch {
    return false;
  }
}

/** A sync that nobody has waited for must have done its work too. */
function joinSyncs(earlier: Promise<void> | undefined, next: Promise<void>): Promise<void> {
  const both = earlier === undefined ? next : earlier.then(() => next);
  // Where a commit fails after all, nobody waits for it.
  both.catch(() => {});
  return both;
}
