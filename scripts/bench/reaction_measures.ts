/** Measures reactions over HTTP: implied events, timers, sagas. */

import { bodyText, type HttpConnection, openConnection, type Reply } from "./http_connection.ts";
import { type LoadResult, percentiles, runLoad, runWork } from "./load.ts";
import { processorMicros } from "./machine.ts";
import { askUntil, runOpenLoop, untilTime } from "./open_loop.ts";
import { LINES, orderRequests, SAGA_STEPS, sagaRequests } from "./reaction_requests.ts";
import { streamId } from "./requests.ts";
import { STREAMS, type Target } from "./server_measures.ts";
import type { Latency } from "./table.ts";

const CONNECTIONS = 64;
const WARMUP_SECONDS = 6;
/** An event that has not come after this time counts as lost. */
const PATIENCE_MS = 60_000;
/** Starting the sagas is not measured; on a cluster with few cores it takes long. */
const START_PATIENCE_MS = 300_000;

/** Each measure has its own streams, so that it does not see what another one has written. */
const SPLIT_STREAMS = 10_000;
const LATENCY_STREAMS = 100_000;
const TIMER_STREAMS = 1_000_000;
const FAR_STREAMS = 2_000_000;
const BATCH_EVENTS = 1_000;
const FAR_MS = 30 * 24 * 60 * 60 * 1000;
const LOOK_EVERY_MS = 10;
/** Looking at all streams slows down what is measured. */
const LOOK_AGAIN_MS = 500;
/** One timer in this many is looked at. */
const SAMPLE = 20;
/** Separate connections for looking, which must not wait behind the writes. */
const LOOKING_CONNECTIONS = 64;

type Requests = (number: number) => readonly Uint8Array[];

/** Measures plain writes of the same events, to which reactions add their cost. */
export function measureNoted(target: Target, seconds: number): Promise<LoadResult> {
  const { noted } = orderRequests(target.requests);
  return loadWrites(target, seconds, (number) => noted(streamId(number % STREAMS), number));
}

/** Measures triggers that imply one event each. The unit is an implied event that can be read. */
export async function measureImplied(target: Target, seconds: number): Promise<LoadResult> {
  const { placed } = orderRequests(target.requests);
  const result = await loadWrites(
    target,
    seconds,
    (number) => placed(streamId(number % STREAMS), number),
  );
  return await countReadable(target, result, "receipt", 0);
}

/** Measures triggers that imply several events, each in another stream. The unit is the same. */
export async function measureSplit(target: Target, seconds: number): Promise<LoadResult> {
  const { split } = orderRequests(target.requests);
  const result = await loadWrites(
    target,
    seconds,
    (number) =>
      split(
        streamId(number % STREAMS),
        number,
        (line) => streamId(SPLIT_STREAMS + (number * LINES + line) % STREAMS),
      ),
  );
  return await countReadable(target, result, "receipt", SPLIT_STREAMS);
}

/**
 * A load's result, with the number of implied events that all replies have named, those of the
 * warm-up included.
 */
type WriteResult = LoadResult & { readonly implied: number };

async function loadWrites(
  { port, serverPid }: Target,
  seconds: number,
  request: Requests,
): Promise<WriteResult> {
  let [number, implied] = [0, 0];
  const result = await runLoad({
    port,
    serverPid,
    connections: CONNECTIONS,
    seconds,
    warmupSeconds: WARMUP_SECONDS,
    expectedStatus: 201,
    next: () => request(number++),
    onReply: (reply) => {
      const count = Number(/"implied_count":(\d+)/.exec(bodyText(reply))?.[1] ?? 0);
      implied += count;
      return Math.max(1, count);
    },
  });
  return { ...result, implied };
}

/** Lowers the rate by the time until all implied events can be read: that time counts too. */
async function countReadable(
  target: Target,
  { implied, ...result }: WriteResult,
  type: string,
  first: number,
): Promise<LoadResult> {
  const lateSeconds =
    await untilReadable(target, { type, range: [first, STREAMS], events: implied }) / 1000;
  const seconds = result.requests / result.requestsPerSecond;
  const unitsPerSecond = result.unitsPerSecond * seconds / (seconds + lateSeconds);
  return { ...result, unitsPerSecond };
}

interface AwaitedStreams {
  readonly type: string;
  readonly range: readonly [number, number];
  readonly events: number;
  readonly patienceMs?: number;
}

/**
 * Waits until the streams of a type, `count` of them from `first` on, have `events` events.
 * Returns 0 if the first look finds them, else the milliseconds it took. Throws if there are
 * more.
 */
async function untilReadable(
  target: Target,
  { type, range: [first, count], events, patienceMs = PATIENCE_MS }: AwaitedStreams,
): Promise<number> {
  const startedMs = performance.now();
  for (let looks = 1;; looks++) {
    const found = await countEvents(target, type, first, count);
    if (found > events) throw new Error(`${found} events of ${type} where ${events} are due`);
    const lateMs = performance.now() - startedMs;
    if (found === events) return looks === 1 ? 0 : lateMs;
    if (lateMs > patienceMs) throw new Error(`${found} of ${events} events of ${type} are there`);
    if (looks > 1) await untilTime(performance.now() + LOOK_AGAIN_MS);
  }
}

async function countEvents(
  { port, requests }: Target,
  type: string,
  first: number,
  count: number,
): Promise<number> {
  let [next, events] = [0, 0];
  await runWork({
    port,
    connections: 8,
    expectedStatus: 200,
    next: () =>
      next < count ? requests.get(`/${type}/${streamId(first + next++)}/length`) : undefined,
    onReply: (reply) => events += JSON.parse(bodyText(reply)).length,
  });
  return events;
}

/**
 * Milliseconds from when a trigger should have been sent until its implied event was read. Each
 * pair has its own streams.
 */
export async function measureImpliedLatency(
  { port, serverPid, requests }: Target,
  perSecond: number,
  seconds: number,
): Promise<Latency> {
  const { placed } = orderRequests(requests);
  const latencies: number[] = [];
  const microsBefore = processorMicros(serverPid);
  await runOpenLoop({
    port,
    connections: CONNECTIONS,
    perSecond,
    seconds,
    async perform(connection, number, dueMs) {
      const stream = streamId(LATENCY_STREAMS + number);
      await write(connection, placed(stream, number));
      const heardMs = await untilEvent(connection, requests.get(`/receipt/${stream}/events`));
      latencies.push(heardMs - dueMs);
    },
  });
  const serverMicrosPerUnit = (processorMicros(serverPid) - microsBefore) / latencies.length;
  return { ...percentiles(latencies), serverMicrosPerUnit };
}

async function write(connection: HttpConnection, request: readonly Uint8Array[]): Promise<void> {
  const reply = await connection.exchange(...request);
  if (reply.status !== 201) throw new Error(`a write: ${reply.status} ${bodyText(reply)}`);
}

function untilEvent(connection: HttpConnection, request: readonly Uint8Array[]) {
  return askUntil(connection, request, {
    everyMs: LOOK_EVERY_MS,
    patienceMs: PATIENCE_MS,
    isThere: (reply) => firstEvent(reply) !== undefined,
  });
}

/** The first event of a listing. */
function firstEvent(reply: Reply) {
  if (reply.status !== 200) throw new Error(`a listing: ${reply.status} ${bodyText(reply)}`);
  return JSON.parse(bodyText(reply)).data[0]?.event;
}

/** Schedules `count` events for a month from now. */
export async function scheduleFarOff({ port, requests }: Target, count: number): Promise<void> {
  const { putOffBatch } = orderRequests(requests);
  let batches = Math.ceil(count / BATCH_EVENTS);
  await runWork({
    port,
    connections: 2,
    expectedStatus: 201,
    next: () =>
      batches-- > 0
        ? putOffBatch(streamId(FAR_STREAMS + batches), BATCH_EVENTS, FAR_MS)
        : undefined,
  });
}

export interface TimerResult {
  /** Milliseconds from `fire_at` until the event was read. */
  readonly errors: Latency;
  /** Of the writes, in milliseconds from when each should have been sent. */
  readonly writes: Latency;
  readonly writesPerSecond: number;
}

/**
 * Writes at a steady rate; each write schedules an event for `delayMs` later. After that time
 * as many events fire as are written.
 */
export async function measureTimers(
  target: Target,
  options: { readonly perSecond: number; readonly seconds: number; readonly delayMs: number },
): Promise<TimerResult> {
  const { perSecond, seconds, delayMs } = options;
  const { port, serverPid, requests } = target;
  const { putOff } = orderRequests(requests);
  const latencies: number[] = [];
  const looking: Promise<number>[] = [];
  const look = await openLooking(target, delayMs);
  const microsBefore = processorMicros(serverPid);
  const tookSeconds = await runOpenLoop({
    port,
    connections: CONNECTIONS,
    perSecond,
    seconds,
    async perform(connection, number, dueMs) {
      const stream = streamId(TIMER_STREAMS + number);
      await write(connection, putOff(stream, number, delayMs));
      const heardMs = performance.now();
      latencies.push(heardMs - dueMs);
      if (number % SAMPLE === 0) looking.push(look.untilFired(stream, heardMs));
    },
  });
  const errors = await Promise.all(looking);
  const serverMicrosPerUnit = (processorMicros(serverPid) - microsBefore) / latencies.length;
  look.close();
  return {
    errors: percentiles(errors),
    writes: { ...percentiles(latencies), serverMicrosPerUnit },
    writesPerSecond: latencies.length / tookSeconds,
  };
}

/** Looks at streams in which an event is to fire, on its own connections. */
async function openLooking({ port, requests }: Target, delayMs: number) {
  const connections = Array.from({ length: LOOKING_CONNECTIONS }, () => openConnection(port));
  const free = await Promise.all(connections);

  /** `scheduledMs`, by `performance.now()`, is not before the time the event was scheduled. */
  async function untilFired(stream: string, scheduledMs: number): Promise<number> {
    // Without a free connection a look is late, so the error counts as larger, never as smaller.
    await untilTime(scheduledMs + delayMs - LOOK_EVERY_MS);
    while (free.length === 0) await untilTime(performance.now() + LOOK_EVERY_MS);
    const connection = free.pop()!;
    let fireAtMs = NaN;
    const heardMs = await askUntil(connection, requests.get(`/receipt/${stream}/events`), {
      everyMs: LOOK_EVERY_MS,
      patienceMs: PATIENCE_MS,
      isThere(reply) {
        const event = firstEvent(reply);
        if (event === undefined) return false;
        fireAtMs = Date.parse(event.metadata.scheduled.fire_at) - performance.timeOrigin;
        return true;
      },
    });
    free.push(connection);
    return heardMs - fireAtMs;
  }

  return { untilFired, close: () => free.forEach((connection) => connection.close()) };
}

/** Starts `count` sagas, and resolves when all have done their first step and wait. */
export async function startSagas(target: Target, count: number): Promise<void> {
  const { begin } = sagaRequests(target.requests);
  let started = 0;
  await runWork({
    port: target.port,
    connections: 2,
    expectedStatus: 201,
    next: () => {
      if (started >= count) return undefined;
      started += BATCH_EVENTS;
      return begin(started - BATCH_EVENTS, BATCH_EVENTS);
    },
  });
  await untilReadable(target, {
    type: "stop",
    range: [0, count],
    events: count,
    patienceMs: START_PATIENCE_MS,
  });
}

/**
 * Writes the awaited events, one saga after the other. Each moves a saga one step on: it writes
 * the next event and waits again. The unit is a step whose event can be read.
 */
export async function measureSagas(
  target: Target,
  sagas: number,
  seconds: number,
): Promise<LoadResult> {
  const { reach } = sagaRequests(target.requests);
  let events = 0;
  const request = (number: number) => {
    if (number >= sagas * (SAGA_STEPS - 1)) throw new Error("the sagas have no steps left");
    events++;
    return reach(number % sagas);
  };
  const { implied: _, ...result } = await loadWrites(target, seconds, request);
  const lateMs = await untilReadable(target, {
    type: "stop",
    range: [0, sagas],
    events: sagas + 2 * events,
  });
  const unitsPerSecond = result.requests / (seconds + lateMs / 1000);
  return { ...result, unitsPerSecond };
}
