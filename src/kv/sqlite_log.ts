/**
 * SQLite's own log, the `-wal` file, as the connection that writes sees it: transactions of SQLite
 * that begin and end, how long the log is, and what empties it. Used by `sqlite_writer.ts` alone.
 */

import type { DatabaseSync } from "node:sqlite";

export interface SqliteLog {
  /** A transaction of SQLite is open in which something may be written. */
  readonly isOpen: boolean;
  /** Pages in the log, whether or not they were moved to the database already. */
  readonly frames: number;
  /**
   * Whether somebody has moved frames of this log before it was opened: the process before was
   * killed, while another one had the store open and so kept what SQLite knows of its log.
   */
  readonly wasMoved: boolean;
  /** Between commits a read transaction stays open: each read saves taking and giving a lock. */
  beginReading(): void;
  endReading(): void;
  startWriting(): void;
  /** Ends what was written, which is then in the log, and goes on reading. */
  endWriting(): void;
  /** Takes back what is in no ended transaction. Nothing is open then. */
  rollBack(): void;
  /**
   * Moves the log to the database, synced by SQLite as far as it moved it. Gives how many frames
   * there are, if all are moved now.
   */
  moveAll(): number | undefined;
  /** Empties the log, all of which was moved; false where somebody still reads in it. */
  truncate(): boolean;
  /** Of the `-wal` file. */
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
  let isOpen = false;
  let frames = 0;

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

  function hasMoved(): boolean {
    try {
      return (countFrames.get() as { checkpointed: number }).checkpointed > 0;
    } catch {
      return true;
    }
  }

  frames = countLogFrames();
  const wasMoved = hasMoved();
  return {
    file,
    wasMoved,
    get isOpen() {
      return isOpen;
    },
    get frames() {
      return frames;
    },
    beginReading: () => void begin.run(),
    endReading,
    startWriting() {
      // A new transaction sees whether all of the log was moved and may then start it anew.
      endReading();
      beginWrite.run();
      isOpen = true;
    },
    endWriting() {
      commit.run();
      isOpen = false;
      // Before the next read: in the middle of reading SQLite does not tell.
      frames = countLogFrames();
      begin.run();
    },
    rollBack() {
      if (db.isTransaction) db.exec("ROLLBACK");
      isOpen = false;
    },
    moveAll() {
      try {
        const { log, checkpointed } = move.get() as { log: number; checkpointed: number };
        return checkpointed === log ? log : undefined;
      } catch {
        return undefined;
      }
    },
    truncate() {
      try {
        const { busy, log } = cut.get() as { busy: number; log: number };
        if (busy !== 0 || log > 0) return false;
        frames = 0;
        return true;
      } catch {
        return false;
      }
    },
  };
}
