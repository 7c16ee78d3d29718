/**
 * The one connection that writes the SQLite file. A transaction of SQLite stays open over many
 * commits, which are durable by the redo log meanwhile: so a page that they change again and again
 * is written once, and while the disk confirms a commit its rows are already put into their pages.
 * Readers of this connection see all of it; others see what ended.
 */

import type { DatabaseSync } from "node:sqlite";
import type { Bytes } from "./engine.ts";
import { openRedoLog, recordBytes, type RedoRecord } from "./redo_log.ts";
import type { StoreChange } from "./sqlite_change.ts";

/** Pages that the end of a transaction of SQLite is to write: that takes 4 us each. */
const pagesWanted = 2500;
/** It ends when its commits have so much in the redo log, at first, at least and at most. */
const windowBytesAtFirst = 2 * 1024 * 1024;
const windowBytesMin = 1024 * 1024;
const windowBytesMax = 8 * 1024 * 1024;
/** Where the disk has not confirmed the transaction before, others wait from so much on. */
const redoBytesMax = 2 * windowBytesMax;
/** What is larger would be written twice for nothing: with it the transaction of SQLite ends. */
const recordBytesMax = 512 * 1024;

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
  close(): void;
}

export interface SqliteWriterOptions {
  readonly path: string;
  /** Whether SQLite's log was there before the file was opened. */
  readonly hasLeftLog: boolean;
  readonly change: StoreChange;
  /** Version of the last commit, as stored. */
  readonly readVersion: () => number;
  readonly syncLog: (log: Deno.FsFile) => Promise<void>;
  /** What was read lately may have been taken back. */
  readonly onRollback: () => void;
}

/** @throws {Error} when the redo log does not go with the store. */
export function openSqliteWriter(
  db: DatabaseSync,
  { path, hasLeftLog, change, readVersion, syncLog, onRollback }: SqliteWriterOptions,
): SqliteWriter {
  const begin = db.prepare("BEGIN");
  const beginWrite = db.prepare("BEGIN IMMEDIATE");
  const commit = db.prepare("COMMIT");
  const countFrames = db.prepare("PRAGMA wal_checkpoint(NOOP)");
  const truncate = db.prepare("PRAGMA wal_checkpoint(TRUNCATE)");
  const setVersion = db.prepare("UPDATE store SET version = ?1, version_again = ?1");
  const redo = openRedoLog(path);
  const log = Deno.openSync(`${path}-wal`, { read: true, write: true });
  /** Of commits and, where the process before was killed, of what it left. */
  let frames = 0;
  /** A transaction of SQLite is open in which there are commits. */
  let isOpen = false;
  /** The next sync is that of SQLite's log: the last commit is there alone, or may be. */
  let isLogNext = hasLeftLog;
  let windowBytes = windowBytesAtFirst;
  /** After a start on a full disk nothing more goes to the redo log before SQLite has all of it. */
  let isFull = false;
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
  function endWindow(): void {
    const before = frames;
    endWriting();
    // SQLite may have started its log anew.
    const pages = frames > before ? frames - before : frames;
    const fitting = redo.bytes * pagesWanted / Math.max(1, pages);
    windowBytes = Math.min(Math.max(windowBytesMin, fitting), windowBytesMax);
    redo.turn();
  }

  /** Brings back what no ended transaction has; without any, reading goes on. */
  function replay(): boolean {
    const records = redo.readAfter(readVersion());
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

  /** After a kill. @returns whether there was anything. */
  function recover(): boolean {
    try {
      if (!replay()) return false;
      try {
        endWriting();
        isLogNext = true;
      } catch {
        // On a full disk all that was kept can be read. The redo log stays as it is until there is
        // room, and what it has is told to nobody before it is known to be on the disk.
        rollBack(false);
        isFull = true;
        for (const file of redo.files) syncing = joinSyncs(syncing, syncLog(file));
      }
      return true;
    } catch (error) {
      redo.close(true);
      log.close();
      throw error;
    }
  }

  /** What is in no ended transaction goes with the one that failed, and is brought back. */
  function rollBack(isAppended: boolean): void {
    onRollback();
    // SQLite may have done what it said that it had not.
    isLogNext = true;
    try {
      if (isAppended) redo.takeBack();
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
    redo.restart();
    isFull = false;
  }

  /** Tells the redo log, and has it synced, before the rows are set. */
  function logged(version: number, onAppend: () => void): StoreChange {
    const cleared: Bytes[] = [];
    return {
      ...change,
      clear(key) {
        cleared.push(key);
        change.clear(key);
      },
      setAll(pairs) {
        const record: RedoRecord = { version, cleared, pairs };
        if (recordBytes(record) <= recordBytesMax) {
          redo.append(record);
          onAppend();
          syncing = joinSyncs(syncing, syncLog(redo.file));
        }
        change.setAll(pairs);
      },
    };
  }

  // Commits leave the fsync of the log to `sync`; checkpoints sync on their own connection.
  // What is cleared is overwritten with zeros, in free pages too: it may have been erased by law.
  db.exec("PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON");
  frames = countLogFrames();
  const hasRecovered = recover();

  return {
    hasLeftLog: hasLeftLog || hasRecovered,
    commit(version, apply, isBySingleKeys) {
      let isAppended = false;
      try {
        if (!isOpen) startWriting();
        const isLogged = isBySingleKeys && !isFull && redo.bytes < redoBytesMax;
        apply(isLogged ? logged(version, () => isAppended = true) : change);
        setVersion.run(version);
        if (!isAppended) {
          endWriting();
          isLogNext = true;
        } else if (redo.bytes >= windowBytes && redo.isOtherFree) {
          endWindow();
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
      if (redo.isOtherFree) return undefined;
      const { turns } = redo;
      return syncLog(log).then(() => redo.release(turns));
    },
    logFrames: () => frames,
    truncateLog() {
      if (isOpen) return false;
      endReading();
      try {
        const { busy, log: left } = truncate.get() as { busy: number; log: number };
        if (busy !== 0 || left > 0) return false;
        frames = 0;
        redo.empty();
        return true;
      } catch {
        return false;
      } finally {
        begin.run();
      }
    },
    close() {
      let isNeeded = true;
      try {
        flush();
        endReading();
        isNeeded = (truncate.get() as { busy: number }).busy !== 0;
      } catch {
        // The logs are as durable as the database; the next start reads them.
      } finally {
        redo.close(isNeeded);
        log.close();
      }
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
