/** What operators see of the store: whether it answers, and what waits in it. */

import type { QueueMeasure } from "./queue_measure.ts";

export interface StoreMeasure {
  /** Whether the store answered in time. If not, the other fields are empty. */
  readonly isUp: boolean;
  readonly queues: readonly QueueMeasure[];
  /** Commit attempts that lost a conflict, since this process opened the store. */
  readonly conflicts?: number;
  /** Bytes on this machine's disk, by part of the store; absent when the store is elsewhere. */
  readonly bytes?: Readonly<Record<string, number>>;
}
