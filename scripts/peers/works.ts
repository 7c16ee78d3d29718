/** The work that every peer is given over HTTP: the same requests, in the same order. */

import { bodyText, openConnection } from "../bench/http_connection.ts";
import { type LoadResult, percentiles, runLoad, runWork } from "../bench/load.ts";
import { runOpenLoop } from "../bench/open_loop.ts";
import { batchBody, eventData, METADATA, streamId } from "../bench/requests.ts";
import type { RunningPeer } from "./catalog.ts";
import { openZipf } from "./zipf.ts";

/** How much of it. */
export interface Sizes {
  readonly seconds: number;
  readonly warmupSeconds: number;
  readonly streams: number;
  readonly connections: readonly number[];
  readonly batches: readonly number[];
  /** Lengths of the aggregates that are read. */
  readonly lengths: readonly number[];
  /** Events stored in all when the rate of appends is measured. */
  readonly growth: readonly number[];
  /** The rate of the open loop, in relation to that of the closed one. */
  readonly openShare: number;
}

export const SMALL: Sizes = {
  seconds: 1,
  warmupSeconds: 0.5,
  streams: 200,
  connections: [1, 64],
  batches: [10, 1_000],
  lengths: [10, 1_000],
  growth: [5_000, 20_000],
  openShare: 0.5,
};

export const FULL: Sizes = {
  seconds: 8,
  warmupSeconds: 6,
  streams: 5_000,
  connections: [1, 4, 16, 64, 256],
  batches: [10, 100, 10_000],
  lengths: [10, 1_000, 100_000],
  growth: [100_000, 10_000_000],
  openShare: 0.5,
};

export interface Measured {
  readonly work: string;
  readonly value: number;
  readonly unit: string;
  /** Milliseconds; where single requests were measured. */
  readonly latency?: Pick<LoadResult, "p50" | "p95" | "p99"> & { readonly p999?: number };
}

/** Left out by a peer, with why. */
export interface Skipped {
  readonly work: string;
  readonly reason: string;
}

export type Outcome = Measured | Skipped;
/** One line of the work list; it may give several figures. */
export interface Work {
  readonly name: string;
  run(peer: RunningPeer, sizes: Sizes): Promise<readonly Outcome[]>;
}

const BUSY = 64;
const SKEW = 0.99;
const FILL_BATCH = 1_000;
/** Streams of each work are its own: no work finds what another has left. */
const AREA = 1_000_000;
const LIST_PAGE = 200;

export const WORKS: readonly Work[] = [
  { name: "append", run: appendSingles },
  { name: "hot stream", run: appendToOne },
  { name: "batch", run: appendBatches },
  { name: "atomic", run: writeAtomically },
  { name: "read", run: readAggregates },
  { name: "listing", run: listStreams },
  { name: "mixed", run: mixReadsAndWrites },
  { name: "zipf", run: appendByZipf },
  { name: "open loop", run: keepToSchedule },
  { name: "growth", run: growAndMeasure },
];

function rate(work: string, load: LoadResult): Measured {
  const { p50, p95, p99 } = load;
  return { work, value: load.requestsPerSecond, unit: "req/s", latency: { p50, p95, p99 } };
}

/** Single events to the streams that `choose` names. */
async function append(
  { target }: RunningPeer,
  sizes: Sizes,
  connections: number,
  choose: (number: number) => number,
): Promise<LoadResult> {
  let number = 0;
  return await runLoad({
    ...timesOf(sizes),
    port: target.port,
    connections,
    expectedStatus: 201,
    next: () => target.requests.single(streamId(choose(number)), number++),
  });
}

function timesOf({ seconds, warmupSeconds }: Sizes) {
  return { seconds, warmupSeconds };
}

async function appendSingles(peer: RunningPeer, sizes: Sizes) {
  const outcomes: Measured[] = [];
  for (const connections of sizes.connections) {
    const load = await append(peer, sizes, connections, (number) => number % sizes.streams);
    outcomes.push(rate(`append, ${connections} connections`, load));
  }
  return outcomes;
}

async function appendToOne(peer: RunningPeer, sizes: Sizes) {
  return [rate(`append to one hot stream, ${BUSY}`, await append(peer, sizes, BUSY, () => AREA))];
}

async function appendByZipf(peer: RunningPeer, sizes: Sizes) {
  const draw = openZipf(sizes.streams, SKEW, Math.random);
  const load = await append(peer, sizes, BUSY, () => 2 * AREA + draw());
  return [rate(`append by Zipf ${SKEW}, ${BUSY}`, load)];
}

async function appendBatches({ target }: RunningPeer, sizes: Sizes) {
  const outcomes: Measured[] = [];
  for (const size of sizes.batches) {
    const body = batchBody(size);
    let number = 0;
    const load = await runLoad({
      ...timesOf(sizes),
      port: target.port,
      connections: 2,
      expectedStatus: 201,
      next: () => target.requests.batch(streamId(3 * AREA + number++ % sizes.streams), body),
      onReply: () => size,
    });
    const work = `batches of ${size}, 2`;
    outcomes.push({ work, value: load.unitsPerSecond, unit: "events/s" });
  }
  return outcomes;
}

function atomicBody(first: number, targets: number): string {
  const event = `{"type":"was_credited","data":${eventData(first)}}`;
  const texts = Array.from(
    { length: targets },
    (_, index) =>
      `{"aggregate_type":"account","id":"${streamId(first + index)}","events":[${event}]}`,
  );
  return `{"targets":[${texts.join(",")}],"metadata":${METADATA}}`;
}

async function writeAtomically({ target }: RunningPeer, sizes: Sizes) {
  const outcomes: Outcome[] = [];
  for (const targets of [2, 10]) {
    const work = `atomic over ${targets} streams, 16`;
    const request = (number: number) =>
      target.requests.write("/_atomic-write", atomicBody(4 * AREA + number * targets, targets));
    const probe = await openConnection(target.port);
    const { status } = await probe.exchange(...request(0));
    probe.close();
    if (status === 501) {
      outcomes.push({ work, reason: "has no write over several streams" });
      continue;
    }
    let number = 1;
    const load = await runLoad({
      ...timesOf(sizes),
      port: target.port,
      connections: 16,
      expectedStatus: 201,
      next: () => request(number++ % sizes.streams),
    });
    outcomes.push(rate(work, load));
  }
  return outcomes;
}

/** Appends `length` events to each of `count` streams from `first` on. */
async function fill({ target }: RunningPeer, first: number, count: number, length: number) {
  const size = Math.min(length, FILL_BATCH);
  const body = batchBody(size);
  const rounds = Math.ceil(length / size);
  let left = count * rounds;
  await runWork({
    port: target.port,
    connections: 2,
    expectedStatus: 201,
    next: () =>
      left-- > 0 ? target.requests.batch(streamId(first + left % count), body) : undefined,
  });
}

/** How many streams of a length are read for the first time: about as many events for each. */
function coldCount(length: number): number {
  return Math.max(3, Math.min(200, Math.round(20_000 / length)));
}

async function readAggregates(peer: RunningPeer, sizes: Sizes) {
  const outcomes: Measured[] = [];
  const { target } = peer;
  for (const [index, length] of sizes.lengths.entries()) {
    const first = 5 * AREA + index * 10_000;
    const count = coldCount(length);
    await fill(peer, first, count, length);
    const connection = await openConnection(target.port);
    const times: number[] = [];
    for (let number = 0; number < count; number++) {
      const beganMs = performance.now();
      const request = target.requests.get(`/account/${streamId(first + number)}`);
      const reply = await connection.exchange(...request);
      if (reply.status !== 200) throw new Error(`${reply.status} ${bodyText(reply)}`);
      times.push(performance.now() - beganMs);
    }
    connection.close();
    const cold = percentiles(times);
    outcomes.push({
      work: `first read of ${length} events`,
      value: cold.p50,
      unit: "ms",
      latency: cold,
    });
    let number = 0;
    const load = await runLoad({
      ...timesOf(sizes),
      port: target.port,
      connections: BUSY,
      expectedStatus: 200,
      next: () => target.requests.get(`/account/${streamId(first + number++ % count)}`),
    });
    outcomes.push(rate(`read of ${length} events again, ${BUSY}`, load));
  }
  return outcomes;
}

/** Pages of ids, each behind another place. */
async function listStreams(peer: RunningPeer, sizes: Sizes) {
  const { target } = peer;
  await fill(peer, 0, sizes.streams, 1);
  let number = 0;
  const load = await runLoad({
    ...timesOf(sizes),
    port: target.port,
    connections: 4,
    expectedStatus: 200,
    next: () => {
      const start = streamId(number++ % sizes.streams);
      return target.requests.get(`/account?limit=${LIST_PAGE}&start=${start}`);
    },
  });
  return [rate(`listing of ${LIST_PAGE} ids, 4`, load)];
}

/** Each connection writes and reads in turn. */
async function mixReadsAndWrites(peer: RunningPeer, sizes: Sizes) {
  const { target } = peer;
  await fill(peer, 6 * AREA, sizes.streams, 10);
  let number = 0;
  const streams = () => streamId(6 * AREA + (number >> 1) % sizes.streams);
  const half = { ...timesOf(sizes), port: target.port, connections: BUSY / 2 };
  const [writes, reads] = await Promise.all([
    runLoad({
      ...half,
      expectedStatus: 201,
      next: () => target.requests.single(streams(), number++),
    }),
    runLoad({
      ...half,
      expectedStatus: 200,
      next: () => target.requests.get(`/account/${streamId(6 * AREA + number % sizes.streams)}`),
    }),
  ]);
  return [
    rate(`mixed: writes of 32 beside 32 readers`, writes),
    rate(`mixed: reads of 32 beside 32 writers`, reads),
  ];
}

/** Appends that are due at their times; latency counts from then, whatever was late before. */
async function keepToSchedule(peer: RunningPeer, sizes: Sizes): Promise<Measured[]> {
  const { target } = peer;
  const closed = await append(peer, sizes, BUSY, (number) => 7 * AREA + number % sizes.streams);
  const perSecond = Math.max(1, Math.floor(closed.requestsPerSecond * sizes.openShare));
  const times: number[] = [];
  await runOpenLoop({
    port: target.port,
    connections: 256,
    perSecond,
    seconds: sizes.seconds * 2,
    async perform(connection, number, dueMs) {
      const stream = streamId(7 * AREA + number % sizes.streams);
      const reply = await connection.exchange(...target.requests.single(stream, number));
      if (reply.status !== 201) throw new Error(`${reply.status} ${bodyText(reply)}`);
      times.push(performance.now() - dueMs);
    },
  });
  const sorted = times.sort((a, b) => a - b);
  const p999 = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.999))]!;
  const work = `open loop at ${sizes.openShare * 100}% of its closed rate`;
  return [{ work, value: perSecond, unit: "req/s", latency: { ...percentiles(times), p999 } }];
}

/** The rate of appends at two sizes of the store, and what an event takes on the disk. */
async function growAndMeasure(peer: RunningPeer, sizes: Sizes) {
  const outcomes: Measured[] = [];
  const before = await peer.dataBytes();
  let stored = 0;
  for (const size of sizes.growth) {
    const each = Math.ceil((size - stored) / sizes.streams);
    await fill(peer, 8 * AREA, sizes.streams, each);
    stored += each * sizes.streams;
    const load = await append(peer, sizes, BUSY, (number) => 8 * AREA + number % sizes.streams);
    stored += load.requests;
    outcomes.push(rate(`append behind ${size} events, ${BUSY}`, load));
  }
  const bytes = (await peer.dataBytes() - before) / stored;
  return [...outcomes, { work: "disk for an event of 256 bytes", value: bytes, unit: "bytes" }];
}
