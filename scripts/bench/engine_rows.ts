/**
 * The rows of both engines side by side: the same loads on two servers of one core, one on the
 * embedded store and one on a cluster of one process, which has the core of the load generator.
 *
 * The loads alternate, because a machine is not equally fast all the time. The best round of each
 * engine counts.
 */

import { startCluster } from "../../tests/support/cluster_process.ts";
import { type ServerProcess, startServer } from "../../tests/support/server_process.ts";
import { limits } from "../../src/domain/limits.ts";
import { measureAlone } from "./alone_rows.ts";
import type { Bench } from "./bench.ts";
import { type LoadResult, runLoad, runWork } from "./load.ts";
import { runOpenLoop } from "./open_loop.ts";
import { batchBody, streamId } from "./requests.ts";
import {
  deployBenchSpec,
  fillStreams,
  STREAMS,
  type Target,
  targetOf,
  WRITE_WARMUP_SECONDS,
} from "./server_measures.ts";

const ENGINES = ["SQLite", "FoundationDB"] as const;
type EngineName = typeof ENGINES[number];
type Pair<T> = Readonly<Record<EngineName, T>>;

const CONNECTIONS = 64;
const EVENTS_EACH = 20;
const READ_STREAMS = 1_000;
const WRITES_PER_SECOND = 1_000;
const BATCHES_EACH = 6;
/** Streams of batches: one of its own for each round. */
const FIRST_BATCH_STREAM = 700_000;

/** What one load has found. */
type Found = Pick<LoadResult, "unitsPerSecond"> & { readonly latency?: LoadResult };

/** What one load does with a server. `round` counts from 0. */
type Load = (target: Target, seconds: number, round: number) => Promise<Found>;

export async function measureEngines(bench: Bench): Promise<void> {
  const cluster = await startCluster({ storage: "ssd" });
  const servers: ServerProcess[] = [];
  try {
    const { wrapper } = bench;
    const start = async (env: Record<string, string>) => {
      const dataDir = await Deno.makeTempDir({ dir: bench.dataDir });
      servers.push(await startServer({ dataDir, wrapper, env }));
      return targetOf(servers.at(-1)!);
    };
    const env = { DAYBOOK_STORE: "foundationdb", FDB_CLUSTER_FILE: cluster.clusterFile };
    const targets = { SQLite: await start({}), FoundationDB: await start(env) };
    for (const server of servers) await deployBenchSpec(server);
    for (const name of ENGINES) {
      await fillStreams(targets[name], EVENTS_EACH);
      await writes(targets[name], WRITE_WARMUP_SECONDS);
    }
    await compareAll(bench, targets);
    await measureAlone(bench, targets.FoundationDB, cluster.clusterFile);
  } finally {
    for (const server of servers) await server.kill();
    await cluster.stop();
  }
}

async function compareAll(bench: Bench, targets: Pair<Target>): Promise<void> {
  const compare = comparison(bench, targets);
  await compare("single POST, 64, 5,000 streams", writes, { atLeast: 0.6 });
  await compare("single POST, 64, one hot stream", hotWrites, { atLeast: 0.6 });
  const batched = await compare("batch of 10,000 events, 2", batches);
  bench.add({
    name: "batches on the cluster",
    value: batched.FoundationDB.unitsPerSecond,
    unit: "events/s",
    target: { atLeast: 60_000 },
  });
  const read = await compare("cached GET, 64", reads, { atLeast: 0.6 });
  bench.add({
    name: "cached GET, p99 to p99",
    value: read.FoundationDB.latency!.p99 / read.SQLite.latency!.p99,
    unit: "x",
    target: { below: 3 },
  });
  await compare("cached GET, 64, beside 1,000 writes/s", readsBesideWrites, { atLeast: 0.4 });
}

function comparison(bench: Bench, targets: Pair<Target>) {
  const [rounds, seconds] = bench.isQuick ? [2, 3] : [4, 5];
  return async (
    name: string,
    run: Load,
    target?: { readonly atLeast: number },
  ): Promise<Pair<Found>> => {
    const found: Record<EngineName, Found[]> = { SQLite: [], FoundationDB: [] };
    for (let round = 0; round < rounds; round++) {
      const order = round % 2 === 0 ? ENGINES : ENGINES.toReversed();
      for (const engine of order) found[engine].push(await run(targets[engine], seconds, round));
    }
    const best = { SQLite: bestOf(found.SQLite), FoundationDB: bestOf(found.FoundationDB) };
    for (const engine of ENGINES) {
      const { unitsPerSecond: value, latency } = best[engine];
      bench.add({ name: `${name}: ${engine}`, value, unit: "/s", latency });
    }
    const value = best.FoundationDB.unitsPerSecond / best.SQLite.unitsPerSecond;
    bench.add({ name: `${name}: of SQLite's`, value, unit: "x", target });
    return best;
  };
}

function bestOf(results: readonly Found[]): Found {
  return results.reduce((best, one) => one.unitsPerSecond > best.unitsPerSecond ? one : best);
}

interface Requests {
  readonly connections: number;
  readonly seconds: number;
  readonly expectedStatus: number;
  /** The request of this number, which counts from 0 through all loads on the server. */
  readonly next: (number: number) => readonly Uint8Array[];
}

/** How many requests each server has been sent. */
const sent = new WeakMap<Target, number>();

function nextNumber(target: Target): number {
  const number = sent.get(target) ?? 0;
  sent.set(target, number + 1);
  return number;
}

async function load(
  target: Target,
  { next, ...options }: Requests,
): Promise<Found & { readonly latency: LoadResult }> {
  const { port, serverPid } = target;
  const latency = await runLoad({
    ...options,
    port,
    serverPid,
    next: () => next(nextNumber(target)),
  });
  return { unitsPerSecond: latency.unitsPerSecond, latency };
}

function writes(target: Target, seconds: number): Promise<Found> {
  return load(target, {
    connections: CONNECTIONS,
    seconds,
    expectedStatus: 201,
    next: (number) => target.requests.single(streamId(number % STREAMS), number),
  });
}

function hotWrites(target: Target, seconds: number): Promise<Found> {
  return load(target, {
    connections: CONNECTIONS,
    seconds,
    expectedStatus: 201,
    next: (number) => target.requests.single("global", number),
  });
}

function reads(target: Target, seconds: number): Promise<Found> {
  return load(target, {
    connections: CONNECTIONS,
    seconds,
    expectedStatus: 200,
    next: (number) => target.requests.get(`/account/${streamId(number % READ_STREAMS)}`),
  });
}

/** The streams that are read are among those that are written. */
async function readsBesideWrites(target: Target, seconds: number): Promise<Found> {
  const { port, requests } = target;
  const writing = runOpenLoop({
    port,
    connections: CONNECTIONS,
    perSecond: WRITES_PER_SECOND,
    // The load warms up for a second.
    seconds: seconds + 1,
    async perform(connection) {
      const number = nextNumber(target);
      await connection.exchange(...requests.single(streamId(number % STREAMS), number));
    },
  });
  const [result] = await Promise.all([reads(target, seconds), writing]);
  return result;
}

/** A fixed number of batches to one stream; the unit is an event. */
async function batches(
  { port, requests }: Target,
  _seconds: number,
  round: number,
): Promise<Found> {
  const body = batchBody(limits.batchEventsMax);
  const stream = streamId(FIRST_BATCH_STREAM + round);
  let left = BATCHES_EACH;
  const { seconds } = await runWork({
    port,
    connections: 2,
    expectedStatus: 201,
    next: () => left-- > 0 ? requests.batch(stream, body) : undefined,
  });
  return { unitsPerSecond: BATCHES_EACH * limits.batchEventsMax / seconds };
}
