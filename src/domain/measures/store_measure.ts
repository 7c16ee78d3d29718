/** What operators see of the store: whether it answers, and what waits in it. */

import type { QueueMeasure } from "./queue_measure.ts";

/** What the archive of an embedded store does. */
export interface ArchiveMeasure {
  /** How long the oldest commit that is not in the archive has waited. */
  readonly behindSeconds: number;
  /** When the last full backup was complete, in seconds since 1970; undefined: none yet. */
  readonly fullAt: number | undefined;
  /** Writes that the disk of the archive refused, and files that were damaged, since the start. */
  readonly failures: number;
  /** Commits are missing: nothing behind them can be restored before the next full backup. */
  readonly hasGap: boolean;
}

export interface StoreMeasure {
  /** Whether the store answered in time. If not, the other fields are empty. */
  readonly isUp: boolean;
  readonly queues: readonly QueueMeasure[];
  /** Commit attempts that lost a conflict, since this process opened the store. */
  readonly conflicts?: number;
  /** Bytes on this machine's disk, by part of the store; absent when the store is elsewhere. */
  readonly bytes?: Readonly<Record<string, number>>;
}
