/**
 * The only connection that writes the SQLite file, and how its commits become durable. A SQLite
 * transaction stays open over many commits, which the redo log makes durable meanwhile. So a
 * page that they change again and again is written once, and rows are put into their pages while
 * the disk confirms their commit. Readers on this connection see all commits; others see what
 * has ended.
 */

import type { DatabaseSync } from "node:sqlite";
import type { Bytes } from "../engine.ts";
import { giveUpSums, openPageNotes, type PageNote } from "./pages/page_notes.ts";
import { readRedoLog, refuseNewerLog } from "./left_redo_log.ts";
import {
  createRedoLog,
  type RedoLog,
  redoPathsOf,
  type RedoRecord,
  removeRedoLog,
} from "./redo_log.ts";
import type { StoreChange } from "./pairs.ts";
import { openSqliteLog, type SqliteLog } from "./wal.ts";
import { prepareMoment, prepareRedoName, type RedoName } from "./store_row.ts";
import type { SqliteSizes } from "./sizes.ts";

/** Some committed data is no longer in the store, so nothing may be read or written. */
export class CommitsLost extends Error {
  override readonly name = "CommitsLost";
}

export interface SqliteWriter {
  /**
   * Makes a commit, or throws and leaves the store as it was; durable only after `sync`.
   * @param isBySingleKeys whether it clears no range, so that the redo log can record it.
   * @throws {CommitsLost} when the commits before it could not be brought back.
   */
  commit(version: number, apply: (change: StoreChange) => void, isBySingleKeys: boolean): void;
  /** Ends the open SQLite transaction, for readers on other connections. */
  flush(): void;
  /** Resolves when every commit made before the call is on disk. Uses a thread of the runtime. */
  sync(): Promise<void>;
  /** Like `sync`, but also waits until everything that was flushed is on disk in the WAL. */
  syncAll(): Promise<void>;
  /**
   * Syncs what an ended SQLite transaction still owes to the disk, while others go on; undefined
   * if there is nothing.
   */
  syncBehind(): Promise<void> | undefined;
  /** Pages in the WAL, whether or not they were moved to the database already. */
  logFrames(): number;
  /** Empties both logs, all of which was moved; false if a reader still uses them. */
  truncateLog(): boolean;
  /**
   * Whether the previous process was killed and left commits in a log that may never have been
   * synced.
   */
  readonly hasLeftLog: boolean;
  /**
   * Puts everything into the database, syncs it and removes both logs. Resolves with false if
   * SQLite cannot, and rejects if the disk does not confirm it. All files are then left as after
   * a kill, and the database must not be closed, because SQLite would remove the WAL.
   */
  close(): Promise<boolean>;
  /** Releases the files and leaves them as they are. */
  abandon(): void;
}

export interface SqliteWriterOptions {
  readonly path: string;
  /** Whether the WAL was there before the file was opened. */
  readonly hasLeftLog: boolean;
  readonly change: StoreChange;
  /** Version of the last commit, as stored. */
  readonly readVersion: () => number;
  /** Replaces the sync of a log. */
  readonly syncLog?: (log: Deno.FsFile) => Promise<void>;
  readonly sizes: SqliteSizes;
  readonly onUnnoted: (reason: string) => void;
  /** Called when recently read values may have been taken back. */
  readonly onRollback: () => void;
}

/** @throws {Error} when the redo log does not belong to the store. */
export function openSqliteWriter(db: DatabaseSync, options: SqliteWriterOptions): SqliteWriter {
  const { path, sizes, readVersion, change, syncLog = syncData } = options;
  // Commits leave the fsync of the WAL to `sync`; checkpoints sync on their own connection.
  // Cleared data is overwritten with zeros, in free pages too: it may have been erased by law.
  db.exec("PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON");
  const log = openSqliteLog(db, path);
  if (log.wasMoved) options.onUnnoted(giveUpSums(path, "nobody knows what a killed process moved"));
  const setVersion = db.prepare("UPDATE store SET version = ?1, version_again = ?1");
  const name = prepareRedoName(db, log);
  /** Absent while the disk has no room for it; then each commit ends a SQLite transaction. */
  let redo: RedoLog | undefined;
  /** The next sync must be of the WAL: the last commit is only there, or may be. */
  let isLogNext = options.hasLeftLog;
  let windowBytes = sizes.windowBytesAtFirst;
  /** Redo log size at which commits wait for the WAL instead; reached while its sync is slow. */
  const redoBytesMax = 2 * sizes.windowBytesMax;
  /** Whether the commit in the making is in the redo log. */
  let isAppended = false;
  /** The sync of the redo log that its last commit needs. */
  let syncing: Promise<void> | undefined;

  function endWindow(redo: RedoLog): void {
    windowBytes = nextWindow(redo.bytes, log, sizes);
    redo.turn();
  }

  /** Replays commits whose SQLite transaction did not end; if there are none, begins reading. */
  function replay(): boolean {
    const id = name.read();
    const records = id === undefined ? [] : readRedoLog(path, id, readVersion());
    if (records.length === 0) {
      log.beginReading();
      return false;
    }
    log.startWriting();
    for (const record of records) {
      putBack(record, change);
      setVersion.run(record.version);
    }
    return true;
  }

  /**
   * After a kill, puts what the redo log has into the WAL. On a full disk everything that was
   * kept can still be read: the redo log stays until there is room, and what it has is not
   * revealed before it is known to be on disk.
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
          syncing = joinSyncs(syncing, syncFile(one, syncLog));
        }
        return true;
      }
      isLogNext = true;
    }
    beginLog();
    return isLeft;
  }

  /**
   * Begins a redo log in place of one whose content is all in the WAL. If the disk has no room
   * for it, there is none until the next try.
   * @throws {Error} when the disk does not confirm the WAL.
   */
  function beginLog(): void {
    // What an older redo log had must be on disk in the WAL before that log is overwritten. If
    // none is named, a process that was killed while it closed may have taken the name back there.
    if (name.read() === undefined) log.file.syncDataSync();
    else if (!nameLog(null)) return;
    const id = name.draw();
    let begun: RedoLog;
    try {
      begun = createRedoLog(path, id);
    } catch {
      return;
    }
    begun.noteBase(readVersion());
    if (nameLog(id)) redo = begun;
    else begun.close();
  }

  /** The name is on disk when this returns. False if SQLite could not write it. */
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

  /** Rolls back the open SQLite transaction, then replays its commits without the failed one. */
  function rollBack(wasAppended: boolean): void {
    options.onRollback();
    // SQLite may have done what it reported as failed.
    isLogNext = true;
    try {
      if (wasAppended) redo!.takeBack();
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
    // What a flush puts into the WAL meanwhile is not confirmed, and only the redo log has it.
    const isAll = !log.isOpen;
    await syncLog(log.file);
    if (!isAll || log.isOpen) return;
    if (redo === undefined) return beginLog();
    redo.restart();
    redo.noteBase(readVersion());
  }

  /** The change of a commit, which has its record synced while its rows are set. */
  function logged(into: RedoLog, version: number): StoreChange {
    const cleared: Bytes[] = [];
    return {
      ...change,
      clear(key) {
        cleared.push(key);
        change.clear(key);
      },
      setAll(pairs) {
        isAppended = into.append({ version, cleared, pairs }, sizes.recordBytesMax);
        if (isAppended) syncing = joinSyncs(syncing, syncLog(into.file));
        change.setAll(pairs);
      },
    };
  }

  function commit(
    ...[version, apply, isBySingleKeys]: Parameters<SqliteWriter["commit"]>
  ): void {
    isAppended = false;
    try {
      if (!log.isOpen) log.startWriting();
      const into = isBySingleKeys && redo !== undefined && redo.bytes < redoBytesMax
        ? redo
        : undefined;
      apply(into === undefined ? change : logged(into, version));
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
      return syncLog(log.file).then(() => behind.release(turns));
    },
    logFrames: () => log.frames,
    truncateLog() {
      if (log.isOpen) return false;
      log.endReading();
      const isEmpty = log.truncate();
      log.beginReading();
      if (!isEmpty) return false;
      // A redo log left over from a full disk still has what was cleared since; begin a new one.
      if (redo === undefined) beginLog();
      else {
        redo.empty();
        redo.noteBase(readVersion());
      }
      return redo !== undefined;
    },
    async close() {
      const isClean = await closeWholly(db, log, name, options);
      redo?.close();
      if (isClean) removeRedoLog(path);
      return isClean;
    },
    abandon() {
      // Releases the write lock without writing anything.
      tryAll(log.rollBack);
      redo?.close();
      log.file.close();
    },
  };
}

/**
 * Ends a SQLite transaction whose commits have `bytes` in the redo log. Returns how much the
 * next one should have: the more commits shared the same pages, the longer it may last.
 */
function nextWindow(bytes: number, log: SqliteLog, sizes: SqliteSizes): number {
  const before = log.frames;
  log.endWriting();
  // SQLite may have restarted the WAL.
  const pages = log.frames > before ? log.frames - before : log.frames;
  const fitting = bytes * sizes.pagesWanted / Math.max(1, pages);
  return Math.min(Math.max(sizes.windowBytesMin, fitting), sizes.windowBytesMax);
}

/** Moves all committed data to the database, syncs it there, and cuts the WAL. */
async function closeWholly(
  db: DatabaseSync,
  log: SqliteLog,
  name: RedoName,
  { path, syncLog = syncData, onUnnoted }: SqliteWriterOptions,
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
    // Only now, because closing it drops the locks that SQLite holds on the file in this process.
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

function syncData(log: Deno.FsFile): Promise<void> {
  return log.syncData();
}

async function syncFile(path: string, sync: typeof syncData): Promise<void> {
  using file = Deno.openSync(path, { read: true, write: true });
  await sync(file);
}

/** Whether all steps succeeded. */
function tryAll(...steps: readonly (() => void)[]): boolean {
  try {
    for (const step of steps) step();
    return true;
  } catch {
    return false;
  }
}

/** A sync that was not awaited yet must have succeeded too. */
function joinSyncs(earlier: Promise<void> | undefined, next: Promise<void>): Promise<void> {
  const both = earlier === undefined ? next : earlier.then(() => next);
  // If a commit fails after all, nothing awaits its sync.
  both.catch(() => {});
  return both;
}
