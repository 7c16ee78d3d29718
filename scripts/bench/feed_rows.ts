/**
 * The rows about the feed: how fast a reader catches up, how soon live readers hear of a commit,
 * what a slow reader does to the others, and what idle connections hold.
 */

import { bodyText } from "./http_connection.ts";
import { type FeedReader, openFeedReader } from "./feed_reader.ts";
import { percentiles, runWork } from "./load.ts";
import { processorMicros, residentMemory } from "./machine.ts";
import { runOpenLoop } from "./open_loop.ts";
import { streamId } from "./requests.ts";
import { fillEachOnce, type Target } from "./server_measures.ts";
import type { Row } from "./table.ts";

export interface FeedBench {
  readonly isQuick: boolean;
  readonly add: (row: Row) => void;
  /** Where is written, on a deployment that has the spec of the bench. */
  readonly writer: Target;
  /** Where is read: the same server, or another node. */
  readonly reader: Target;
  readonly goals: FeedGoals;
}

export interface FeedGoals {
  readonly catchUpPerSecond: number;
  readonly heardMs: number;
}

export const EMBEDDED_GOALS: FeedGoals = { catchUpPerSecond: 150_000, heardMs: 50 };
export const CLUSTER_GOALS: FeedGoals = { catchUpPerSecond: 40_000, heardMs: 250 };

const EVENTS_EACH = 10;
const STREAMS = 50_000;
const READERS = 100;
const WRITES_PER_SECOND = 1_000;
const SECONDS = 10;
const QUICK_SECONDS = 4;
/** Turns with and without the slow reader, alternating. */
const TURNS = 3;
/** Those whose memory is measured: that of one would drown in the noise. */
const SLOW_READERS = 20;
const IDLE = 5_000;
const IDLE_AT_ONCE = 100;
const PATIENCE_MS = 300_000;
const LF = 10;
const NUMBER_BEFORE = '"reference":"order-';
const CAUGHT_UP = '"type":"caught_up"';
/** What may be cut in two at the end of what was read. */
const NUMBER_CHARACTERS_MAX = 40;

const decoder = new TextDecoder("latin1");

export async function measureFeed(bench: FeedBench): Promise<void> {
  const streams = bench.isQuick ? STREAMS / 10 : STREAMS;
  await fillEachOnce(bench.writer, streams, EVENTS_EACH);
  await measureCatchUp(bench, streams * EVENTS_EACH);
  await measureHeard(bench);
  await measureSlow(bench);
  await measureIdle(bench);
}

function liveFeed(
  { reader }: FeedBench,
  query: string,
  onBytes: (bytes: Uint8Array) => void,
  bytesPerSecond?: number,
): Promise<FeedReader> {
  const path = `/_feed?live=sse&${query}`;
  const { port, authorization = "" } = reader;
  return openFeedReader({ port, authorization, path, onBytes, bytesPerSecond });
}

/** The best of three, each by a reader of its own. */
async function measureCatchUp(bench: FeedBench, events: number): Promise<void> {
  const { serverPid } = bench.reader;
  let best = Infinity;
  let micros = Infinity;
  for (let turn = 0; turn < 3; turn++) {
    const microsBefore = processorMicros(serverPid);
    const startedMs = performance.now();
    const lines = await readToEnd(bench);
    const seconds = (performance.now() - startedMs) / 1000;
    // The last line says that nothing is left.
    if (lines !== events + 1) throw new Error(`${lines} lines instead of ${events} events`);
    best = Math.min(best, seconds);
    micros = Math.min(micros, (processorMicros(serverPid) - microsBefore) / events);
  }
  bench.add({
    name: "catch-up of one reader, raw NDJSON, batches of 10",
    value: events / best,
    unit: "events/s",
    target: { atLeast: bench.goals.catchUpPerSecond },
    note: `${events.toLocaleString("en-US")} events of 256 bytes; ${micros.toFixed(2)} us an event`,
  });
}

/** The number of lines until the reader has caught up. */
async function readToEnd(bench: FeedBench): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let lines = 0;
  let end = "";
  const reader = await liveFeed(bench, "from=start&raw=true", (bytes) => {
    lines += countLines(bytes);
    end = (end + decoder.decode(bytes.subarray(-200))).slice(-200);
    if (end.includes(CAUGHT_UP)) resolve();
  });
  await within(promise, "a reader has not caught up");
  reader.close();
  return lines;
}

function countLines(bytes: Uint8Array): number {
  let lines = 0;
  for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1)) lines++;
  return lines;
}

/** Calls back with the number of each event that comes. */
function numbersIn(onNumber: (number: number) => void): (bytes: Uint8Array) => void {
  let left = "";
  return (bytes) => {
    const text = left + decoder.decode(bytes);
    let done = 0;
    for (let at = text.indexOf(NUMBER_BEFORE); at >= 0; at = text.indexOf(NUMBER_BEFORE, done)) {
      const end = text.indexOf('"', at + NUMBER_BEFORE.length);
      if (end < 0) break;
      onNumber(Number(text.slice(at + NUMBER_BEFORE.length, end)));
      done = end;
    }
    left = text.slice(Math.max(done, text.length - NUMBER_CHARACTERS_MAX));
  };
}

/** One turn of writes and readers: milliseconds from each reply until a reader has the event. */
async function hear(bench: FeedBench): Promise<number[]> {
  const seconds = bench.isQuick ? QUICK_SECONDS : SECONDS;
  const count = WRITES_PER_SECOND * seconds;
  const ackedMs = new Float64Array(count);
  const heardMs = Array.from({ length: READERS }, () => new Float64Array(count));
  const readers = await Promise.all(
    heardMs.map((times) =>
      liveFeed(
        bench,
        "from=now",
        numbersIn((number) => {
          times[number] = performance.now();
        }),
      )
    ),
  );
  const { port, requests } = bench.writer;
  await runOpenLoop({
    port,
    connections: 128,
    perSecond: WRITES_PER_SECOND,
    seconds,
    perform: async (connection, number) => {
      const reply = await connection.exchange(...requests.single(streamId(number), number));
      if (reply.status !== 201) throw new Error(`a write: ${bodyText(reply)}`);
      ackedMs[number] = performance.now();
    },
  });
  await pause(1_000);
  for (const reader of readers) reader.close();
  return heardMs.flatMap((times) =>
    Array.from(times, (time, number) => {
      if (time === 0) throw new Error(`a reader has not heard of event ${number}`);
      return Math.max(0, time - ackedMs[number]!);
    })
  );
}

async function measureHeard(bench: FeedBench): Promise<void> {
  const { serverPid } = bench.reader;
  // Compiles what the measured turn runs.
  await hear(bench);
  const microsBefore = processorMicros(serverPid);
  const startedMs = performance.now();
  const latency = percentiles(await hear(bench));
  const share = (processorMicros(serverPid) - microsBefore) / (performance.now() - startedMs) /
    1000;
  bench.add({
    name: `commit to ${READERS} readers, ${WRITES_PER_SECOND} events/s`,
    value: latency.p99,
    unit: "ms, p99",
    target: { below: bench.goals.heardMs },
    latency,
    note: `from the write's reply; the server of the readers used ${share.toFixed(2)} cores`,
  });
}

/** A reader at 1 KB/s that is far behind, beside the others. */
async function measureSlow(bench: FeedBench): Promise<void> {
  const [alone, beside]: [number[], number[]] = [[], []];
  for (let turn = 0; turn < TURNS; turn++) {
    alone.push(percentiles(await hear(bench)).p99);
    const slow = await liveFeed(bench, "from=start", () => {}, 1_000);
    await pause(1_000);
    beside.push(percentiles(await hear(bench)).p99);
    slow.close();
  }
  const { serverPid } = bench.reader;
  const before = await residentMemory(serverPid);
  const opening = Array.from(
    { length: SLOW_READERS },
    () => liveFeed(bench, "from=start", () => {}, 1_000),
  );
  const slow = await Promise.all(opening);
  await pause(5_000);
  const held = (await residentMemory(serverPid) - before) / SLOW_READERS;
  for (const reader of slow) reader.close();
  bench.add({
    name: "p99 of the others beside a reader at 1 KB/s",
    value: median(beside) / median(alone),
    unit: "x",
    target: { below: 1.1 },
    note: `${median(alone).toFixed(1)} ms alone, ${median(beside).toFixed(1)} ms beside it`,
  });
  bench.add({
    name: `memory of each of ${SLOW_READERS} readers at 1 KB/s`,
    value: Math.max(0, held),
    unit: "MiB",
    target: { below: 1 },
    note: "of the server, within 5 s",
  });
}

async function measureIdle(bench: FeedBench): Promise<void> {
  const count = bench.isQuick ? IDLE / 5 : IDLE;
  const { serverPid } = bench.reader;
  const heardMs: number[] = [];
  const readers: FeedReader[] = [];
  const before = await residentMemory(serverPid);
  while (readers.length < count) {
    const opening = Array.from(
      { length: IDLE_AT_ONCE },
      () => liveFeed(bench, "from=now", numbersIn(() => heardMs.push(performance.now()))),
    );
    readers.push(...await Promise.all(opening));
  }
  await pause(2_000);
  const held = (await residentMemory(serverPid) - before) * 1024 / count;
  const { port, requests } = bench.writer;
  let ackedMs = 0;
  await runWork({
    port,
    connections: 1,
    expectedStatus: 201,
    next: () => ackedMs === 0 ? requests.single(streamId(0), 1) : undefined,
    onReply: () => {
      ackedMs = performance.now();
    },
  });
  const endMs = performance.now() + PATIENCE_MS;
  while (heardMs.length < count && performance.now() < endMs) await pause(20);
  for (const reader of readers) reader.close();
  if (heardMs.length !== count) throw new Error(`${heardMs.length} of ${count} readers heard`);
  const name = `${count.toLocaleString("en-US")} idle readers`;
  bench.add({ name: `${name}: memory of each`, value: held, unit: "KiB", target: { below: 64 } });
  bench.add({
    name: `${name}: until all have an event`,
    value: Math.max(...heardMs) - ackedMs,
    unit: "ms",
    target: { below: 1_000 },
  });
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}

async function within(promise: Promise<void>, message: string): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${message} in ${PATIENCE_MS} ms`)), PATIENCE_MS);
  });
  await Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
