/**
 * The rows of four servers on one cluster: what they do together of the load that one of them is
 * offered, and how often they conflict. All writes go to the same streams, through any server, as
 * behind a balancer that knows nothing.
 *
 * The load is an open loop: so many writes are due in a second, whatever the servers do.
 */

import { startCluster } from "../../tests/support/cluster_process.ts";
import type { ServerProcess } from "../../tests/support/server_process.ts";
import type { Bench } from "./bench.ts";
import { percentiles, runWork } from "./load.ts";
import { runOpenLoop } from "./open_loop.ts";
import { streamId } from "./requests.ts";
import { deployBenchSpec, type Target, targetOf } from "./server_measures.ts";
import { startNode } from "./start_node.ts";
import type { Latency } from "./table.ts";

const SERVERS = 4;
const STREAMS = 1_000;
/** Writes a second that all servers are offered together. */
const LOADS = [1_000, 2_000, 3_000];
/** Connections of all servers together. */
const CONNECTIONS = 64;
/** Writes that each server does before it is measured: until then its code is not compiled. */
const EARLY_WRITES = 10_000;
const EARLY_CONNECTIONS = 16;

/** What servers have done of a load. */
interface Done {
  readonly perSecond: number;
  /** From the time at which each write was due. */
  readonly latency: Latency;
}

/** Adds the rows. The cluster and the servers that it starts are always ended. */
export async function measureNodes(bench: Bench): Promise<void> {
  const cluster = await startCluster({ storage: "ssd" });
  const servers: ServerProcess[] = [];
  try {
    for (let number = 0; number < SERVERS; number++) {
      servers.push(await startNode(bench, cluster));
      if (number === 0) await deployBenchSpec(servers[0]!);
      await writeEarly(targetOf(servers[number]!));
    }
    for (const perSecond of LOADS) await compareAt(bench, servers, perSecond);
  } finally {
    for (const server of servers) await server.kill();
    await cluster.stop();
  }
}

async function writeEarly({ port, requests }: Target): Promise<void> {
  let number = 0;
  await runWork({
    port,
    connections: EARLY_CONNECTIONS,
    expectedStatus: 201,
    next: () =>
      number < EARLY_WRITES ? requests.single(streamId(number % STREAMS), number++) : undefined,
  });
}

async function compareAt(
  bench: Bench,
  servers: readonly ServerProcess[],
  perSecond: number,
): Promise<void> {
  const seconds = bench.isQuick ? 5 : 15;
  const one = await offer(servers.slice(0, 1), perSecond, seconds);
  const before = await conflictsOf(servers);
  const all = await offer(servers, perSecond, seconds);
  const conflicts = await conflictsOf(servers) - before;
  const name = `${SERVERS} servers, ${perSecond.toLocaleString("en")} POST/s offered`;
  const { add } = bench;
  add({ name, value: all.perSecond, unit: "req/s", latency: all.latency });
  add({
    name: `${name}: of one server's`,
    value: all.perSecond / one.perSecond,
    unit: "x",
    target: { atLeast: 0.9 },
    latency: one.latency,
    note: `latency of the one server, which did ${one.perSecond.toFixed(0)}`,
  });
  add({
    name: `${name}: conflicts`,
    value: 100 * conflicts / (perSecond * seconds),
    unit: "%",
    target: { below: 5 },
    note: `of the writes; ${STREAMS.toLocaleString("en")} streams`,
  });
}

/** Offers servers equal shares of a load. */
async function offer(
  servers: readonly ServerProcess[],
  perSecond: number,
  seconds: number,
): Promise<Done> {
  const latencies: number[] = [];
  const taken = await Promise.all(servers.map((server) => {
    const { port, requests } = targetOf(server);
    return runOpenLoop({
      port,
      connections: CONNECTIONS / servers.length,
      perSecond: perSecond / servers.length,
      seconds,
      async perform(connection, number, dueMs) {
        // At random: servers that go round the same streams in order fall into step.
        const stream = streamId(Math.floor(Math.random() * STREAMS));
        const { status } = await connection.exchange(...requests.single(stream, number));
        if (status !== 201) throw new Error(`expected 201: ${status}`);
        latencies.push(performance.now() - dueMs);
      },
    });
  }));
  const done = latencies.length / Math.max(...taken);
  return { perSecond: done, latency: percentiles(latencies) };
}

/** Commits of these servers that have lost against others, since they were started. */
async function conflictsOf(servers: readonly ServerProcess[]): Promise<number> {
  const counts = await Promise.all(servers.map(async ({ baseUrls, credentials }) => {
    const headers = { authorization: `Bearer ${credentials.operator_token}` };
    const reply = await fetch(`${baseUrls.test}/metrics`, { headers });
    const found = /^daybook_store_conflicts_total (\d+)$/m.exec(await reply.text());
    if (found === null) throw new Error(`/metrics tells no conflicts: ${reply.status}`);
    return Number(found[1]);
  }));
  return counts.reduce((sum, count) => sum + count, 0);
}
