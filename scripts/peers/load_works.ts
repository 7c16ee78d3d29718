/** How the works load a peer: single appends, slow requests counted whole, and filling. */

import { type LoadResult, runLoad, runWork } from "../bench/load.ts";
import { batchBody, type RequestBuilder, streamId } from "../bench/requests.ts";
import type { RunningPeer } from "./catalog.ts";
import type { Sizes } from "./sizes.ts";
import type { Measured } from "./work.ts";

/** Each work has its own streams, so that none finds what another has left. */
export const AREA = 1_000_000;
/** The streams of the warm-up before the first figure. */
export const WARMUP_AREA = 10 * AREA;
const FILL_BATCH = 1_000;

export function rate(work: string, load: LoadResult): Measured {
  const { p50, p95, p99, serverMicrosPerUnit: serverMicros } = load;
  const measured = {
    work,
    value: load.requestsPerSecond,
    unit: "req/s",
    latency: { p50, p95, p99 },
  };
  return Number.isFinite(serverMicros) ? { ...measured, serverMicros } : measured;
}

export function timesOf({ seconds, settleSeconds }: Sizes) {
  return { seconds, warmupSeconds: settleSeconds };
}

export interface AppendLoad {
  readonly connections: number;
  readonly choose: (number: number) => number;
  readonly requests?: RequestBuilder;
}

/** Appends single events to the streams that `choose` names. */
export async function append(
  peer: RunningPeer,
  sizes: Sizes,
  { connections, choose, requests = peer.target.requests }: AppendLoad,
): Promise<LoadResult> {
  let number = 0;
  return await runLoad({
    ...timesOf(sizes),
    ...loadOf(peer),
    connections,
    expectedStatus: 201,
    next: () => requests.single(streamId(choose(number)), number++),
  });
}

export function loadOf(peer: RunningPeer) {
  return { port: peer.target.port, serverPids: () => peer.pids() };
}

export interface WholeLoad {
  readonly connections: number;
  readonly expectedStatus: number;
  readonly next: () => readonly Uint8Array[];
}

/**
 * For slow requests: counts all that begin within the time; the time ends with the last reply.
 * Returns requests per second.
 */
export async function measureWhole(
  { target }: RunningPeer,
  { seconds, warmupSeconds }: Sizes,
  { connections, expectedStatus, next }: WholeLoad,
): Promise<number> {
  async function runFor(length: number) {
    const endMs = performance.now() + length * 1000;
    return await runWork({
      port: target.port,
      connections,
      expectedStatus,
      next: () => performance.now() < endMs ? next() : undefined,
    });
  }
  await runFor(warmupSeconds);
  const done = await runFor(seconds);
  return done.requests / done.seconds;
}

export interface FilledStreams {
  readonly first: number;
  readonly count: number;
  readonly length: number;
}

/**
 * Appends `length` events, or a few more, to each of `count` streams from `first` on. Returns
 * the total number of events; undefined if time ran out.
 */
export async function fill(
  { target }: RunningPeer,
  { fillSeconds }: Sizes,
  { first, count, length }: FilledStreams,
): Promise<number | undefined> {
  const endMs = performance.now() + fillSeconds * 1000;
  const size = Math.min(length, FILL_BATCH);
  const body = batchBody(size);
  const batches = count * Math.ceil(length / size);
  let left = batches;
  await runWork({
    port: target.port,
    connections: 2,
    expectedStatus: 201,
    next: () => {
      if (left === 0 || performance.now() > endMs) return undefined;
      return target.requests.batch(streamId(first + --left % count), body);
    },
  });
  return left === 0 ? batches * size : undefined;
}
