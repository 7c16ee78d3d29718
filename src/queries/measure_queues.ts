/** How much background work waits, and for how long: what operators watch. */

import { isEntryDue } from "../domain/reaction/outbox_entry.ts";
import type { QueueMeasure } from "../domain/queue_measure.ts";
import { QUEUE_SHARDS } from "../domain/work_share.ts";
import type { Engine, ReadTransaction } from "../kv/engine.ts";
import { countOutbox, countParked, listOutbox } from "../store/outbox.ts";
import { listDueTimers } from "../store/timers.ts";

/** Counted in each shard at most: a longer queue is told as this long. */
const COUNT_MAX = 1_000;
/** Entries of each shard that are looked at for the time they have waited. */
const LOOK_AT = 20;

/** Of the whole deployment, whichever process asks. */
export async function measureQueues(engine: Engine, nowMs: number): Promise<QueueMeasure[]> {
  return await engine.snapshot(async (tx) => [
    await measureOutbox(tx, nowMs),
    await measureTimers(tx, nowMs),
    { queue: "parked", depth: await countParked(tx, COUNT_MAX), lagMs: 0 },
  ]);
}

async function measureOutbox(tx: ReadTransaction, nowMs: number): Promise<QueueMeasure> {
  const depth = await countOutbox(tx, COUNT_MAX);
  const pages = shards("outbox").map((shard) => listOutbox(tx, shard, undefined, LOOK_AT));
  const works = (await Promise.all(pages)).flatMap(({ works }) => works);
  const waiting = works.filter((work) => isEntryDue(work, nowMs));
  return { queue: "outbox", depth, lagMs: longest(nowMs, waiting.map(({ sinceMs }) => sinceMs)) };
}

/** Only timers that are due count: the rest costs nobody anything. */
async function measureTimers(tx: ReadTransaction, nowMs: number): Promise<QueueMeasure> {
  const lists = shards("timer").map((shard) => listDueTimers(tx, shard, nowMs, COUNT_MAX));
  const due = (await Promise.all(lists)).flat();
  return {
    queue: "timer",
    depth: due.length,
    lagMs: longest(nowMs, due.map(({ dueMs }) => dueMs)),
  };
}

function shards(queue: keyof typeof QUEUE_SHARDS): number[] {
  return Array.from({ length: QUEUE_SHARDS[queue] }, (_, shard) => shard);
}

function longest(nowMs: number, timesMs: readonly number[]): number {
  return timesMs.reduce((lagMs, timeMs) => Math.max(lagMs, nowMs - timeMs), 0);
}
