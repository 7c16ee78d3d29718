/** What workers call, bound to one engine and one host. */

import type { DeliveryRunner } from "../listeners/deliver_events.ts";
import type { TimerRunner } from "./fire_schedule.ts";
import type { SnapshotKeeper } from "../states/keep_snapshots.ts";
import type { Rebuilder } from "../states/rebuild_snapshots.ts";
import type { ErrorRecords } from "../base/record_error.ts";
import type { PausedReactions } from "../reactions/follow_pauses.ts";
import type { OutboxRunner } from "../reactions/run_outbox.ts";
import type { WorkShare } from "../base/share_work.ts";
import { createSweeper } from "./sweep.ts";
import type { QueueMeasure } from "../../domain/measures/queue_measure.ts";
import type { Host } from "../../host.ts";
import { inBackground } from "../../kv/calls.ts";
import type { Engine } from "../../kv/engine.ts";
import { measureQueues } from "./measures.ts";
import { keys } from "../../store/keys.ts";
import { followVersion } from "../base/follow_version.ts";

/** The calls of workers. Each returns how much work it found. */
export interface BackgroundService {
  /** May take long, so it ends early once `isStopping` returns true. */
  rebuildSnapshots(limit: number, isStopping?: () => boolean): Promise<number>;
  sweep(limit: number): Promise<number>;
  /**
   * Saves folded states and error records that exist only in the memory of this process. Every
   * process that answers requests must call it.
   */
  saveMemory(limit: number, isStopping?: () => boolean): Promise<number>;
  /** Processes the due outbox entries; each call continues where the last one ended. */
  drainOutbox(limit: number, isStopping?: () => boolean): Promise<number>;
  /** Calls `wake` when a write has left entries in the outbox. Call the result to stop. */
  followOutbox(wake: () => void): () => Promise<void>;
  /** Fires scheduled events and ends the waits of sagas. */
  drainTimers(limit: number, isStopping?: () => boolean): Promise<number>;
  /** Begins the due deliveries to listeners; they then continue by themselves. */
  drainDeliveries(isStopping?: () => boolean): Promise<number>;
  /** Calls `wake` when there may be something to deliver. Call the result to stop. */
  followDeliveries(wake: () => void): () => Promise<void>;
  /** Resolves when no delivery is under way. */
  deliveriesIdle(): Promise<void>;
  /** How long the next call of `drainTimers` may wait. */
  timerPauseMs(): number;
  /** The lengths of the queues of the whole deployment. */
  measureQueues(): Promise<readonly QueueMeasure[]>;
  /** Renews the leases on this process's share of the background work; returns 0. */
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
  readonly paused: PausedReactions;
}

export function backgroundCalls(parts: BackgroundParts): BackgroundService {
  const { engine, host, share, rebuilder, keeper, errors, outbox, timers } = parts;
  const { deliveries, paused } = parts;
  return {
    rebuildSnapshots: rebuilder.rebuild,
    sweep: createSweeper(inBackground(engine), host, share).sweep,
    async saveMemory(limit, isStopping) {
      const saved = await errors.saveWaiting(limit);
      return saved + await keeper.drain(limit, isStopping);
    },
    drainOutbox: outbox.drain,
    followOutbox: (wake) => followOutbox(engine, host, wake),
    drainTimers: timers.drain,
    async drainDeliveries(isStopping) {
      // Before its first drain, a process delivers nothing of its own writes either.
      return await paused.isRestored() ? 0 : await deliveries.drain(isStopping);
    },
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

/**
 * Calls `wake` at once and when a write has left entries in the outbox for others. Call the
 * result to stop.
 */
function followOutbox(engine: Engine, host: Host, wake: () => void): () => Promise<void> {
  return followVersion(engine, host, keys.outboxSignal(), wake).close;
}
