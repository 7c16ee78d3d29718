/** The pending work of a world, read from its store by the documented keys. */

import { decodeRecord } from "../../src/store/json_record.ts";
import { keys } from "../../src/store/keys.ts";
import { QUEUE_SHARDS } from "../../src/domain/fairness/work_share.ts";
import type { WaitingEntry } from "../../src/domain/reaction/outbox_entry.ts";
import { unpack } from "../../src/kv/tuple.ts";
import type { KeyValue } from "../../src/kv/engine.ts";
import type { SimulatedStore } from "./simulated_store.ts";

function outboxPairs(store: SimulatedStore): KeyValue[] {
  return shards(QUEUE_SHARDS.outbox).flatMap((shard) => store.pairsWithin(keys.outboxes(shard)));
}

function timerPairs(store: SimulatedStore): KeyValue[] {
  return shards(QUEUE_SHARDS.timer).flatMap((shard) => store.pairsWithin(keys.timers(shard)));
}

function lanePairs(store: SimulatedStore): KeyValue[] {
  return shards(QUEUE_SHARDS.lane).flatMap((shard) => store.pairsWithin(keys.laneMarks(shard)));
}

/** Counts outbox entries, timers and delivery lanes. */
export function countPending(store: SimulatedStore): number {
  return outboxPairs(store).length + timerPairs(store).length + lanePairs(store).length;
}

/**
 * When the first entry or timer is due, in milliseconds since 1970; Infinity if there is none.
 */
export function nextDueMs(store: SimulatedStore): number {
  const entries = outboxPairs(store).map(({ value }) => {
    const { sinceMs, waitMs } = decodeRecord<WaitingEntry>(value);
    return sinceMs + waitMs;
  });
  const timers = timerPairs(store).map(({ key }) => unpack(key)[3] as number);
  return Math.min(...entries, ...timers);
}

function shards(count: number): number[] {
  return Array.from({ length: count }, (_, shard) => shard);
}
