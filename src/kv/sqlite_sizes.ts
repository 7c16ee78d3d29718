/**
 * How much the SQLite engine lets pile up, in its two logs, before it does the next step. Chosen by
 * measurement; see `README.md`. Tests make them small, so that what takes a server minutes takes
 * them a second.
 */

export interface SqliteSizes {
  /** Pages that the end of a transaction of SQLite is to write: that takes 4 us each. */
  readonly pagesWanted: number;
  /** It ends when its commits have so much in the redo log, at first, at least and at most. */
  readonly windowBytesAtFirst: number;
  readonly windowBytesMin: number;
  readonly windowBytesMax: number;
  /** What is larger would be written twice for nothing: with it the transaction of SQLite ends. */
  readonly recordBytesMax: number;
  /** Pages in SQLite's log from which on a pass is worth it: 24 MB, four times as many at most. */
  readonly startFrames: number;
  /** Commits are held while so many are moved and synced: 1 to 10 ms. */
  readonly finishFrames: number;
  /** From here on commits wait for the passes: many short pauses instead of a long one. */
  readonly slowFrames: number;
  /** So long a log waits for the pass under way; then all is moved, and old versions given up. */
  readonly logFramesMax: number;
  /** How long a close waits for the pass under way, in milliseconds. */
  readonly passMsMax: number;
}

export const SQLITE_SIZES: SqliteSizes = {
  pagesWanted: 2500,
  windowBytesAtFirst: 2 * 1024 * 1024,
  windowBytesMin: 1024 * 1024,
  windowBytesMax: 8 * 1024 * 1024,
  recordBytesMax: 512 * 1024,
  startFrames: 6000,
  finishFrames: 200,
  slowFrames: 10_000,
  logFramesMax: 16_000,
  passMsMax: 1_000,
};
