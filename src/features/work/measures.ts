/**
 * Measures the store for operators: how much background work waits, and for how long. It does so
 * at most once a second however many ask. If the store does not answer in time, the measure says
 * that it is down.
 */

import { isEntryDue } from "../../domain/reaction/outbox_entry.ts";
import type { Turns } from "../../domain/fairness/pieces.ts";
import type { QueueMeasure } from "../../domain/measures/queue_measure.ts";
import { QUEUE_SHARDS } from "../../domain/fairness/work_share.ts";
import type { Host } from "../../host.ts";
import type { Engine, ReadTransaction } from "../../kv/engine.ts";
import { logLooksOf } from "../base/log_looks.ts";
import { listLane, listMarks } from "../../store/listeners/deliveries.ts";
import { countOutbox, findOutbox, wholeEntry } from "../../store/reactions/outbox.ts";
import { countParked } from "../../store/reactions/parked_work.ts";
import { type EntryTimes, entryTimes } from "../../store/reactions/entry_bytes.ts";
import { listProjectionTenants } from "../../store/projections/projections.ts";
import { readHead } from "../../store/streams/streams.ts";
import { listDueTimers } from "../../store/timers.ts";
import { listErasures, readTombstone } from "../../store/tombstones.ts";
import type { StoreMeasure } from "../../domain/measures/store_measure.ts";

/** How long a measure is reused. */
const KEPT_MS = 1_000;
/**
 * Monitoring systems usually wait ten seconds, and they need the rest of the answer in any
 * case.
 */
const WAIT_MS_MAX = 2_000;

const DOWN: StoreMeasure = { isUp: false, queues: [] };

/** Returns a function that measures; it never throws. */
export function openStoreMeasures(engine: Engine, host: Host): () => Promise<StoreMeasure> {
  let kept: { readonly measure: StoreMeasure; readonly atMs: number } | undefined;
  let running: Promise<StoreMeasure> | undefined;

  async function read(): Promise<StoreMeasure> {
    try {
      const [queues, told] = [await measureQueues(engine, host), await engine.measure()];
      return { isUp: true, queues, ...told };
    } catch (error) {
      host.log("warn", "The store could not be measured", {
        reason: error instanceof Error ? error.message : String(error),
      });
      return DOWN;
    }
  }

  async function readAndKeep(): Promise<StoreMeasure> {
    const measure = await read();
    kept = { measure, atMs: host.monotonicMs() };
    running = undefined;
    return measure;
  }

  return async () => {
    if (kept !== undefined && host.monotonicMs() - kept.atMs < KEPT_MS) return kept.measure;
    running ??= readAndKeep();
    let cancel = () => {};
    const late = new Promise<StoreMeasure>((resolve) => {
      cancel = host.startTimer(WAIT_MS_MAX, () => resolve(DOWN));
    });
    const measure = await Promise.race([running, late]);
    cancel();
    return measure;
  };
}

/** The most entries counted in each shard; a longer queue is reported as this long. */
const COUNT_MAX = 1_000;
/** How many entries of each shard are examined for their waiting time. */
const LOOK_AT = 10;
const MS_PER_SECOND = 1000;

/** The measure of one shard, or of all shards so far. */
interface Waiting {
  readonly depth: number;
  readonly lagMs: number;
}

const NOTHING: Waiting = { depth: 0, lagMs: 0 };

/**
 * Measures the whole deployment, whichever process asks. It reads shard after shard while
 * writes continue, so the sum is not of one moment, and no write has to wait for it.
 */
export async function measureQueues(engine: Engine, host: Host): Promise<QueueMeasure[]> {
  const nowMs = host.nowMs();
  let outbox = NOTHING;
  for (let shard = 0; shard < QUEUE_SHARDS.outbox; shard++) {
    outbox = join(outbox, await engine.snapshot((tx) => measureOutbox(tx, shard, nowMs)));
    await host.yieldTurn();
  }
  let timer = NOTHING;
  for (let shard = 0; shard < QUEUE_SHARDS.timer; shard++) {
    timer = join(timer, await engine.snapshot((tx) => measureTimers(tx, shard, nowMs)));
    await host.yieldTurn();
  }
  let lane = NOTHING;
  for (let shard = 0; shard < QUEUE_SHARDS.lane; shard++) {
    lane = join(lane, await engine.snapshot((tx) => measureLanes(tx, shard, nowMs)));
    await host.yieldTurn();
  }
  let projection = NOTHING;
  for (const tenant of await engine.snapshot(listProjectionTenants)) {
    projection = join(
      projection,
      await measureProjections(engine, host, tenant, nowMs),
    );
    await host.yieldTurn();
  }
  const erasure = await engine.snapshot((tx) => measureErasures(tx, nowMs));
  const parked = await engine.snapshot((tx) => countParked(tx, COUNT_MAX));
  return [
    { queue: "outbox", ...outbox },
    { queue: "timer", ...timer },
    { queue: "lane", ...lane },
    { queue: "view", ...projection },
    { queue: "erasure", ...erasure },
    { queue: "parked", depth: parked, lagMs: 0 },
  ];
}

async function measureOutbox(tx: ReadTransaction, shard: number, nowMs: number): Promise<Waiting> {
  const depth = await countOutbox(tx, shard, COUNT_MAX);
  if (depth === 0) return NOTHING;
  const { works } = await findOutbox(tx, shard, { limit: LOOK_AT });
  const times: EntryTimes[] = [];
  for (const each of works) times.push(entryTimes(await wholeEntry(tx, each)));
  const due = times.filter((each) => isEntryDue(each, nowMs));
  return { depth, lagMs: longest(nowMs, due.map(({ sinceMs }) => sinceMs)) };
}

/** Counts only timers that are due; the others cost nothing yet. */
async function measureTimers(tx: ReadTransaction, shard: number, nowMs: number): Promise<Waiting> {
  const due = await listDueTimers(tx, shard, { nowMs, limit: COUNT_MAX });
  return { depth: due.length, lagMs: longest(nowMs, due.map(({ dueMs }) => dueMs)) };
}

/** Counts lanes whose listener's circuit is open too. */
async function measureLanes(tx: ReadTransaction, shard: number, nowMs: number): Promise<Waiting> {
  const marked = await listMarks(tx, shard, COUNT_MAX);
  const firsts = await Promise.all(marked.slice(0, LOOK_AT).map((lane) => listLane(tx, lane, 1)));
  const due = firsts.flat().filter(({ delivery }) => delivery.dueMs <= nowMs);
  const times = due.map(({ delivery: { sinceMs, dueMs } }) => Math.max(sinceMs, dueMs));
  return { depth: marked.length, lagMs: longest(nowMs, times) };
}

/** Records of the log have no time, so that of the stream's newest event is used, in seconds. */
async function measureProjections(
  engine: Engine,
  turns: Turns,
  tenant: number,
  nowMs: number,
): Promise<Waiting> {
  return await engine.snapshot(async (tx) => {
    const request = { max: COUNT_MAX, turns };
    const { count: depth, first } = await logLooksOf(engine).count(tx, tenant, request);
    if (first === undefined) return NOTHING;
    const { updatedAt } = await readHead(tx, tenant, first);
    return { depth, lagMs: longest(nowMs, [updatedAt * MS_PER_SECOND]) };
  });
}

async function measureErasures(tx: ReadTransaction, nowMs: number): Promise<Waiting> {
  const due = await listErasures(tx, undefined, COUNT_MAX);
  const first = await Promise.all(
    due.slice(0, LOOK_AT).map(({ tenant, id }) => readTombstone(tx, tenant, id)),
  );
  const times = first.flatMap((tombstone) =>
    tombstone === undefined ? [] : [tombstone.executeAtMs]
  );
  return { depth: due.length, lagMs: longest(nowMs, times) };
}

function join(a: Waiting, b: Waiting): Waiting {
  return { depth: a.depth + b.depth, lagMs: Math.max(a.lagMs, b.lagMs) };
}

function longest(nowMs: number, timesMs: readonly number[]): number {
  return timesMs.reduce((lagMs, timeMs) => Math.max(lagMs, nowMs - timeMs), 0);
}
