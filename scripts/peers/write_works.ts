/** The works that write over HTTP: the same requests to every peer, in the same order. */

import { bodyText, openConnection } from "../bench/http_connection.ts";
import { type LoadResult, percentiles, runLoad } from "../bench/load.ts";
import { runOpenLoop } from "../bench/open_loop.ts";
import { batchBody, eventData, METADATA, streamId } from "../bench/requests.ts";
import type { RunningPeer } from "./catalog.ts";
import { append, AREA, fill, loadOf, measureWhole, rate, timesOf } from "./load_works.ts";
import {
  BUSY,
  DISK,
  HOT_STREAM,
  KEYED_APPEND,
  KEYED_HOT_STREAM,
  MANY_TYPES,
  nameOfAppend,
  nameOfBatches,
  nameOfGrowth,
} from "./names.ts";
import type { Sizes } from "./sizes.ts";
import { typeName, TYPES } from "./types_spec.ts";
import type { Measured, Outcome } from "./work.ts";
import { openZipf } from "./zipf.ts";

const SKEW = 0.99;
/**
 * Turns of half a figure's time each, so that a bad moment of the machine hits only one of
 * them.
 */
const TURNS = 3;
/** Batches of this size or more are so slow that the clock runs until the last one is answered. */
const SLOW_BATCH = 1_000;
/** Offered to every peer alike, so that latencies can be compared. */
const EQUAL_RATE = 1_000;
const OPEN_SHARE = 0.5;
const OPEN_CONNECTIONS = 256;

/** Takes all numbers of connections in turns; the figure of each is that of its median turn. */
export async function* appendSingles(
  peer: RunningPeer,
  sizes: Sizes,
): AsyncIterable<Outcome> {
  const turns = sizes.connections.map((connections) => ({
    connections,
    loads: [] as LoadResult[],
  }));
  const ofTurn = { ...sizes, seconds: sizes.seconds / 2 };
  for (let turn = 0; turn < TURNS; turn++) {
    for (const { connections, loads } of turns) {
      loads.push(
        await append(peer, ofTurn, { connections, choose: (number) => number % sizes.streams }),
      );
    }
  }
  for (const { connections, loads } of turns) {
    loads.sort((a, b) => a.requestsPerSecond - b.requestsPerSecond);
    yield rate(nameOfAppend(connections), loads[TURNS >> 1]!);
  }
}

export async function* appendToOne(
  peer: RunningPeer,
  sizes: Sizes,
): AsyncIterable<Outcome> {
  yield rate(HOT_STREAM, await append(peer, sizes, { connections: BUSY, choose: () => AREA }));
}

/** With idempotency keys, each of which adds an entry to the ledger. Only Daybook has them. */
export async function* appendWithKeys(
  peer: RunningPeer,
  sizes: Sizes,
): AsyncIterable<Outcome> {
  const { keyed } = peer;
  if (keyed === undefined) return;
  const spread = (number: number) => 11 * AREA + number % sizes.streams;
  yield rate(
    KEYED_APPEND,
    await append(peer, sizes, { connections: BUSY, choose: spread, requests: keyed }),
  );
  yield rate(
    KEYED_HOT_STREAM,
    await append(peer, sizes, { connections: BUSY, choose: () => 12 * AREA, requests: keyed }),
  );
}

export async function* appendByZipf(
  peer: RunningPeer,
  sizes: Sizes,
): AsyncIterable<Outcome> {
  const draw = openZipf(sizes.streams, SKEW, Math.random);
  const load = await append(peer, sizes, { connections: BUSY, choose: () => 2 * AREA + draw() });
  yield rate(`append by Zipf ${SKEW}, ${BUSY}`, load);
}

/** For stores that lock a whole type. */
export async function* appendToManyTypes(
  peer: RunningPeer,
  sizes: Sizes,
): AsyncIterable<Outcome> {
  await peer.deployTypes?.();
  const { requests } = peer.target;
  let number = 0;
  const load = await runLoad({
    ...timesOf(sizes),
    ...loadOf(peer),
    connections: BUSY,
    expectedStatus: 201,
    next: () => {
      const stream = streamId(9 * AREA + number % sizes.streams);
      const path = `/${typeName(number % TYPES)}/${stream}/was_credited`;
      return requests.write(path, `{"data":${eventData(number++)},"metadata":${METADATA}}`);
    },
  });
  yield rate(MANY_TYPES, load);
}

export async function* appendBatches(
  peer: RunningPeer,
  sizes: Sizes,
): AsyncIterable<Outcome> {
  const { requests } = peer.target;
  for (const size of sizes.batches) {
    const body = batchBody(size);
    let number = 0;
    const next = () => requests.batch(streamId(3 * AREA + number++ % sizes.streams), body);
    const connections = 2;
    const perSecond = size < SLOW_BATCH
      ? (await runLoad({
        ...timesOf(sizes),
        ...loadOf(peer),
        connections,
        expectedStatus: 201,
        next,
      })).requestsPerSecond
      : await measureWhole(peer, sizes, { connections, expectedStatus: 201, next });
    yield { work: nameOfBatches(size), value: perSecond * size, unit: "events/s" };
  }
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

export async function* writeAtomically(
  peer: RunningPeer,
  sizes: Sizes,
): AsyncIterable<Outcome> {
  const { target } = peer;
  for (const targets of [2, 10]) {
    const work = `atomic over ${targets} streams, 16`;
    const request = (number: number) =>
      target.requests.write("/_atomic-write", atomicBody(4 * AREA + number * targets, targets));
    const probe = await openConnection(target.port);
    const { status } = await probe.exchange(...request(0));
    probe.close();
    if (status === 501) {
      yield { work, reason: "has no write over several streams" };
      continue;
    }
    let number = 1;
    const load = await runLoad({
      ...timesOf(sizes),
      ...loadOf(peer),
      connections: 16,
      expectedStatus: 201,
      next: () => request(number++ % sizes.streams),
    });
    yield rate(work, load);
  }
}

/** Appends at scheduled times. Latency counts from the due time, whatever was late before. */
export async function* keepToSchedule(
  peer: RunningPeer,
  sizes: Sizes,
): AsyncIterable<Outcome> {
  const closed = await append(peer, sizes, {
    connections: BUSY,
    choose: (number) => 7 * AREA + number % sizes.streams,
  });
  const half = Math.max(1, Math.floor(closed.requestsPerSecond * OPEN_SHARE));
  const ownRate = `open loop at ${OPEN_SHARE * 100}% of its closed rate`;
  yield await offer(peer, sizes, ownRate, half);
  const work = `open loop at ${EQUAL_RATE}/s`;
  const most = Math.round(closed.requestsPerSecond);
  if (most > EQUAL_RATE) yield await offer(peer, sizes, work, EQUAL_RATE);
  else yield { work, reason: `its closed loop does ${most}/s` };
}

async function offer(
  { target }: RunningPeer,
  sizes: Sizes,
  work: string,
  perSecond: number,
): Promise<Measured> {
  const times: number[] = [];
  await runOpenLoop({
    port: target.port,
    connections: OPEN_CONNECTIONS,
    perSecond,
    seconds: sizes.seconds,
    async perform(connection, number, dueMs) {
      const stream = streamId(7 * AREA + number % sizes.streams);
      const reply = await connection.exchange(...target.requests.single(stream, number));
      if (reply.status !== 201) throw new Error(`${reply.status} ${bodyText(reply)}`);
      times.push(performance.now() - dueMs);
    },
  });
  const sorted = times.sort((a, b) => a - b);
  const p999 = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.999))]!;
  return { work, value: perSecond, unit: "req/s", latency: { ...percentiles(times), p999 } };
}

/** The rate of appends at two sizes of the store, and the bytes that an event takes on the disk. */
export async function* growAndMeasure(
  peer: RunningPeer,
  sizes: Sizes,
): AsyncIterable<Outcome> {
  const before = await peer.dataBytes();
  let stored = 0;
  let bytesEach: number | undefined;
  for (const size of sizes.growth) {
    const work = nameOfGrowth(size);
    const each = Math.ceil((size - stored) / sizes.streams);
    const events = await fill(peer, sizes, { first: 8 * AREA, count: sizes.streams, length: each });
    if (events === undefined) {
      yield { work, reason: `was not filled within ${sizes.fillSeconds} s` };
      break;
    }
    stored += events;
    bytesEach = (await peer.dataBytes() - before) / stored;
    const load = await append(peer, sizes, {
      connections: BUSY,
      choose: (number) => 8 * AREA + number % sizes.streams,
    });
    stored += load.requests;
    yield rate(work, load);
  }
  if (bytesEach !== undefined) yield { work: DISK, value: bytesEach, unit: "bytes" };
}
