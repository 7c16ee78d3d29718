/** The main table: writes, reads, offline verification, and writes with millions stored. */

import { type ServerProcess, startServer } from "../../tests/support/server_process.ts";
import { measureOffline } from "./audit_measures.ts";
import type { Bench } from "./bench.ts";
import { measureFold } from "./fold_measure.ts";
import { startListening } from "./listening_script.ts";
import { type LoadResult, percentiles } from "./load.ts";
import { measureSync, residentMemory } from "./machine.ts";
import * as measures from "./server_measures.ts";
import type { Row } from "./table.ts";

/** Requests per second with nothing behind them; other rows are compared with these. */
interface NoopRates {
  readonly get: number;
  readonly post: number;
}

async function measureNoop(bench: Bench): Promise<NoopRates> {
  const { port, pid, stop } = await startListening("noop_server.ts", bench);
  try {
    const { get, post } = await measures.measureNoop(port, pid, bench.isQuick ? 2 : 3);
    addRate(bench, "no-op GET, 64", get, { note: "Hono alone" });
    addRate(bench, "no-op POST, 64", post, { note: "Hono alone" });
    return { get: get.requestsPerSecond, post: post.requestsPerSecond };
  } finally {
    await stop();
  }
}

function addSyncs(bench: Bench): void {
  const syncs = percentiles(measureSync(bench.dataDir, 300));
  const note = "4 KiB append, fdatasync";
  bench.add({ name: "raw fsync", value: syncs.p50, unit: "ms", latency: syncs, note });
}

function addRate(bench: Bench, name: string, result: LoadResult, more: Partial<Row> = {}): void {
  bench.add({ name, value: result.requestsPerSecond, unit: "req/s", latency: result, ...more });
}

/** Returns the result of single writes, which are measured again later. */
async function measureWrites(
  bench: Bench,
  server: ServerProcess,
  noop: number,
): Promise<LoadResult> {
  const target = measures.targetOf(server);
  const seconds = bench.isQuick ? 5 : 8;
  await measures.fillStreams(target, 20);
  const singles = await measures.measureSingles(target, 64, seconds);
  addRate(bench, "single POST, 64, 5,000 streams", singles, {
    target: { atLeast: 6_000 },
    p99BelowMs: 30,
    noop,
    note: "100,000 stored; goal 10,000",
  });
  const alone = await measures.measureSingles(target, 1, 2);
  addRate(bench, "single POST, 1 connection", alone, { note: "one sync each" });
  const hot = await measures.measureHotStream(target, bench.isQuick ? 4 : 6);
  addRate(bench, "single POST, 64, one hot stream", hot, {
    target: { atLeast: 5_000 },
    noop,
    note: "unguarded",
  });
  bench.add({
    name: "batch of 10,000 events, 2",
    value: await measures.measureBatches(target, 1_000_000),
    unit: "events/s",
    target: { atLeast: 60_000 },
    note: "one stream to 1,000,000",
  });
  return singles;
}

async function measureReads(bench: Bench, server: ServerProcess, noop: number): Promise<void> {
  const target = measures.targetOf(server);
  const aggregates = await measures.measureAggregates(target, bench.isQuick ? 3 : 4);
  addRate(bench, "cached GET aggregate, 64", aggregates, {
    target: { atLeast: 15_000 },
    noop,
    note: "1,000 streams; goal 30,000",
  });
  const { one, big } = await measures.measureLengths(target);
  for (const [result, events] of [[one, "1 event"], [big, "1,000,000 events"]] as const) {
    addRate(bench, `GET /length of ${events}, 64`, result, { noop });
  }
  bench.add({
    name: "/length, 1 to 1,000,000 events",
    value: one.requestsPerSecond / big.requestsPerSecond,
    unit: "x",
    target: { below: 1.2 },
  });
  const listing = await measures.measureListing(target, bench.isQuick ? 3 : 4);
  bench.add({
    name: "raw listing, pages of 5,000, 2",
    value: listing.unitsPerSecond,
    unit: "events/s",
    target: { atLeast: 150_000 },
    latency: listing,
  });
  bench.add({
    name: "tick fold, in process",
    value: measureFold(),
    unit: "events/s",
    target: { atLeast: 700_000 },
  });
}

/** Measures what changes, or must not change, once 5 million events are stored. */
async function measureFull(
  bench: Bench,
  server: ServerProcess,
  noop: number,
  before: LoadResult,
): Promise<ServerProcess> {
  const startedAt = performance.now();
  await measures.fillStreams(measures.targetOf(server), 800);
  const fillRate = measures.STREAMS * 800 / (performance.now() - startedAt) * 1000;
  bench.add({ name: "fill, batches of 800, 4", value: fillRate, unit: "events/s" });
  const singles = await measures.measureSingles(measures.targetOf(server), 64, 8);
  addRate(bench, "single POST, 64, 5,000,000 stored", singles, { noop });
  const microsRatio = singles.serverMicrosPerUnit / before.serverMicrosPerUnit;
  bench.add({
    name: "its rate to that at 100,000 stored",
    value: singles.requestsPerSecond / before.requestsPerSecond,
    unit: "x",
    target: { atLeast: 0.85 },
    note: `its processor time: ${microsRatio.toFixed(2)} x`,
  });
  await server.stop();
  return await start(bench, "5,000,000 stored");
}

async function start(bench: Bench, note: string): Promise<ServerProcess> {
  const server = await startServer({ dataDir: bench.dataDir, wrapper: bench.wrapper });
  bench.add({
    name: "start to ready",
    value: server.startMs,
    unit: "ms",
    target: { below: 1_000 },
    note,
  });
  await pause(2_000);
  bench.add({
    name: "idle memory",
    value: await residentMemory(server.pid),
    unit: "MiB",
    target: { below: 200 },
    note,
  });
  return server;
}

/** Measures the server on one core, with one store from empty to full. */
export async function runMain(bench: Bench): Promise<void> {
  const noop = await measureNoop(bench);
  addSyncs(bench);
  let server = await start(bench, "empty");
  try {
    await measures.deployBenchSpec(server);
    const singles = await measureWrites(bench, server, noop.post);
    await measureReads(bench, server, noop.get);
    await measureOffline(bench.add);
    const value = await residentMemory(server.pid);
    bench.add({ name: "memory after this load", value, unit: "MiB" });
    if (!bench.isQuick) server = await measureFull(bench, server, noop.post, singles);
  } catch (error) {
    // Give the server a moment to end, if it is ending: then that is the cause.
    await pause(200);
    console.error(`server: ${server.howItEnded() ?? "still running"}\n${server.output()}`);
    throw error;
  } finally {
    await server.kill();
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
