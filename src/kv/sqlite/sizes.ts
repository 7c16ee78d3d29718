/**
 * How much the SQLite engine lets pile up in its two logs before it takes the next step. Chosen
 * by measurement; see `README.md`. Tests make the sizes small, so that what takes a server
 * minutes takes them a second.
 */

export interface SqliteSizes {
  /** Pages that the end of a SQLite transaction should write; commits wait for them. */
  readonly pagesWanted: number;
  /**
   * A SQLite transaction ends when its commits have this much in the redo log: at first, at
   * least and at most.
   */
  readonly windowBytesAtFirst: number;
  readonly windowBytesMin: number;
  readonly windowBytesMax: number;
  /** A larger commit would be written twice for nothing, so it ends the SQLite transaction. */
  readonly recordBytesMax: number;
  /** Pages in the WAL from which on a pass is worth it: 24 MB, and up to four times as many. */
  readonly startFrames: number;
  /** Commits are held while this many pages are moved and synced, for a few milliseconds. */
  readonly finishFrames: number;
  /** From here on commits wait for the passes: many short pauses instead of a long one. */
  readonly slowFrames: number;
  /**
   * At this length commits are held for the pass under way; then all is moved, and old versions
   * are given up.
   */
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
