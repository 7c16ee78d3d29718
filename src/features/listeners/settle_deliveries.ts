/**
 * Settles the outcomes of deliveries, those of many lanes in one transaction. Each outcome
 * commits together with the end of the delivery's place in its lane. A delivery that was sent
 * but not settled, because the process died in between, is sent again under the same id.
 */

import type { Delivery, DeliveryEnd, Lane } from "../../domain/listener/delivery.ts";
import { isOutage } from "../../domain/outage.ts";
import type { Host } from "../../host.ts";
import type { Engine, Transaction } from "../../kv/engine.ts";
import {
  clearDelivery,
  encodeDelivery,
  putDelivery,
  readDelivery,
  restLane,
} from "../../store/listeners/deliveries.ts";
import { storeEnded } from "../../store/listeners/ended_deliveries.ts";

/** The outcome of one delivery of a lane. */
export interface DeliveryChange {
  readonly index: number;
  /** As it was read. If it differs by now, another process has settled it. */
  readonly before: Delivery;
  readonly after: Delivery;
  /** Absent if it has to be tried again; `after` says when. */
  readonly end?: DeliveryEnd;
  readonly atMs: number;
}

export interface Settlement {
  readonly lane: Lane;
  /** In the order of the lane. Empty if the lane only has to be checked for due deliveries. */
  readonly changes: readonly DeliveryChange[];
  /** Whether the next delivery of the lane is known to be due. */
  readonly hasNext: boolean;
}

export interface Settled {
  /** The changes that were made. A delivery that another process has settled is not among them. */
  readonly changed: readonly DeliveryChange[];
  /** Whether the lane has something due; its mark stays then. */
  readonly goesOn: boolean;
}

export interface DeliverySettler {
  /**
   * Resolves once committed. While the store is unavailable, it is tried again and again until
   * `end()`. After that it throws the outage, and nothing was settled.
   */
  settle(settlement: Settlement): Promise<Settled>;
  /** Stops all further retries. */
  end(): void;
}

/** Lanes that share a transaction. */
const GROUP_MAX = 100;
/** The pause after an outage; doubled each time, up to the second value. */
const PAUSE_MS_MIN = 100;
const PAUSE_MS_MAX = 2_000;

interface Waiting {
  readonly settlement: Settlement;
  readonly resolve: (settled: Settled) => void;
  readonly reject: (error: unknown) => void;
}

export function openDeliverySettler(engine: Engine, host: Host): DeliverySettler {
  let waiting: Waiting[] = [];
  let isRunning = false;
  let isEnding = false;
  let endPause = () => {};

  function settle(settlement: Settlement): Promise<Settled> {
    return new Promise((resolve, reject) => {
      waiting.push({ settlement, resolve, reject });
      if (!isRunning) run();
    });
  }

  async function run(): Promise<void> {
    isRunning = true;
    // Settlements of the same turn join in, as do those that arrive while a transaction runs.
    await host.yieldTurn();
    while (waiting.length > 0) {
      const group = waiting.slice(0, GROUP_MAX);
      waiting = waiting.slice(GROUP_MAX);
      await commit(group);
    }
    isRunning = false;
  }

  async function commit(group: readonly Waiting[]): Promise<void> {
    const settlements = group.map(({ settlement }) => settlement);
    for (let pauseMs = PAUSE_MS_MIN;; pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)) {
      try {
        const nowMs = host.nowMs();
        const settled = await engine.transact((tx) => settleAll(tx, settlements, nowMs));
        for (const [index, { resolve }] of group.entries()) resolve(settled[index]!);
        return;
      } catch (error) {
        if (!isOutage(error)) return await commitEach(group, error);
        if (isEnding) return rejectAll(group, error);
        await pause(pauseMs);
      }
    }
  }

  /** A fault of one lane must not affect the others. */
  async function commitEach(group: readonly Waiting[], error: unknown): Promise<void> {
    if (group.length === 1) return rejectAll(group, error);
    for (const each of group) await commit([each]);
  }

  function pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = host.startTimer(milliseconds, resolve);
      endPause = () => {
        cancel();
        resolve();
      };
    });
  }

  function end(): void {
    isEnding = true;
    endPause();
  }

  return { settle, end };
}

function rejectAll(group: readonly Waiting[], error: unknown): void {
  for (const { reject } of group) reject(error);
}

/** Issues all reads of one kind at once: on a networked store each waits for a round trip. */
async function settleAll(
  tx: Transaction,
  settlements: readonly Settlement[],
  nowMs: number,
): Promise<Settled[]> {
  const found = await Promise.all(
    settlements.map(({ lane, changes }) =>
      Promise.all(changes.map(({ index }) => readDelivery(tx, lane, index)))
    ),
  );
  const changed = settlements.map(({ lane, changes }, at) => {
    const same = changes.filter(({ before }, index) => isSame(found[at]![index], before));
    for (const change of same) apply(tx, lane, change);
    return same;
  });
  return await Promise.all(settlements.map(async ({ lane, hasNext }, index) => (
    { changed: changed[index]!, goesOn: hasNext || await restLane(tx, lane, nowMs) }
  )));
}

function apply(tx: Transaction, lane: Lane, change: DeliveryChange): void {
  const { index, after: delivery, end, atMs: endedMs } = change;
  if (end === undefined) return putDelivery(tx, lane, index, encodeDelivery(delivery));
  clearDelivery(tx, lane, index);
  storeEnded(tx, lane, { delivery, stream: lane.stream, index, end, endedMs });
}

function isSame(a: Delivery | undefined, b: Delivery): boolean {
  return a?.id === b.id && a.tries.length === b.tries.length && a.triesBefore === b.triesBefore;
}
