/** Measures a real server over HTTP: durable, with schema check, ledger and chain. */

import type { EnvironmentName, ServerProcess } from "../../tests/support/server_process.ts";
import { bodyText, type HttpConnection, openConnection, type Reply } from "./http_connection.ts";
import { type LoadResult, runLoad, runWork } from "./load.ts";
import {
  batchBody,
  BENCH_SPEC,
  type RequestBuilder,
  requestBuilder,
  streamId,
} from "./requests.ts";
import { limits } from "../../src/domain/limits.ts";

export const STREAMS = 5_000;
/** The time until the write path is fully compiled; before, a write costs half as much more. */
export const WRITE_WARMUP_SECONDS = 8;
export const HOT_WARMUP_SECONDS = 1;
/** The share of the batches that is written before the clock starts, for the same reason. */
const WARMUP_SHARE = 0.2;
const CONNECTIONS = 64;
const BIG_STREAM = streamId(900_000);
const ONE_EVENT_STREAM = streamId(900_001);

export interface Target {
  readonly port: number;
  readonly serverPid: number;
  readonly requests: RequestBuilder;
  /** The header of the key; the peers' servers need none. */
  readonly authorization?: string;
}

/** An environment of the server, with its write key. */
export function targetOf(server: ServerProcess, environment: EnvironmentName = "test"): Target {
  const port = Number(new URL(server.baseUrls[environment]).port);
  const key = server.credentials.keys[environment].write;
  const requests = requestBuilder(key);
  return { port, serverPid: server.pid, requests, authorization: `Bearer ${key}` };
}

export async function deployBenchSpec(
  server: ServerProcess,
  environment: EnvironmentName = "test",
  spec: object = BENCH_SPEC,
): Promise<void> {
  const { instance_id, operator_token } = server.credentials;
  const reply = await fetch(`${server.baseUrls[environment]}/api/instances/${instance_id}/spec`, {
    method: "POST",
    headers: { authorization: `Bearer ${operator_token}`, "content-type": "application/json" },
    body: JSON.stringify({ environment, spec }),
  });
  const text = await reply.text();
  if (!reply.ok) throw new Error(`deploying the spec: ${reply.status} ${text}`);
}

/** Chooses the stream, of 5,000, for the write of this number. */
export type StreamChoice = (number: number) => number;

/** Writes single events to 5,000 streams, each with its own idempotency key. */
export async function measureSingles(
  { port, serverPid, requests }: Target,
  connections: number,
  seconds: number,
  choose: StreamChoice = (number) => number % STREAMS,
): Promise<LoadResult> {
  let number = 0;
  return await runLoad({
    port,
    serverPid,
    connections,
    seconds,
    warmupSeconds: WRITE_WARMUP_SECONDS,
    expectedStatus: 201,
    next: () => requests.single(streamId(choose(number)), number++),
  });
}

export async function measureHotStream(
  { port, serverPid, requests }: Target,
  seconds: number,
): Promise<LoadResult> {
  let number = 0;
  return await runLoad({
    port,
    serverPid,
    connections: CONNECTIONS,
    seconds,
    warmupSeconds: HOT_WARMUP_SECONDS,
    expectedStatus: 201,
    next: () => requests.single("global", number++),
  });
}

/** Appends the same number of events to each of the 5,000 streams, in batches. */
export async function fillStreams(
  { port, requests }: Target,
  eventsEach: number,
): Promise<void> {
  const batchEvents = Math.min(eventsEach, 1_000);
  const body = batchBody(batchEvents);
  const batches = Math.ceil(eventsEach / batchEvents) * STREAMS;
  let number = 0;
  await runWork({
    port,
    connections: 4,
    expectedStatus: 201,
    next: () => number < batches ? requests.batch(streamId(number++ % STREAMS), body) : undefined,
  });
}

/** Appends one batch of so many events to each of the first streams, over 16 connections. */
export async function fillEachOnce(
  { port, requests }: Target,
  streams: number,
  eventsEach: number,
): Promise<void> {
  const body = batchBody(eventsEach);
  let next = 0;
  await runWork({
    port,
    connections: 16,
    expectedStatus: 201,
    next: () => next < streams ? requests.batch(streamId(next++), body) : undefined,
  });
}

/** Fills one stream to the given length in batches of 10,000; returns events per second. */
export async function measureBatches(
  { port, requests }: Target,
  events: number,
): Promise<number> {
  const body = batchBody(limits.batchEventsMax);
  async function append(count: number): Promise<number> {
    let left = count;
    const { seconds } = await runWork({
      port,
      connections: 2,
      expectedStatus: 201,
      next: () => left-- > 0 ? requests.batch(BIG_STREAM, body) : undefined,
    });
    return seconds;
  }
  const batches = events / limits.batchEventsMax;
  const early = Math.floor(batches * WARMUP_SHARE);
  await append(early);
  return (batches - early) * limits.batchEventsMax / await append(batches - early);
}

export async function measureAggregates(
  { port, serverPid, requests }: Target,
  seconds: number,
): Promise<LoadResult> {
  const prepared = Array.from({ length: 1_000 }, (_, i) => requests.get(`/account/${streamId(i)}`));
  let number = 0;
  return await runLoad({
    port,
    serverPid,
    connections: CONNECTIONS,
    seconds,
    warmupSeconds: 2,
    expectedStatus: 200,
    next: () => prepared[number++ % prepared.length]!,
  });
}

/**
 * Measures `/length` of a stream of one event and of the big one, in turns, so that both meet
 * the same conditions.
 */
export async function measureLengths(
  { port, serverPid, requests }: Target,
): Promise<{ readonly one: LoadResult; readonly big: LoadResult }> {
  const writer = await openConnection(port);
  const lengthOf = async (stream: string, reader: HttpConnection) => {
    const reply = await reader.exchange(...requests.get(`/account/${stream}/length`));
    return JSON.parse(bodyText(reply)).length as number;
  };
  if (await lengthOf(ONE_EVENT_STREAM, writer) === 0) {
    await writer.exchange(...requests.single(ONE_EVENT_STREAM, 1));
  }
  const [one, big] = [await lengthOf(ONE_EVENT_STREAM, writer), await lengthOf(BIG_STREAM, writer)];
  if (one !== 1 || big < 1_000_000) throw new Error(`lengths are ${one} and ${big}`);
  writer.close();
  const runs: Record<string, LoadResult[]> = { [ONE_EVENT_STREAM]: [], [BIG_STREAM]: [] };
  for (let turn = 0; turn < 3; turn++) {
    for (const stream of [ONE_EVENT_STREAM, BIG_STREAM]) {
      const request = requests.get(`/account/${stream}/length`);
      const options = { port, serverPid, connections: CONNECTIONS, seconds: 1, warmupSeconds: 0.3 };
      runs[stream]!.push(await runLoad({ ...options, expectedStatus: 200, next: () => request }));
    }
  }
  return { one: middle(runs[ONE_EVENT_STREAM]!), big: middle(runs[BIG_STREAM]!) };
}

function middle(runs: readonly LoadResult[]): LoadResult {
  return [...runs].sort((a, b) => a.requestsPerSecond - b.requestsPerSecond)[runs.length >> 1]!;
}

/** Reads raw pages of 5,000 events through the big stream, over and over; the unit is one event. */
export async function measureListing(
  { port, serverPid, requests }: Target,
  seconds: number,
): Promise<LoadResult> {
  const path = `/account/${BIG_STREAM}/events?raw=true&count=5000`;
  const starts = new Map<number, string | undefined>();
  return await runLoad({
    port,
    serverPid,
    connections: 2,
    seconds,
    expectedStatus: 200,
    next: (connection) => {
      const start = starts.get(connection);
      return requests.get(start === undefined ? path : `${path}&start=${start}`);
    },
    onReply: (reply, connection) => {
      starts.set(connection, nextStart(reply));
      return countEntries(reply);
    },
  });
}

function nextStart(reply: Reply): string | undefined {
  const tail = reply.bytes.subarray(Math.max(reply.bodyStart, reply.bodyEnd - 400), reply.bodyEnd);
  return /"next_start":"([^"]+)"/.exec(new TextDecoder().decode(tail))?.[1];
}

/** Counts the entries itself: each has one `hash`, and event data has none here. */
function countEntries(reply: Reply): number {
  const text = bodyText(reply);
  let count = 0;
  for (let at = text.indexOf('hash":"'); at >= 0; at = text.indexOf('hash":"', at + 1)) count++;
  return count;
}

/** The no-op route under the same load as the real routes. */
export async function measureNoop(port: number, serverPid: number, seconds: number): Promise<{
  readonly get: LoadResult;
  readonly post: LoadResult;
}> {
  const requests = requestBuilder("no-key");
  const getRequest = requests.get("/noop");
  let number = 0;
  const options = { port, serverPid, connections: CONNECTIONS, seconds };
  const get = await runLoad({ ...options, expectedStatus: 200, next: () => getRequest });
  const post = await runLoad({
    ...options,
    expectedStatus: 201,
    next: () => {
      const [bytes] = requests.single("x", number++);
      return [renamed(bytes!)];
    },
  });
  return { get, post };
}

/** The same bytes with the path `/noop`: body, headers and their cost stay as they are. */
export function renamed(request: Uint8Array): Uint8Array<ArrayBuffer> {
  const path = new TextEncoder().encode("POST /noop");
  const space = request.indexOf(0x20, 5);
  const out = new Uint8Array(path.length + request.length - space);
  out.set(path);
  out.set(request.subarray(space), path.length);
  return out;
}
