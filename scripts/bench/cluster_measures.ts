/**
 * Measures what one and two server processes do on a FoundationDB cluster. The cluster is one
 * process with storage on disk. The rows also say what share of a core each process used, which
 * shows which of them was the limit.
 */

import { type ClusterProcess, startCluster } from "../../tests/support/cluster_process.ts";
import type { ServerProcess } from "../../tests/support/server_process.ts";
import { CLUSTER_GOALS, measureFeed } from "./feed_rows.ts";
import { measureGuards } from "./guard_rows.ts";
import { measureShares, measureSync, nameLimit } from "./machine.ts";
import { type LoadResult, percentiles } from "./load.ts";
import { measureReactions, withoutTargets } from "./reaction_rows.ts";
import * as measures from "./server_measures.ts";
import { startNode } from "./start_node.ts";
import type { Row } from "./table.ts";

interface ClusterBench {
  readonly dataDir: string;
  readonly isQuick: boolean;
  /** Undefined: all but the feed. */
  readonly part?: ClusterPart;
}

/** Parts of the bench that run alone on a cluster, too. */
export const CLUSTER_PARTS = ["reactions", "feed", "guards"] as const;
export type ClusterPart = typeof CLUSTER_PARTS[number];

type AddRow = (row: Row) => void;

/** The results of loads, with what each process used meanwhile. */
interface Watched {
  readonly results: readonly LoadResult[];
  readonly shares: Readonly<Record<string, number>>;
}

const CONNECTIONS = 64;
const PROGRAM_FOLDERS = "/usr/local/sbin:/usr/sbin:/usr/local/bin";

export async function describeCluster(): Promise<string> {
  const PATH = `${Deno.env.get("PATH")}:${PROGRAM_FOLDERS}`;
  const command = new Deno.Command("sh", { args: ["-c", "fdbserver --version"], env: { PATH } });
  const { stdout } = await command.output();
  const version = /\(v([\d.]+)\)/.exec(new TextDecoder().decode(stdout))?.[1] ?? "unknown";
  return `FoundationDB ${version}: one fdbserver, storage ssd, single replica`;
}

/** Starts the cluster and the servers, adds the rows, and stops everything. */
export async function measureCluster(bench: ClusterBench, add: AddRow): Promise<void> {
  const syncs = percentiles(measureSync(bench.dataDir, 300));
  const note = "4 KiB append, fdatasync";
  add({ name: "raw fsync", value: syncs.p50, unit: "ms", latency: syncs, note });
  const cluster = await startCluster({ storage: "ssd" });
  try {
    const start = () => startNode(bench, cluster);
    if (bench.part === "guards") return await measureGuards({ ...bench, start, add });
    if (bench.part === "feed") return await measureTwoNodes(bench, add, cluster);
    if (bench.part === undefined) await measureServers(bench, add, cluster);
    await measureReactions({ ...bench, start, add: withoutTargets(add) });
  } finally {
    await cluster.stop();
  }
}

async function measureServers(
  bench: ClusterBench,
  add: AddRow,
  cluster: ClusterProcess,
): Promise<void> {
  const servers: ServerProcess[] = [];
  try {
    servers.push(await startNode(bench, cluster));
    await measures.deployBenchSpec(servers[0]!);
    await measures.fillStreams(measures.targetOf(servers[0]!), 20);
    const one = await measureOneServer(bench, add, cluster, servers[0]!);
    servers.push(await startNode(bench, cluster));
    await measureTwoServers(bench, add, { cluster, servers, one });
  } finally {
    for (const server of servers) await server.kill();
  }
}

/** The feed is written at one node and read at the other. */
async function measureTwoNodes(
  bench: ClusterBench,
  add: AddRow,
  cluster: ClusterProcess,
): Promise<void> {
  const servers: ServerProcess[] = [];
  try {
    servers.push(await startNode(bench, cluster));
    await measures.deployBenchSpec(servers[0]!);
    servers.push(await startNode(bench, cluster));
    const [writer, reader] = servers.map((server) => measures.targetOf(server));
    const { isQuick } = bench;
    await measureFeed({ isQuick, add, writer: writer!, reader: reader!, goals: CLUSTER_GOALS });
  } finally {
    for (const server of servers) await server.kill();
  }
}

/** Returns the result of single writes, with which two servers are compared. */
async function measureOneServer(
  { isQuick }: ClusterBench,
  add: AddRow,
  cluster: ClusterProcess,
  server: ServerProcess,
): Promise<Watched> {
  const target = measures.targetOf(server);
  const seconds = isQuick ? 5 : 10;
  const singles = await watch({
    cluster,
    servers: [server],
    warmupSeconds: measures.WRITE_WARMUP_SECONDS,
    seconds,
  }, () => [
    measures.measureSingles(target, CONNECTIONS, seconds),
  ]);
  const [single] = singles.results;
  add({
    name: "single POST, 64, 5,000 streams",
    value: single!.requestsPerSecond,
    unit: "req/s",
    target: { atLeast: 2_500 },
    p99BelowMs: 60,
    latency: single!,
    note: `goal 4,000; ${describeShares(singles)}`,
  });
  const alone = await measures.measureSingles(target, 1, 2);
  const rate = { value: alone.requestsPerSecond, unit: "req/s" };
  add({ name: "single POST, 1 connection", ...rate, latency: alone, note: "one commit each" });
  const hot = await watch({
    cluster,
    servers: [server],
    warmupSeconds: measures.HOT_WARMUP_SECONDS,
    seconds,
  }, () => [
    measures.measureHotStream(target, seconds),
  ]);
  add({
    name: "single POST, 64, one hot stream",
    value: hot.results[0]!.requestsPerSecond,
    unit: "req/s",
    target: { atLeast: 3_000 },
    latency: hot.results[0]!,
    note: `unguarded; ${describeShares(hot)}`,
  });
  return singles;
}

interface TwoServers {
  readonly cluster: ClusterProcess;
  readonly servers: readonly ServerProcess[];
  readonly one: Watched;
}

/**
 * Both servers write to all streams, as behind a balancer that knows nothing; then each server
 * writes to its own half.
 */
async function measureTwoServers(
  { isQuick }: ClusterBench,
  add: AddRow,
  { cluster, servers, one }: TwoServers,
): Promise<void> {
  const seconds = isQuick ? 5 : 10;
  // Streams are chosen at random. Servers that go round the same streams in order fall into
  // step and then conflict for ever, because the one that conflicts waits for the other.
  const cores = navigator.hardwareConcurrency;
  const below = (bound: number) => Math.floor(Math.random() * bound);
  const half = measures.STREAMS / 2;
  const oneRate = one.results[0]!.requestsPerSecond;
  const ways: readonly (readonly [string, (server: number) => number, number | undefined])[] = [
    ["the same streams", () => below(measures.STREAMS), 1.4],
    ["streams of its own", (server) => server * half + below(half), undefined],
  ];
  for (const [what, choose, atLeast] of ways) {
    const both = await watch(
      { cluster, servers, warmupSeconds: measures.WRITE_WARMUP_SECONDS, seconds },
      () =>
        servers.map((server, index) => {
          const target = measures.targetOf(server);
          return measures.measureSingles(target, CONNECTIONS, seconds, () => choose(index));
        }),
    );
    const rate = both.results.reduce((sum, { requestsPerSecond }) => sum + requestsPerSecond, 0);
    add({
      name: `two servers, 64 each, ${what}`,
      value: rate,
      unit: "req/s",
      latency: both.results.reduce((a, b) => a.p99 > b.p99 ? a : b),
      note: `latency of the slower; ${describeShares(both)}`,
    });
    add({
      name: `two servers to one, ${what}`,
      value: rate / oneRate,
      unit: "x",
      target: atLeast === undefined ? undefined : { atLeast },
      note: `the limit: ${nameLimit(both.shares, cores)}; ${describeCeiling(one, cores)}`,
    });
  }
}

interface WatchedCourse {
  readonly cluster: ClusterProcess;
  readonly servers: readonly ServerProcess[];
  readonly warmupSeconds: number;
  readonly seconds: number;
}

async function watch(
  { cluster, servers, warmupSeconds, seconds }: WatchedCourse,
  load: () => Promise<LoadResult>[],
): Promise<Watched> {
  const processes: Record<string, number> = {};
  for (const [index, { pid }] of servers.entries()) {
    processes[servers.length === 1 ? "server" : `server ${index + 1}`] = pid;
  }
  processes.fdbserver = cluster.serverPid();
  processes.load = Deno.pid;
  const [shares, ...results] = await Promise.all([
    measureShares(processes, warmupSeconds * 1000, seconds * 1000),
    ...load(),
  ]);
  return { shares, results };
}

function describeShares({ shares }: Watched): string {
  const parts = Object.entries(shares).map(([name, share]) => `${name} ${share.toFixed(2)}`);
  return `cores: ${parts.join(", ")}`;
}

/** What the machine could do at most if each request cost what it costs with one server. */
function describeCeiling({ shares }: Watched, cores: number): string {
  const { others: _, ...own } = shares;
  const used = Object.values(own).reduce((sum, share) => sum + share, 0);
  return `at one server's cost of a request ${cores} cores allow ${(cores / used).toFixed(2)} x`;
}
