/** The works that read over HTTP: the same requests to every peer, in the same order. */

import { bodyText, openConnection } from "../bench/http_connection.ts";
import { percentiles, runLoad } from "../bench/load.ts";
import { streamId } from "../bench/requests.ts";
import type { RunningPeer } from "./catalog.ts";
import { AREA, fill, loadOf, measureWhole, rate, timesOf, WARMUP_AREA } from "./load_works.ts";
import { BUSY, nameOfCachedRead } from "./names.ts";
import type { Sizes } from "./sizes.ts";
import type { Outcome } from "./work.ts";

const LIST_PAGE = 200;
/** Aggregates of this length or more take so long that few are read at a time. */
const LONG_AGGREGATE = 100_000;
const LONG_READERS = 4;
/** Daybook folds only a limited number of bytes of events for one request. */
const REFUSED = 422;
const NOT_FILLED = "what is to be read was not written in time";

/** How many streams of a length are read, so that the number of events is about the same. */
function countOf(length: number): number {
  return Math.max(1, Math.min(200, Math.round(20_000 / length)));
}

export async function* readAggregates(
  peer: RunningPeer,
  sizes: Sizes,
): AsyncIterable<Outcome> {
  const filled: { length: number; first: number }[] = [];
  for (const [index, length] of sizes.lengths.entries()) {
    const first = 5 * AREA + index * 10_000;
    const events = await fill(peer, sizes, { first, count: countOf(length), length });
    if (events !== undefined) filled.push({ length, first });
    else yield { work: `first read of ${length} events`, reason: NOT_FILLED };
  }
  await fill(peer, sizes, { first: WARMUP_AREA, count: sizes.streams, length: 1 });
  await peer.forget?.();
  await warmUp(peer, sizes);
  for (const { length, first } of filled) {
    const pathOf = (number: number) => `/account/${streamId(first + number % countOf(length))}`;
    yield await readOnce(peer, `first read of ${length} events`, length, pathOf);
    yield await readAgain(peer, sizes, length, pathOf);
    const replayed = (number: number) => `${pathOf(number)}?synchronous=true`;
    yield await readOnce(peer, `replay of ${length} events`, length, replayed);
  }
}

/** Reads before the first figure, until the code that reads is compiled. */
async function warmUp(peer: RunningPeer, sizes: Sizes): Promise<void> {
  const { requests } = peer.target;
  let number = 0;
  const next = () => {
    const query = number % 2 === 0 ? "" : "?synchronous=true";
    return requests.get(`/account/${streamId(WARMUP_AREA + number++ % sizes.streams)}${query}`);
  };
  const times = { seconds: sizes.warmupSeconds, warmupSeconds: 0 };
  await runLoad({ ...times, ...loadOf(peer), connections: BUSY, expectedStatus: 200, next });
}

/** Reads each aggregate once, one after the other. */
async function readOnce(
  { target }: RunningPeer,
  work: string,
  length: number,
  pathOf: (number: number) => string,
): Promise<Outcome> {
  const connection = await openConnection(target.port);
  const times: number[] = [];
  try {
    for (let number = 0; number < countOf(length); number++) {
      const beganMs = performance.now();
      const reply = await connection.exchange(...target.requests.get(pathOf(number)));
      if (reply.status === REFUSED) return { work, reason: bodyText(reply) };
      if (reply.status !== 200) throw new Error(`${reply.status} ${bodyText(reply)}`);
      times.push(performance.now() - beganMs);
    }
  } finally {
    connection.close();
  }
  const latency = percentiles(times);
  return { work, value: latency.p50, unit: "ms", latency };
}

async function readAgain(
  peer: RunningPeer,
  sizes: Sizes,
  length: number,
  pathOf: (number: number) => string,
): Promise<Outcome> {
  const { requests } = peer.target;
  let number = 0;
  const next = () => requests.get(pathOf(number++));
  if (length >= LONG_AGGREGATE) {
    const value = await measureWhole(peer, sizes, {
      connections: LONG_READERS,
      expectedStatus: 200,
      next,
    });
    return { work: nameOfCachedRead(length, LONG_READERS), value, unit: "req/s" };
  }
  const load = { ...timesOf(sizes), ...loadOf(peer), connections: BUSY, expectedStatus: 200, next };
  return rate(nameOfCachedRead(length, BUSY), await runLoad(load));
}

/** Reads pages of ids, each from another start. */
export async function* listStreams(
  peer: RunningPeer,
  sizes: Sizes,
): AsyncIterable<Outcome> {
  const work = `listing of ${LIST_PAGE} ids, 4`;
  if (await fill(peer, sizes, { first: 0, count: sizes.streams, length: 1 }) === undefined) {
    yield { work, reason: NOT_FILLED };
    return;
  }
  const { requests } = peer.target;
  let number = 0;
  const load = await runLoad({
    ...timesOf(sizes),
    ...loadOf(peer),
    connections: 4,
    expectedStatus: 200,
    next: () => {
      const start = streamId(number++ % sizes.streams);
      return requests.get(`/account?limit=${LIST_PAGE}&start=${start}`);
    },
  });
  yield rate(work, load);
}

/** As many connections write as read. */
export async function* mixReadsAndWrites(
  peer: RunningPeer,
  sizes: Sizes,
): AsyncIterable<Outcome> {
  const { requests } = peer.target;
  const connections = BUSY / 2;
  const works = [
    `mixed: writes of ${connections} beside ${connections} readers`,
    `mixed: reads of ${connections} beside ${connections} writers`,
  ] as const;
  if (
    await fill(peer, sizes, { first: 6 * AREA, count: sizes.streams, length: 10 }) === undefined
  ) {
    for (const work of works) yield { work, reason: NOT_FILLED };
    return;
  }
  let number = 0;
  const stream = () => streamId(6 * AREA + number++ % sizes.streams);
  const half = { ...timesOf(sizes), port: peer.target.port, connections };
  const [written, read] = await Promise.all([
    runLoad({ ...half, expectedStatus: 201, next: () => requests.single(stream(), number) }),
    runLoad({ ...half, expectedStatus: 200, next: () => requests.get(`/account/${stream()}`) }),
  ]);
  yield rate(works[0], written);
  yield rate(works[1], read);
}
