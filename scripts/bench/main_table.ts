/** The main table: writes, reads, what anybody can check, and the same with millions stored. */

import { type ServerProcess, startServer } from "../../tests/support/server_process.ts";
import { measureOffline } from "./audit_measures.ts";
import type { Bench } from "./bench.ts";
import { measureFold } from "./fold_measure.ts";
import { openConnection } from "./http_connection.ts";
import { percentiles } from "./load.ts";
import { measureSync, residentMemory } from "./machine.ts";
import * as measures from "./server_measures.ts";

/** What later rows are put in relation to. */
interface MainBench extends Bench {
  noopGet: number;
  noopPost: number;
  singlesAtStart: number;
  microsAtStart: number;
}

async function measureYardsticks(bench: MainBench): Promise<void> {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  const noopServer = new URL("noop_server.ts", import.meta.url).pathname;
  const command = [...bench.wrapper, Deno.execPath(), "run", "-A", noopServer, String(port)];
  const child = new Deno.Command(command[0]!, { args: command.slice(1) }).spawn();
  try {
    await waitForPort(port);
    const { get, post } = await measures.measureNoop(port, child.pid, bench.isQuick ? 2 : 3);
    [bench.noopGet, bench.noopPost] = [get.requestsPerSecond, post.requestsPerSecond];
    const note = "Hono alone";
    bench.add({ name: "no-op GET, 64", value: bench.noopGet, unit: "req/s", latency: get, note });
    bench.add({
      name: "no-op POST, 64",
      value: bench.noopPost,
      unit: "req/s",
      latency: post,
      note,
    });
  } finally {
    child.kill("SIGKILL");
    await child.status;
  }
  const syncs = percentiles(measureSync(bench.dataDir, 300));
  const note = "4 KiB append, fdatasync";
  bench.add({ name: "raw fsync", value: syncs.p50, unit: "ms", latency: syncs, note });
}

async function waitForPort(port: number): Promise<void> {
  for (let attempt = 0; attempt < 500; attempt++) {
    try {
      return (await openConnection(port)).close();
    } catch {
      await pause(10);
    }
  }
  throw new Error("the no-op server did not start");
}

async function measureWrites(bench: MainBench, server: ServerProcess): Promise<void> {
  const target = measures.targetOf(server);
  const seconds = bench.isQuick ? 5 : 8;
  await measures.fillStreams(target, 20);
  const singles = await measures.measureSingles(target, 64, seconds);
  bench.singlesAtStart = singles.requestsPerSecond;
  bench.microsAtStart = singles.serverMicrosPerUnit;
  bench.add({
    name: "single POST, 64, 5,000 streams",
    value: singles.requestsPerSecond,
    unit: "req/s",
    target: { atLeast: 6_000 },
    p99BelowMs: 30,
    noop: bench.noopPost,
    latency: singles,
    note: "100,000 stored; goal 10,000",
  });
  const alone = await measures.measureSingles(target, 1, 2);
  bench.add({
    name: "single POST, 1 connection",
    value: alone.requestsPerSecond,
    unit: "req/s",
    latency: alone,
    note: "one sync each",
  });
  const hot = await measures.measureHotStream(target, bench.isQuick ? 4 : 6);
  bench.add({
    name: "single POST, 64, one hot stream",
    value: hot.requestsPerSecond,
    unit: "req/s",
    target: { atLeast: 5_000 },
    noop: bench.noopPost,
    latency: hot,
    note: "unguarded",
  });
  bench.add({
    name: "batch of 10,000 events, 2",
    value: await measures.measureBatches(target, 1_000_000),
    unit: "events/s",
    target: { atLeast: 60_000 },
    note: "one stream to 1,000,000",
  });
}

async function measureReads(bench: MainBench, server: ServerProcess): Promise<void> {
  const target = measures.targetOf(server);
  const aggregates = await measures.measureAggregates(target, bench.isQuick ? 3 : 4);
  bench.add({
    name: "cached GET aggregate, 64",
    value: aggregates.requestsPerSecond,
    unit: "req/s",
    target: { atLeast: 15_000 },
    noop: bench.noopGet,
    latency: aggregates,
    note: "1,000 streams; goal 30,000",
  });
  const { one, big } = await measures.measureLengths(target);
  for (const [result, events] of [[one, "1 event"], [big, "1,000,000 events"]] as const) {
    bench.add({
      name: `GET /length of ${events}, 64`,
      value: result.requestsPerSecond,
      unit: "req/s",
      noop: bench.noopGet,
      latency: result,
    });
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

/** What changes, or must not, when 5 million events are stored. */
async function measureFull(bench: MainBench, server: ServerProcess): Promise<ServerProcess> {
  const startedAt = performance.now();
  await measures.fillStreams(measures.targetOf(server), 800);
  const fillRate = measures.STREAMS * 800 / (performance.now() - startedAt) * 1000;
  bench.add({ name: "fill, batches of 800, 4", value: fillRate, unit: "events/s" });
  const singles = await measures.measureSingles(measures.targetOf(server), 64, 8);
  bench.add({
    name: "single POST, 64, 5,000,000 stored",
    value: singles.requestsPerSecond,
    unit: "req/s",
    noop: bench.noopPost,
    latency: singles,
  });
  bench.add({
    name: "its rate to that at 100,000 stored",
    value: singles.requestsPerSecond / bench.singlesAtStart,
    unit: "x",
    target: { atLeast: 0.85 },
    note: `its processor time: ${(singles.serverMicrosPerUnit / bench.microsAtStart).toFixed(2)} x`,
  });
  await server.stop();
  return await start(bench, "5,000,000 stored");
}

async function start(bench: MainBench, note: string): Promise<ServerProcess> {
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

/** What the server does on one core, on one store from empty to full. */
export async function runMain(bench: Bench): Promise<void> {
  await runTable({
    ...bench,
    noopGet: NaN,
    noopPost: NaN,
    singlesAtStart: NaN,
    microsAtStart: NaN,
  });
}

async function runTable(bench: MainBench): Promise<void> {
  await measureYardsticks(bench);
  let server = await start(bench, "empty");
  try {
    await measures.deployBenchSpec(server);
    await measureWrites(bench, server);
    await measureReads(bench, server);
    await measureOffline(bench.add);
    const value = await residentMemory(server.pid);
    bench.add({ name: "memory after this load", value, unit: "MiB" });
    if (!bench.isQuick) server = await measureFull(bench, server);
  } catch (error) {
    // The server has a moment to end, if it is ending: then that is the cause.
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
