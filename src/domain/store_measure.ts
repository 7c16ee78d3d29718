/** What operators are told about the store: whether it answers, and what waits in it. */

import type { QueueMeasure } from "./queue_measure.ts";

export interface StoreMeasure {
  /** Whether the store answered in time; without that, the rest is empty. */
  readonly isUp: boolean;
  readonly queues: readonly QueueMeasure[];
  /** Attempts to commit that lost against others, since this process opened the store. */
  readonly conflicts?: number;
  /** Bytes on this machine's disk by part of the store; absent where the store is elsewhere. */
  readonly bytes?: Readonly<Record<string, number>>;
}
