/**
 * The WAL, SQLite's own log in the `-wal` file, as the writing connection sees it. It begins and
 * ends SQLite transactions, measures the WAL, and empties it. Used by `sqlite/writer.ts` alone.
 */

import type { DatabaseSync } from "node:sqlite";

export interface SqliteLog {
  /** Whether a SQLite transaction is open in which something may be written. */
  readonly isOpen: boolean;
  /** Pages in the WAL, whether or not they were moved to the database already. */
  readonly frames: number;
  /**
   * Whether frames of this WAL were moved before it was opened here. That means that the
   * previous process was killed while another one had the store open and so kept what SQLite
   * knows of its WAL.
   */
  readonly wasMoved: boolean;
  /**
   * Between commits a read transaction stays open, so that no read has to take and release a
   * lock.
   */
  beginReading(): void;
  endReading(): void;
  startWriting(): void;
  /** Ends the write transaction, which is then in the WAL, and goes on reading. */
  endWriting(): void;
  /** Rolls back the open transaction, if there is one. Afterwards none is open. */
  rollBack(): void;
  /**
   * Moves the WAL to the database; SQLite syncs what it moves. Returns the number of frames if
   * all of them are moved now.
   */
  moveAll(): number | undefined;
  /** Empties a WAL of which all was moved; false if a reader still uses it. */
  truncate(): boolean;
  /** The `-wal` file. */
  readonly file: Deno.FsFile;
}

export function openSqliteLog(db: DatabaseSync, path: string): SqliteLog {
  const begin = db.prepare("BEGIN");
  const beginWrite = db.prepare("BEGIN IMMEDIATE");
  const commit = db.prepare("COMMIT");
  const countFrames = db.prepare("PRAGMA wal_checkpoint(NOOP)");
  const move = db.prepare("PRAGMA wal_checkpoint(PASSIVE)");
  const cut = db.prepare("PRAGMA wal_checkpoint(TRUNCATE)");
  const file = Deno.openSync(`${path}-wal`, { read: true, write: true });

  function endReading(): void {
    if (db.isTransaction) commit.run();
  }

  function countLogFrames(): number {
    try {
      return (countFrames.get() as { log: number }).log;
    } catch {
      // The commit is done whatever this says, and the next one counts again.
      return log.frames;
    }
  }

  function hasMoved(): boolean {
    try {
      return (countFrames.get() as { checkpointed: number }).checkpointed > 0;
    } catch {
      return true;
    }
  }

  const log: { -readonly [Part in keyof SqliteLog]: SqliteLog[Part] } = {
    file,
    wasMoved: hasMoved(),
    isOpen: false,
    frames: 0,
    beginReading: () => void begin.run(),
    endReading,
    startWriting() {
      // A new transaction sees whether all of the WAL was moved, and may then restart it.
      endReading();
      beginWrite.run();
      log.isOpen = true;
    },
    endWriting() {
      commit.run();
      log.isOpen = false;
      // Counted before the next read begins: during one, SQLite does not tell.
      log.frames = countLogFrames();
      begin.run();
    },
    rollBack() {
      if (db.isTransaction) db.exec("ROLLBACK");
      log.isOpen = false;
    },
    moveAll() {
      try {
        const { log: all, checkpointed } = move.get() as { log: number; checkpointed: number };
        return checkpointed === all ? all : undefined;
      } catch {
        return undefined;
      }
    },
    truncate() {
      try {
        const { busy, log: left } = cut.get() as { busy: number; log: number };
        if (busy !== 0 || left > 0) return false;
        log.frames = 0;
        return true;
      } catch {
        return false;
      }
    },
  };
  log.frames = countLogFrames();
  return log;
}
