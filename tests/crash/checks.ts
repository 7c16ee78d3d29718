/**
 * The checks after each restart and at the end of a crash run. A check asks the server over
 * HTTP and compares the answers with the journal. A new check is one more row of the list.
 */

import type { ServerProcess } from "../support/server_process.ts";
import type { Api } from "./api.ts";
import { type Journal, keyOf, type Operation } from "./journal.ts";
import type { Random } from "./random.ts";
import {
  absorbEntries,
  createStreamModel,
  isPresent,
  type JudgeUnsent,
  operationFaults,
  type StreamModel,
  wholeStreamFaults,
} from "./stream_model.ts";

/** A server that has just restarted, and everything known about what it must hold. */
export interface Life {
  readonly api: Api;
  readonly server: ServerProcess;
  readonly journal: Journal;
  readonly streams: Map<string, StreamModel>;
  /** What the clients sent since the previous restart. */
  readonly written: readonly Operation[];
  readonly random: Random;
  /** Judges events that the service wrote by itself. If undefined, there must be none. */
  readonly judgeUnsent?: JudgeUnsent;
}

export interface Check {
  readonly name: string;
  /** Returns one line for each fault; empty if there is none. */
  readonly run: (life: Life) => Promise<string[]>;
}

/** Run in this order: the first one reads what the later ones compare with. */
export const STANDARD_CHECKS: readonly Check[] = [
  { name: "streams hold what was sent", run: streamsHoldWhatWasSent },
  { name: "keyed retries have one effect", run: keyedRetriesHaveOneEffect },
  { name: "length and aggregate agree", run: readsAgree },
  { name: "listings agree", run: (life) => listingsAgree(life, ["account", "ledger"]) },
  { name: "an older stream is whole", run: anOlderStreamIsWhole },
];

export const FINAL_CHECKS: readonly Check[] = [
  ...STANDARD_CHECKS,
  { name: "every stream is whole", run: everyStreamIsWhole },
];

const KEYED_RETRIES_MAX = 40;
const CONCURRENT_READS = 8;

export async function streamsHoldWhatWasSent(life: Life): Promise<string[]> {
  return await judgeOperations(life, life.written);
}

/**
 * Reads what is new in every stream that the operations touch and judges the operations. It
 * skips operations with an unreadable stream, because they would seem to be lost.
 */
async function judgeOperations(life: Life, operations: readonly Operation[]): Promise<string[]> {
  const faults = await absorbStreams(life, touchedKeys(operations));
  const isRead = ({ targets }: Operation) =>
    targets.every((target) => life.streams.get(keyOf(target))!.isRead);
  const judged = operations.filter(isRead);
  return [...faults, ...judged.flatMap((operation) => operationFaults(operation, life.journal))];
}

/** Reads what is new in these streams, each once. */
export async function absorbStreams(life: Life, keys: Iterable<string>): Promise<string[]> {
  const { api, streams, journal, judgeUnsent } = life;
  return await concurrently([...new Set(keys)], async (key) => {
    const stream = streams.get(key) ?? createStreamModel(key);
    streams.set(key, stream);
    stream.isRead = false;
    const events = await api.events(key, stream.lastId).catch((error) => String(error));
    if (typeof events === "string") return [`${key} could not be read: ${events}`];
    stream.isRead = true;
    return absorbEntries(stream, events, journal, judgeUnsent);
  });
}

function touchedKeys(operations: readonly Operation[]): string[] {
  return [...new Set(operations.flatMap(({ targets }) => targets.map(keyOf)))];
}

/** Sends again every keyed write whose outcome was unknown, and some acknowledged ones. */
export async function keyedRetriesHaveOneEffect(life: Life): Promise<string[]> {
  const keyed = life.written.filter(({ idempotencyKey, outcome }) =>
    idempotencyKey !== undefined && outcome !== "refused"
  );
  const acknowledged = keyed.filter(({ outcome }) => outcome === "acknowledged");
  while (acknowledged.length > KEYED_RETRIES_MAX) {
    acknowledged.splice(life.random.below(acknowledged.length), 1);
  }
  const retried = [...keyed.filter(({ outcome }) => outcome === "unknown"), ...acknowledged];
  const faults = await concurrently(retried, (operation) => retry(life, operation));
  return [...faults, ...await judgeOperations(life, retried)];
}

async function retry({ api, journal }: Life, operation: Operation): Promise<string[]> {
  const wasPresent = isPresent(operation, journal);
  const first = await api.write(operation);
  const name = `retry of write ${operation.number} (${operation.form}, ${operation.outcome})`;
  if (first.status !== 201) {
    return [`${name}: ${first.status} ${JSON.stringify(first.body)}`];
  }
  const faults: string[] = [];
  if (first.replayed !== wasPresent) {
    faults.push(`${name}: replayed is ${first.replayed}, but present before is ${wasPresent}`);
  }
  operation.outcome = "acknowledged";
  operation.streamIds = first.streamIds;
  const second = await api.write(operation);
  if (!second.replayed || JSON.stringify(second.streamIds) !== JSON.stringify(first.streamIds)) {
    faults.push(`${name}: the second answer differs: ${JSON.stringify(second)}`);
  }
  return faults;
}

async function readsAgree(life: Life): Promise<string[]> {
  return await readsOfStreamsAgree(life, touchedKeys(life.written));
}

/** Compares what was absorbed of these streams with the other reads. No client may be writing. */
export async function readsOfStreamsAgree(life: Life, keys: readonly string[]): Promise<string[]> {
  return await concurrently(keys, async (key) => {
    const stream = life.streams.get(key)!;
    const { count, sum, last } = stream.state;
    const faults: string[] = [];
    const length = await life.api.length(key);
    if (length !== count) faults.push(`${key}: length ${length}, listed ${count}`);
    if (count === 0) return faults;
    for (const synchronous of [false, true]) {
      const aggregate = await life.api.aggregate(key, synchronous);
      const expected = JSON.stringify([count, sum, last, count]);
      const { data } = aggregate;
      const actual = JSON.stringify([data.count, data.sum, data.last, aggregate.length]);
      if (actual === expected) continue;
      const how = synchronous ? "synchronous" : "cached";
      faults.push(`${key}: ${how} aggregate is ${actual}, folded from its events ${expected}`);
    }
    return faults;
  });
}

export async function listingsAgree(life: Life, types: readonly string[]): Promise<string[]> {
  const faults: string[] = [];
  for (const type of types) {
    const expected = [...life.streams.values()]
      .filter(({ key, hashes }) => key.startsWith(`${type}:`) && hashes.length > 0)
      .map(({ key }) => key.slice(type.length + 1))
      .sort();
    const listed = await life.api.list(type);
    if (JSON.stringify(listed) === JSON.stringify(expected)) continue;
    const missing = expected.filter((id) => !listed.includes(id));
    const extra = listed.filter((id) => !expected.includes(id));
    faults.push(`listing of ${type}: missing [${missing}], nobody wrote [${extra}]`);
  }
  return faults;
}

async function anOlderStreamIsWhole(life: Life): Promise<string[]> {
  if (life.streams.size === 0) return [];
  return await wholeStream(life, life.random.pick([...life.streams.keys()]));
}

export async function everyStreamIsWhole(life: Life): Promise<string[]> {
  return await concurrently([...life.streams.keys()], (key) => wholeStream(life, key));
}

async function wholeStream({ api, streams }: Life, key: string): Promise<string[]> {
  return wholeStreamFaults(streams.get(key)!, await api.events(key));
}

/** Runs `work` for each item, a few at a time; anything thrown becomes a fault. */
export async function concurrently<T>(
  items: readonly T[],
  work: (item: T) => Promise<string[]>,
): Promise<string[]> {
  const faults: string[] = [];
  const left = items.values();
  await Promise.all(Array.from({ length: CONCURRENT_READS }, async () => {
    for (const item of left) {
      faults.push(...await work(item).catch((error) => [String(error)]));
    }
  }));
  return faults;
}
