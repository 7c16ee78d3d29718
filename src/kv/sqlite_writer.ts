/**
 * The one connection that writes the SQLite file. A transaction of SQLite stays open over many
 * commits, which are durable by the redo log meanwhile: so a page that they change again and again
 * is written once, and while the disk confirms a commit its rows are already put into their pages.
 * Readers of this connection see all of it; others see what ended.
 */

import type { DatabaseSync } from "node:sqlite";
import type { Bytes } from "./engine.ts";
import {
  createRedoLog,
  readRedoLog,
  type RedoLog,
  redoPathsOf,
  removeRedoLog,
} from "./redo_log.ts";
import { recordBytes, REDO_ID_BYTES, type RedoRecord } from "./redo_record.ts";
import type { StoreChange } from "./sqlite_change.ts";
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
   * cannot, and rejects where the disk does not confirm it. All files are then left as after a kill,
   * and the database must not be closed, for SQLite would remove its log.
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
  /** What was read lately may have been taken back. */
  readonly onRollback: () => void;
}

/** @throws {Error} when the redo log does not go with the store. */
export function openSqliteWriter(
  db: DatabaseSync,
  { path, hasLeftLog, change, readVersion, syncLog, sizes, onRollback }: SqliteWriterOptions,
): SqliteWriter {
  const begin = db.prepare("BEGIN");
  const beginWrite = db.prepare("BEGIN IMMEDIATE");
  const commit = db.prepare("COMMIT");
  const countFrames = db.prepare("PRAGMA wal_checkpoint(NOOP)");
  const moveAll = db.prepare("PRAGMA wal_checkpoint(PASSIVE)");
  const truncate = db.prepare("PRAGMA wal_checkpoint(TRUNCATE)");
  const setVersion = db.prepare("UPDATE store SET version = ?1, version_again = ?1");
  const readRedoId = db.prepare("SELECT redo FROM store");
  const setRedoId = db.prepare("UPDATE store SET redo = ?");
  const drawId = db.prepare(`SELECT randomblob(${REDO_ID_BYTES}) AS id`);
  const log = Deno.openSync(`${path}-wal`, { read: true, write: true });
  /** Absent while the disk has no room for it: then each commit ends a transaction of SQLite. */
  let redo: RedoLog | undefined;
  /** Of commits and, where the process before was killed, of what it left. */
  let frames = 0;
  /** A transaction of SQLite is open in which there are commits. */
  let isOpen = false;
  /** The next sync is that of SQLite's log: the last commit is there alone, or may be. */
  let isLogNext = hasLeftLog;
  let windowBytes = sizes.windowBytesAtFirst;
  /** Where the disk has not confirmed the transaction before, others wait from so much on. */
  const redoBytesMax = 2 * sizes.windowBytesMax;
  /** Of the redo log, since the last commit that went there. */
  let syncing: Promise<void> | undefined;

  /** Between commits a read transaction stays open: each read saves taking and giving a lock. */
  function endReading(): void {
    if (db.isTransaction) commit.run();
  }

  function startWriting(): void {
    // A new transaction sees whether all of the log was moved and may then start it anew.
    endReading();
    beginWrite.run();
    isOpen = true;
  }

  function endWriting(): void {
    commit.run();
    isOpen = false;
    // Before the next read: in the middle of reading SQLite does not tell.
    frames = countLogFrames();
    begin.run();
  }

  function countLogFrames(): number {
    try {
      return (countFrames.get() as { log: number }).log;
    } catch {
      // The commit before is done whatever this says, and the next one counts again.
      return frames;
    }
  }

  /** The more commits meet the same pages, the longer a transaction. */
  function endWindow(redo: RedoLog): void {
    const before = frames;
    endWriting();
    // SQLite may have started its log anew.
    const pages = frames > before ? frames - before : frames;
    const fitting = redo.bytes * sizes.pagesWanted / Math.max(1, pages);
    windowBytes = Math.min(Math.max(sizes.windowBytesMin, fitting), sizes.windowBytesMax);
    redo.turn();
  }

  /** The log that the store names: it has commits that no ended transaction has. */
  function namedLog(): Bytes | undefined {
    return (readRedoId.get() as { redo: Bytes | null }).redo ?? undefined;
  }

  /** Brings back what no ended transaction has; without any, reading goes on. */
  function replay(): boolean {
    const id = namedLog();
    const records = id === undefined ? [] : readRedoLog(path, id, readVersion());
    if (records.length === 0) {
      begin.run();
      return false;
    }
    startWriting();
    for (const { version, cleared, pairs } of records) {
      for (const key of cleared) change.clear(key);
      change.setAll(pairs as Bytes[]);
      setVersion.run(version);
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
    const isLeft = replay();
    if (isLeft) {
      try {
        endWriting();
      } catch {
        rollBack(false);
        for (const one of redoPathsOf(path)) syncing = joinSyncs(syncing, syncFile(one));
        return true;
      }
      isLogNext = true;
    }
    beginLog();
    return isLeft;
  }

  async function syncFile(path: string): Promise<void> {
    using file = Deno.openSync(path, { read: true, write: true });
    await syncLog(file);
  }

  /**
   * Begins a redo log in the place of one that has nothing of its own any more. Where the disk has
   * no room for it there is none until the next try.
   * @throws {Error} when the disk does not confirm SQLite's log.
   */
  function beginLog(): void {
    const isNamed = namedLog() !== undefined;
    // What an older log had must be on the disk in SQLite's before that is written over.
    if (isNamed) log.syncDataSync();
    if (isNamed && !nameLog(null)) return;
    const { id } = drawId.get() as { id: Bytes };
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
      startWriting();
      setRedoId.run(id);
      endWriting();
    } catch {
      rollBack(false);
      return false;
    }
    log.syncDataSync();
    return true;
  }

  /** What is in no ended transaction goes with the one that failed, and is brought back. */
  function rollBack(isAppended: boolean): void {
    onRollback();
    // SQLite may have done what it said that it had not.
    isLogNext = true;
    try {
      if (isAppended) redo!.takeBack();
      if (db.isTransaction) db.exec("ROLLBACK");
      isOpen = false;
      replay();
    } catch (cause) {
      throw new CommitsLost("What was committed could not be read again", { cause });
    }
  }

  function flush(): void {
    if (!isOpen) return;
    try {
      endWriting();
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
    await syncLog(log);
    if (isOpen) return;
    if (redo === undefined) beginLog();
    else redo.restart();
  }

  /** Tells the redo log, and has it synced, before the rows are set. */
  function logged(into: RedoLog, version: number, onAppend: () => void): StoreChange {
    const cleared: Bytes[] = [];
    return {
      ...change,
      clear(key) {
        cleared.push(key);
        change.clear(key);
      },
      setAll(pairs) {
        const record: RedoRecord = { version, cleared, pairs };
        if (recordBytes(record) <= sizes.recordBytesMax) {
          into.append(record);
          onAppend();
          syncing = joinSyncs(syncing, syncLog(into.file));
        }
        change.setAll(pairs);
      },
    };
  }

  /** Whether the log, all of which was moved, is empty now. Reading has ended. */
  function truncateWholly(): boolean {
    try {
      const { busy, log: left } = truncate.get() as { busy: number; log: number };
      if (busy !== 0 || left > 0) return false;
      frames = 0;
      return true;
    } catch {
      return false;
    }
  }

  function truncateLog(): boolean {
    if (isOpen) return false;
    endReading();
    const isEmpty = truncateWholly();
    begin.run();
    if (!isEmpty) return false;
    // One that was left on a full disk still has what was cleared since.
    if (redo === undefined) beginLog();
    else redo.empty();
    return redo !== undefined;
  }

  async function close(): Promise<boolean> {
    const database = Deno.openSync(path, { read: true, write: true });
    try {
      if (!unnameLog()) return false;
      await syncLog(log);
      if (!moveWholly()) return false;
      // SQLite takes pages for moved that another connection moved, and does not sync them again.
      await database.syncData();
      if (!truncateWholly()) return false;
      redo?.close();
      removeRedoLog(path);
      return true;
    } finally {
      // Only now, for closing it takes away the locks that SQLite has on the file in this process.
      database.close();
      log.close();
    }
  }

  /** With all that was committed, in SQLite's log. */
  function unnameLog(): boolean {
    try {
      if (!isOpen) startWriting();
      setRedoId.run(null);
      endWriting();
      endReading();
      return true;
    } catch {
      return false;
    }
  }

  /** Whether all of SQLite's log is in the database now. */
  function moveWholly(): boolean {
    try {
      db.exec("PRAGMA synchronous = FULL");
      const { log: all, checkpointed } = moveAll.get() as { log: number; checkpointed: number };
      return checkpointed === all;
    } catch {
      return false;
    }
  }

  // Commits leave the fsync of the log to `sync`; checkpoints sync on their own connection.
  // What is cleared is overwritten with zeros, in free pages too: it may have been erased by law.
  db.exec("PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON");
  frames = countLogFrames();
  let hasRecovered: boolean;
  try {
    hasRecovered = recover();
  } catch (error) {
    log.close();
    throw error;
  }

  return {
    hasLeftLog: hasLeftLog || hasRecovered,
    commit(version, apply, isBySingleKeys) {
      let isAppended = false;
      try {
        if (!isOpen) startWriting();
        const into = isBySingleKeys && redo !== undefined && redo.bytes < redoBytesMax
          ? redo
          : undefined;
        apply(into === undefined ? change : logged(into, version, () => isAppended = true));
        setVersion.run(version);
        if (!isAppended) {
          endWriting();
          isLogNext = true;
        } else if (into!.bytes >= windowBytes && into!.isOtherFree) {
          endWindow(into!);
        }
      } catch (error) {
        rollBack(isAppended);
        throw error;
      }
    },
    flush,
    sync,
    syncAll() {
      isLogNext = true;
      return sync();
    },
    syncBehind() {
      if (redo === undefined || redo.isOtherFree) return undefined;
      const [behind, { turns }] = [redo, redo];
      return syncLog(log).then(() => behind.release(turns));
    },
    logFrames: () => frames,
    truncateLog,
    close,
    abandon() {
      try {
        // Gives the lock of writers back, and writes nothing.
        if (db.isTransaction) db.exec("ROLLBACK");
      } catch {
        // It ends with the process.
      }
      redo?.close();
      log.close();
    },
  };
}

/** A sync that nobody has waited for must have done its work too. */
function joinSyncs(earlier: Promise<void> | undefined, next: Promise<void>): Promise<void> {
  const both = earlier === undefined ? next : earlier.then(() => next);
  // Where a commit fails after all, nobody waits for it.
  both.catch(() => {});
  return both;
}
