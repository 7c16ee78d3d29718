/** What workers drive, bound to one engine and one host. */

import type { DeliveryRunner } from "../commands/deliver_events.ts";
import type { TimerRunner } from "../commands/fire_schedule.ts";
import type { SnapshotKeeper } from "../commands/keep_snapshots.ts";
import type { Rebuilder } from "../commands/rebuild_snapshots.ts";
import type { ErrorRecords } from "../commands/record_error.ts";
import type { OutboxRunner } from "../commands/run_implications.ts";
import type { WorkShare } from "../commands/share_work.ts";
import { createSweeper } from "../commands/sweep.ts";
import type { QueueMeasure } from "../domain/queue_measure.ts";
import type { Host } from "../host.ts";
import type { Engine } from "../kv/engine.ts";
import { followOutbox } from "../queries/follow_outbox.ts";
import { measureQueues } from "../queries/measure_queues.ts";

/** What workers drive. Each gives how much it found to do. */
export interface BackgroundService {
  /** May take long, and so ends early once `isStopping` says so. */
  rebuildSnapshots(limit: number, isStopping?: () => boolean): Promise<number>;
  sweep(limit: number): Promise<number>;
  /**
   * Saves what nobody else can: folded states and error records that only the memory of this
   * process has. For every process that answers requests.
   */
  saveMemory(limit: number, isStopping?: () => boolean): Promise<number>;
  /** Does what written events have set off, where it is due; goes round with each call. */
  drainOutbox(limit: number, isStopping?: () => boolean): Promise<number>;
  /** Calls `wake` when a write has left such work to others; ends with the result. */
  followOutbox(wake: () => void): () => Promise<void>;
  /** Fires scheduled events and ends the waits of sagas. */
  drainTimers(limit: number, isStopping?: () => boolean): Promise<number>;
  /** Delivers events to listeners: begins with what is due; the rest goes on by itself. */
  drainDeliveries(isStopping?: () => boolean): Promise<number>;
  /** Calls `wake` when there may be something to deliver; ends with the result. */
  followDeliveries(wake: () => void): () => Promise<void>;
  /** Resolves when no delivery is under way. */
  deliveriesIdle(): Promise<void>;
  /** How long the next call of `drainTimers` may wait. */
  timerPauseMs(): number;
  /** How much waits in the queues of the whole deployment. */
  measureQueues(): Promise<readonly QueueMeasure[]>;
  /** Keeps this process's share of the work that processes share; gives 0. */
  renewShare(): Promise<number>;
}

export interface BackgroundParts {
  readonly engine: Engine;
  readonly host: Host;
  readonly share: WorkShare;
  readonly rebuilder: Rebuilder;
  readonly keeper: SnapshotKeeper;
  readonly errors: ErrorRecords;
  readonly outbox: OutboxRunner;
  readonly timers: TimerRunner;
  readonly deliveries: DeliveryRunner;
}

export function backgroundCalls(parts: BackgroundParts): BackgroundService {
  const { engine, host, share, rebuilder, keeper, errors, outbox, timers, deliveries } = parts;
  return {
    rebuildSnapshots: (limit, isStopping = () => false) => rebuilder.rebuild(limit, isStopping),
    sweep: createSweeper(engine, host, share).sweep,
    async saveMemory(limit, isStopping = () => false) {
      const saved = await errors.saveWaiting(limit);
      return saved + await keeper.drain(limit, isStopping);
    },
    drainOutbox: (limit, isStopping = () => false) => outbox.drain(limit, isStopping),
    followOutbox: (wake) => followOutbox(engine, host, wake),
    drainTimers: (limit, isStopping = () => false) => timers.drain(limit, isStopping),
    drainDeliveries: (isStopping = () => false) => deliveries.drain(isStopping),
    followDeliveries: deliveries.follow,
    deliveriesIdle: deliveries.idle,
    timerPauseMs: timers.pauseMs,
    measureQueues: () => measureQueues(engine, host),
    async renewShare() {
      await share.renew();
      return 0;
    },
  };
}
