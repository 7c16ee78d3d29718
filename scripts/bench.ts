/**
 * `deno task bench`: one table of what the server does on one core, with the load generator on
 * another; durable, schema check, idempotency ledger and hash chain on. Targets are ours. What runs
 * in several processes, or in this one, is not pinned.
 */

import { Option } from "commander";
import { type ServerProcess, startServer } from "../tests/support/server_process.ts";
import { measureAnchors } from "./bench/anchor_measures.ts";
import { measureBundles, measureChain } from "./bench/audit_measures.ts";
import { describeCluster, measureCluster } from "./bench/cluster_measures.ts";
import { measureDeliveries } from "./bench/delivery_rows.ts";
import { measureGeo } from "./bench/geo_rows.ts";
import { measureFold } from "./bench/fold_measure.ts";
import { openConnection } from "./bench/http_connection.ts";
import { measureImports } from "./bench/import_rows.ts";
import { measureLimits } from "./bench/limit_measures.ts";
import { percentiles } from "./bench/load.ts";
import {
  describeMachine,
  measureSync,
  pinLoadGenerator,
  residentMemory,
  serverWrapper,
} from "./bench/machine.ts";
import { measureProjections } from "./bench/projection_rows.ts";
import { measureReactions } from "./bench/reaction_rows.ts";
import { measureOverload } from "./bench/overload_measures.ts";
import * as measures from "./bench/server_measures.ts";
import { formatTable, isMet, type Row } from "./bench/table.ts";
import { measureWasm } from "./bench/wasm_measures.ts";
import { measureJudged } from "./bench/wasm_server_measures.ts";
import { readOptions, taskCommand } from "./options.ts";

interface Bench {
  readonly rows: Row[];
  readonly wrapper: readonly string[];
  readonly dataDir: string;
  readonly isQuick: boolean;
  noopGet: number;
  noopPost: number;
  singlesAtStart: number;
  microsAtStart: number;
}

function add(bench: Bench, row: Row): void {
  bench.rows.push(row);
  console.error(`  ${row.name}: ${row.value.toFixed(2)} ${row.unit}`);
}

async function measureYardsticks(bench: Bench): Promise<void> {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  const noopServer = new URL("bench/noop_server.ts", import.meta.url).pathname;
  const command = [...bench.wrapper, Deno.execPath(), "run", "-A", noopServer, String(port)];
  const child = new Deno.Command(command[0]!, { args: command.slice(1) }).spawn();
  try {
    await waitForPort(port);
    const { get, post } = await measures.measureNoop(port, child.pid, bench.isQuick ? 2 : 3);
    [bench.noopGet, bench.noopPost] = [get.requestsPerSecond, post.requestsPerSecond];
    const note = "Hono alone";
    add(bench, { name: "no-op GET, 64", value: bench.noopGet, unit: "req/s", latency: get, note });
    add(bench, {
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
  add(bench, { name: "raw fsync", value: syncs.p50, unit: "ms", latency: syncs, note });
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

async function measureWrites(bench: Bench, server: ServerProcess): Promise<void> {
  const target = measures.targetOf(server);
  const seconds = bench.isQuick ? 5 : 8;
  await measures.fillStreams(target, 20);
  const singles = await measures.measureSingles(target, 64, seconds);
  bench.singlesAtStart = singles.requestsPerSecond;
  bench.microsAtStart = singles.serverMicrosPerUnit;
  add(bench, {
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
  add(bench, {
    name: "single POST, 1 connection",
    value: alone.requestsPerSecond,
    unit: "req/s",
    latency: alone,
    note: "one sync each",
  });
  const hot = await measures.measureHotStream(target, bench.isQuick ? 4 : 6);
  add(bench, {
    name: "single POST, 64, one hot stream",
    value: hot.requestsPerSecond,
    unit: "req/s",
    target: { atLeast: 5_000 },
    noop: bench.noopPost,
    latency: hot,
    note: "unguarded",
  });
  add(bench, {
    name: "batch of 10,000 events, 2",
    value: await measures.measureBatches(target, 1_000_000),
    unit: "events/s",
    target: { atLeast: 60_000 },
    note: "one stream to 1,000,000",
  });
}

async function measureReads(bench: Bench, server: ServerProcess): Promise<void> {
  const target = measures.targetOf(server);
  const aggregates = await measures.measureAggregates(target, bench.isQuick ? 3 : 4);
  add(bench, {
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
    add(bench, {
      name: `GET /length of ${events}, 64`,
      value: result.requestsPerSecond,
      unit: "req/s",
      noop: bench.noopGet,
      latency: result,
    });
  }
  add(bench, {
    name: "/length, 1 to 1,000,000 events",
    value: one.requestsPerSecond / big.requestsPerSecond,
    unit: "x",
    target: { below: 1.2 },
  });
  const listing = await measures.measureListing(target, bench.isQuick ? 3 : 4);
  add(bench, {
    name: "raw listing, pages of 5,000, 2",
    value: listing.unitsPerSecond,
    unit: "events/s",
    target: { atLeast: 150_000 },
    latency: listing,
  });
  add(bench, {
    name: "tick fold, in process",
    value: measureFold(),
    unit: "events/s",
    target: { atLeast: 700_000 },
  });
}

/** What anybody can check without the server. */
async function measureAudit(bench: Bench): Promise<void> {
  add(bench, {
    name: "offline verification, in process",
    value: await measureBundles(),
    unit: "bundles/s",
    target: { atLeast: 1_000 },
    note: "1,000 events, 100,000 streams",
  });
  add(bench, {
    name: "full audit of chains, in process",
    value: measureChain(),
    unit: "events/s",
    target: { atLeast: 100_000 },
  });
}

/** What changes, or must not, when 5 million events are stored. */
async function measureFull(bench: Bench, server: ServerProcess): Promise<ServerProcess> {
  const startedAt = performance.now();
  await measures.fillStreams(measures.targetOf(server), 800);
  const fillRate = measures.STREAMS * 800 / (performance.now() - startedAt) * 1000;
  add(bench, { name: "fill, batches of 800, 4", value: fillRate, unit: "events/s" });
  const singles = await measures.measureSingles(measures.targetOf(server), 64, 8);
  add(bench, {
    name: "single POST, 64, 5,000,000 stored",
    value: singles.requestsPerSecond,
    unit: "req/s",
    noop: bench.noopPost,
    latency: singles,
  });
  add(bench, {
    name: "its rate to that at 100,000 stored",
    value: singles.requestsPerSecond / bench.singlesAtStart,
    unit: "x",
    target: { atLeast: 0.85 },
    note: `its processor time: ${(singles.serverMicrosPerUnit / bench.microsAtStart).toFixed(2)} x`,
  });
  await server.stop();
  return await start(bench, "5,000,000 stored");
}

async function start(bench: Bench, note: string): Promise<ServerProcess> {
  const server = await startServer({ dataDir: bench.dataDir, wrapper: bench.wrapper });
  add(bench, {
    name: "start to ready",
    value: server.startMs,
    unit: "ms",
    target: { below: 1_000 },
    note,
  });
  await pause(2_000);
  add(bench, {
    name: "idle memory",
    value: await residentMemory(server.pid),
    unit: "MiB",
    target: { below: 200 },
    note,
  });
  return server;
}

async function runMain(bench: Bench): Promise<void> {
  await measureYardsticks(bench);
  let server = await start(bench, "empty");
  try {
    await measures.deployBenchSpec(server);
    await measureWrites(bench, server);
    await measureReads(bench, server);
    await measureAudit(bench);
    const value = await residentMemory(server.pid);
    add(bench, { name: "memory after this load", value, unit: "MiB" });
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

/** On a store of their own. */
async function runReactions(bench: Bench): Promise<void> {
  const dataDir = `${bench.dataDir}/reactions`;
  const { isQuick, wrapper } = bench;
  await Deno.mkdir(dataDir);
  const start = () => startServer({ dataDir, wrapper });
  await measureReactions({ isQuick, start, add: (row) => add(bench, row) });
}

/** The same. */
async function runDeliveries(bench: Bench): Promise<void> {
  const dataDir = `${bench.dataDir}/deliveries`;
  const { isQuick, wrapper } = bench;
  await Deno.mkdir(dataDir);
  const env = { DAYBOOK_ALLOW_PRIVATE_WEBHOOKS: "true" };
  const start = () => startServer({ dataDir, wrapper, env });
  await measureDeliveries({ isQuick, start, add: (row) => add(bench, row) });
}

/** The same. */
async function runProjections(bench: Bench): Promise<void> {
  const dataDir = `${bench.dataDir}/projections`;
  const { isQuick, wrapper } = bench;
  await Deno.mkdir(dataDir);
  const start = () => startServer({ dataDir, wrapper });
  await measureProjections({ isQuick, start, add: (row) => add(bench, row) });
}

async function runGeo(bench: Bench): Promise<void> {
  const dataDir = `${bench.dataDir}/geo`;
  const { isQuick, wrapper } = bench;
  await Deno.mkdir(dataDir);
  await measureGeo({
    isQuick,
    start: () => startServer({ dataDir, wrapper }),
    add: (row) => add(bench, row),
  });
}

/** Each on a store of its own. */
async function runImports(bench: Bench): Promise<void> {
  const { isQuick, wrapper } = bench;
  const start = async () => {
    const dataDir = await Deno.makeTempDir({ dir: bench.dataDir });
    return await startServer({ dataDir, wrapper });
  };
  await measureImports({ isQuick, start, add: (row) => add(bench, row) });
}

/** Calls in processes of their own, and writes that they judge. */
async function runWasm(bench: Bench): Promise<void> {
  await measureWasm((row) => add(bench, row));
  const { dataDir, wrapper } = bench;
  await measureJudged(() => startServer({ dataDir, wrapper }), (row) => add(bench, row));
}

/** On stores of its own, in this process. */
async function runAudit(bench: Bench): Promise<void> {
  await measureAudit(bench);
  await measureAnchors(bench.isQuick, (row) => add(bench, row));
}

/** On a store of its own. */
async function runOverload(bench: Bench): Promise<void> {
  const dataDir = `${bench.dataDir}/overload`;
  await Deno.mkdir(dataDir);
  const server = await startServer({ dataDir, wrapper: bench.wrapper });
  try {
    await measures.deployBenchSpec(server);
    const target = measures.targetOf(server);
    await measureOverload(target, bench.isQuick ? 5 : 10, (row) => add(bench, row));
  } finally {
    await server.kill();
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

interface Options {
  readonly isQuick: boolean;
  readonly isOnCluster: boolean;
  /** One server and the load generator have a core each; else there are too few. */
  readonly mayPin: boolean;
}

async function openBench({ isQuick, isOnCluster, mayPin }: Options): Promise<[Bench, string[]]> {
  const isPinned = mayPin && await pinLoadGenerator();
  const machine = await describeMachine(isPinned);
  if (isOnCluster) machine.push(await describeCluster());
  const dataDir = await Deno.makeTempDir({ prefix: "daybook_bench_" });
  const wrapper = serverWrapper(isPinned);
  const unknown = { noopGet: NaN, noopPost: NaN, singlesAtStart: NaN, microsAtStart: NaN };
  return [{ rows: [], wrapper, dataDir, isQuick, ...unknown }, machine];
}

type Part =
  | "reactions"
  | "deliveries"
  | "projections"
  | "wasm"
  | "imports"
  | "audit"
  | "geo"
  | "overload"
  | "limits";

interface BenchOptions extends Partial<Readonly<Record<Part, true>>> {
  readonly quick?: true;
  readonly json?: string;
  readonly store: "sqlite" | "foundationdb";
}

function benchCommand() {
  return taskCommand("bench", "What the server does on one core, in one table; or a part alone.")
    .option("--quick", "without what needs millions of events stored before")
    .option("--json <file>", "also write the raw figures")
    .addOption(
      new Option("--store <name>", "foundationdb: one and two servers on a cluster it starts")
        .choices(["sqlite", "foundationdb"]).default("sqlite"),
    )
    .option("--reactions", "what events set off")
    .option("--deliveries", "what is sent to listeners")
    .option("--projections", "how views follow, are built and exported")
    .option("--wasm", "calls of WebAssembly modules, and the writes that they judge")
    .option("--imports", "imports of 2 GB (--quick: of 200 MB)")
    .option("--audit", "anchors and bundles of large environments")
    .option("--geo", "a million points (3 minutes)")
    .option("--overload", "three times as many writes as it can do")
    .option("--limits", "what rate limits cost a request");
}

if (import.meta.main) {
  const values = readOptions<BenchOptions>(benchCommand());
  const onlyReactions = values.reactions === true;
  const isOnCluster = values.store === "foundationdb";
  const isQuick = values.quick === true;
  const [bench, machine] = await openBench({
    isQuick,
    isOnCluster,
    mayPin: !isOnCluster && !values.wasm && !values.audit,
  });
  const startedAt = performance.now();
  try {
    if (values.overload) await runOverload(bench);
    else if (values.limits) await measureLimits((row) => add(bench, row));
    else if (values.wasm) await runWasm(bench);
    else if (values.imports) await runImports(bench);
    else if (values.audit) await runAudit(bench);
    else if (values.geo) await runGeo(bench);
    else if (isOnCluster) {
      await measureCluster({ ...bench, onlyReactions }, (row) => add(bench, row));
    } else if (values.reactions) await runReactions(bench);
    else if (values.deliveries) await runDeliveries(bench);
    else if (values.projections) await runProjections(bench);
    else await runMain(bench);
  } finally {
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    console.log(`\n${machine.join("\n")}\n\n${formatTable(bench.rows)}\n\n${seconds} s in all`);
    await Deno.remove(bench.dataDir, { recursive: true });
  }
  if (values.json !== undefined) {
    const rows = bench.rows.map((row) => ({ ...row, met: isMet(row) }));
    await Deno.writeTextFile(values.json, JSON.stringify({ machine, rows }, undefined, 2));
  }
}
