/** The rows about deliveries to listeners: how many, how soon, and beside failing endpoints. */

import type { ServerProcess } from "../../tests/support/server_process.ts";
import { startListening } from "./listening_script.ts";
import { percentiles, runWork } from "./load.ts";
import { processorMicros } from "./machine.ts";
import { runOpenLoop } from "./open_loop.ts";
import { METADATA, streamId } from "./requests.ts";
import { deployBenchSpec, type Target, targetOf } from "./server_measures.ts";
import type { Row } from "./table.ts";

export interface DeliveryBench {
  readonly isQuick: boolean;
  /** Starts a server that is allowed to deliver to this machine. */
  readonly start: () => Promise<ServerProcess>;
  readonly add: (row: Row) => void;
}

interface Received {
  readonly count: number;
  readonly lastMs: number;
  /** For each event: when it should have been sent, and when it arrived. */
  readonly times: readonly (readonly [at: number, cameMs: number])[];
}
type Report = Readonly<Record<string, Received>>;

interface Sink {
  readonly port: number;
  report(): Promise<Report>;
  close(): Promise<void>;
}

const ENVIRONMENT = "staging";
const LISTENERS = 10;
const WELL = Array.from({ length: LISTENERS - 2 }, (_, index) => `well_${index}`);
const WRITES_PER_SECOND = 200;
const CONNECTIONS = 64;
const BATCH_EVENTS = 50;
const STREAMS = 400;
/** Turns with and without the failing endpoints, alternating, and the length of each. */
const TURNS = 15;
const TURN_SECONDS = 3;
const PATIENCE_MS = 120_000;
/** Nothing listens on this port. */
const DEAD_PORT = 1;

export async function measureDeliveries(bench: DeliveryBench): Promise<void> {
  const sink = await startSink();
  const server = await bench.start();
  try {
    const target = targetOf(server, ENVIRONMENT);
    await deployBenchSpec(server, ENVIRONMENT, specOf({ all: urlOf(sink.port, "all") }, 1));
    await measureRate(bench, target, sink);
    await measureLatency(bench, target, sink);
    await measureBulkheads(bench, server, target, sink);
  } catch (error) {
    console.error(`server: ${server.howItEnded() ?? "still running"}\n${server.output()}`);
    throw error;
  } finally {
    await server.stop();
    await sink.close();
  }
}

/** The sink is part of the load, so it runs where the load generator runs. */
async function startSink(): Promise<Sink> {
  const { port, stop } = await startListening("delivery_sink.ts");
  return {
    port,
    report: async () => await (await fetch(`http://127.0.0.1:${port}/report`)).json() as Report,
    close: stop,
  };
}

function urlOf(port: number, listener: string): string {
  return `http://127.0.0.1:${port}/${listener}`;
}

/** One event type for each listener, which hears no other; a single listener hears all events. */
function specOf(urls: Readonly<Record<string, string>>, types: number) {
  const schema = {
    type: "object",
    properties: { at: { type: "number" }, note: { type: "string" } },
    required: ["at"],
  };
  const event = { schema, handler: [{ increment: { target: "events" } }] };
  const events = Object.fromEntries(
    Array.from({ length: types }, (_, index) => [`was_noted_${index}`, event]),
  );
  const secret = "a secret for the bench only";
  const listeners = Object.entries(urls).map(([name, url], index) => [
    name,
    { url, secret, events: types === 1 ? ["*"] : [`order.was_noted_${index}`] },
  ]);
  return {
    agent_types: ["person"],
    aggregate_types: { order: { events } },
    modules: { listeners: Object.fromEntries(listeners) },
  };
}

const NOTE = "n".repeat(180);

function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

/** Writes a backlog as fast as the server takes it, and measures how fast it is delivered. */
async function measureRate({ isQuick, add }: DeliveryBench, target: Target, sink: Sink) {
  const rounds = isQuick ? 1 : 2;
  await deliverBacklog(target, sink, STREAMS);
  const { count, seconds, micros } = await deliverBacklog(target, sink, rounds * STREAMS);
  const latency = { p50: NaN, p95: NaN, p99: NaN, max: NaN, serverMicrosPerUnit: micros };
  add({
    name: `deliveries of a backlog, ${STREAMS} streams`,
    value: count / seconds,
    unit: "1/s",
    target: { atLeast: 1_500 },
    latency,
    note: `1 listener, local sink; with the writes, in batches of ${BATCH_EVENTS}`,
  });
}

async function deliverBacklog({ port, requests, serverPid }: Target, sink: Sink, batches: number) {
  const event = `{"type":"was_noted_0","data":{"at":0,"note":"${NOTE}"}}`;
  const events = Array.from({ length: BATCH_EVENTS }, () => event).join(",");
  const body = `{"events":[${events}],"metadata":${METADATA}}`;
  await sink.report();
  const [startedMs, before] = [nowMs(), processorMicros(serverPid)];
  let next = 0;
  const write = () => {
    if (next === batches) return undefined;
    return requests.write(`/order/${streamId(next++ % STREAMS)}`, body);
  };
  await runWork({ port, connections: 8, expectedStatus: 201, next: write });
  const wanted = batches * BATCH_EVENTS;
  let [count, lastMs] = [0, startedMs];
  while (count < wanted) {
    if (nowMs() - startedMs > PATIENCE_MS) throw new Error(`${count} of ${wanted} deliveries came`);
    await pause(100);
    const { all } = await sink.report();
    count += all?.count ?? 0;
    lastMs = Math.max(lastMs, all?.lastMs ?? 0);
  }
  const micros = (processorMicros(serverPid) - before) / count;
  return { count, seconds: (lastMs - startedMs) / 1000, micros };
}

/** Milliseconds from the reply to a write to its delivery; 0 if the delivery came first. */
async function measureLatency({ isQuick, add }: DeliveryBench, target: Target, sink: Sink) {
  await writeSteadily(target, 1, 2);
  await pause(500);
  await sink.report();
  const repliedMs = await writeSteadily(target, 1, isQuick ? 5 : 10);
  await pause(1_000);
  const { times } = (await sink.report()).all!;
  if (times.length !== repliedMs.size) throw new Error(`${times.length} deliveries came`);
  const latency = percentiles(latenciesOf(times, repliedMs));
  const whole = percentiles(wholeLatenciesOf(times));
  add({
    name: "commit to delivery, p99",
    value: latency.p99,
    unit: "ms",
    target: { below: 150 },
    latency,
    note:
      `open loop, ${WRITES_PER_SECOND} events/s, from the reply; from when the write should have ` +
      `been sent p50 ${whole.p50.toFixed(1)}, p99 ${whole.p99.toFixed(1)}`,
  });
}

function latenciesOf(times: Received["times"], repliedMs: ReadonlyMap<number, number>): number[] {
  return times.map(([at, cameMs]) => Math.max(0, cameMs - repliedMs.get(at)!));
}

function wholeLatenciesOf(times: Received["times"]): number[] {
  return times.map(([at, cameMs]) => cameMs - at);
}

/** Returns when each write was answered, by when it should have been sent. */
async function writeSteadily(
  { port, requests }: Target,
  types: number,
  seconds: number,
): Promise<ReadonlyMap<number, number>> {
  const repliedMs = new Map<number, number>();
  let stream = Math.floor(Math.random() * 2 ** 30);
  const offsetMs = performance.timeOrigin;
  await runOpenLoop({
    port,
    connections: CONNECTIONS,
    perSecond: WRITES_PER_SECOND,
    seconds,
    async perform(connection, number, dueMs) {
      const at = (offsetMs + dueMs).toFixed(3);
      const data = `{"at":${at},"note":"${NOTE}"}`;
      const path = `/order/${streamId(stream++)}/was_noted_${number % types}`;
      const body = `{"data":${data},"metadata":${METADATA}}`;
      const { status } = await connection.exchange(...requests.write(path, body));
      repliedMs.set(Number(at), nowMs());
      if (status !== 201) throw new Error(`expected 201: ${status}`);
    },
  });
  return repliedMs;
}

/**
 * Compares ten healthy listeners with eight beside a dead and a slow one, in alternating turns.
 * The latency runs from when a write should have been sent to its delivery, because most
 * deliveries come before the reply to their write.
 */
async function measureBulkheads(
  { isQuick, add }: DeliveryBench,
  server: ServerProcess,
  target: Target,
  sink: Sink,
): Promise<void> {
  const well: number[] = [];
  const beside: number[] = [];
  for (let turn = 0; turn < (isQuick ? 3 : TURNS); turn++) {
    // Alternate which of the two comes first.
    for (const isWell of turn % 2 === 0 ? [true, false] : [false, true]) {
      await deployBenchSpec(server, ENVIRONMENT, specOf(urlsOf(sink.port, isWell), LISTENERS));
      await writeSteadily(target, LISTENERS, 1);
      await pause(500);
      await sink.report();
      await writeSteadily(target, LISTENERS, TURN_SECONDS);
      await pause(1_000);
      const report = await sink.report();
      // Both cases look at the same eight listeners.
      const times = WELL.flatMap((name) => report[name]?.times ?? []);
      (isWell ? well : beside).push(percentiles(wholeLatenciesOf(times)).p99);
    }
  }
  const [before, after] = [percentiles(well).p50, percentiles(beside).p50];
  add({
    name: "p99 of 8 listeners beside a dead and a slow one, against 10 that are well",
    value: 100 * (after / before - 1),
    unit: "%",
    target: { below: 15 },
    latency: percentiles(beside),
    note: `${before.toFixed(1)} ms to ${after.toFixed(1)} ms, medians of ${well.length} turns`,
  });
}

function urlsOf(port: number, isWell: boolean): Record<string, string> {
  const urls = Object.fromEntries(WELL.map((name) => [name, urlOf(port, name)]));
  if (isWell) return { ...urls, a: urlOf(port, "a"), b: urlOf(port, "b") };
  return { ...urls, a: `http://127.0.0.1:${DEAD_PORT}/`, b: urlOf(port, "slow") };
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
