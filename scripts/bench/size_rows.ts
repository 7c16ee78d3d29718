/**
 * The rows of a large cluster under load: what operators do with a million streams, and how long
 * the writes of others wait beside it.
 *
 * The writes are an open loop, and their latency counts from the time at which each was due.
 */

import { join } from "node:path";
import { startCluster } from "../../tests/support/cluster_process.ts";
import type { ServerProcess } from "../../tests/support/server_process.ts";
import type { Bench } from "./bench.ts";
import { daybook, timed } from "./commands.ts";
import { bodyText } from "./http_connection.ts";
import { importFile, makeLines } from "./import_rows.ts";
import { percentiles } from "./load.ts";
import { runOpenLoop, untilTime } from "./open_loop.ts";
import { streamId } from "./requests.ts";
import { deployBenchSpec, type Target, targetOf } from "./server_measures.ts";
import { clusterEnv, startNode } from "./start_node.ts";
import type { Latency } from "./table.ts";

const STREAMS = 1_000_000;
const QUICK_STREAMS = 100_000;
const PIECE_LINES = 500;
const ENVIRONMENT = "test";
const WRITES_PER_SECOND = 200;
const CONNECTIONS = 16;
const LOOK_EVERY_MS = 250;
const PATIENCE_MS = 1_800_000;
/** Beside each of them, no write may wait longer than a client waits for an answer. */
const WORST_MS_MAX = 5_000;

const PROJECTION = {
  name: "accounts",
  for_each: "account",
  sources: { account: "$key" },
  select: { bookings: { path: "$.account.bookings", type: "integer" } },
};

/** A large cluster with a server, and the folder for files. */
interface World {
  readonly bench: Bench;
  readonly server: ServerProcess;
  readonly target: Target;
  readonly streams: number;
  readonly env: Readonly<Record<string, string>>;
}

/** Adds the rows. The cluster and the server that it starts are always ended. */
export async function measureSize(bench: Bench): Promise<void> {
  const cluster = await startCluster({ storage: "ssd" });
  try {
    const server = await startNode(bench, cluster);
    try {
      await deployBenchSpec(server);
      const streams = bench.isQuick ? QUICK_STREAMS : STREAMS;
      const target = targetOf(server, ENVIRONMENT);
      await measureAll({ bench, server, target, streams, env: clusterEnv(cluster) });
    } finally {
      await server.kill();
    }
  } finally {
    await cluster.stop();
  }
}

async function measureAll(world: World): Promise<void> {
  const { bench, server, env } = world;
  const file = join(bench.dataDir, "environment.jsonl");
  const commandEnv = { ...env, DAYBOOK_DATA_DIR: server.dataDir };
  const run = async (...args: string[]) => {
    const { peakMb } = await timed(daybook(...args), commandEnv);
    return `the command ${peakMb.toFixed(0)} MiB`;
  };
  await measureOne(world, "import_jsonl", () => importStreams(world));
  await measureOne(world, "an anchor of all", () => anchor(server));
  await measureOne(world, "the next anchor", () => anchor(server));
  await measureOne(world, "build of a view", () => buildView(world));
  await measureOne(world, "erasure of one stream", () => erase(world));
  await measureOne(world, "fsck", () => run("fsck"));
  await measureOne(
    world,
    "export",
    () => run("export", "--environment", ENVIRONMENT, "--out", file),
  );
  await measureOne(
    world,
    "import into another instance",
    () => run("import", file, "--instance", "moved", "--environment", ENVIRONMENT),
  );
  await Deno.remove(file);
}

/** `work` returns what is to be noted of it. */
async function measureOne(
  { bench, target, streams }: World,
  name: string,
  work: () => Promise<string>,
): Promise<void> {
  const over = new AbortController();
  const beside = writeBeside(target, streams, over.signal);
  const startedMs = performance.now();
  const note = await work().finally(() => over.abort());
  const value = (performance.now() - startedMs) / 1000;
  const latency = await beside;
  bench.add({
    name: `${name}, ${streams.toLocaleString("en")} streams`,
    value,
    unit: "s",
    latency,
    note: ["latency: writes beside it", note].filter((part) => part !== "").join("; "),
  });
  if (latency.max > WORST_MS_MAX) throw new Error(`a write beside ${name}: ${latency.max} ms`);
}

/** Writes to streams at random, so many a second. */
async function writeBeside(
  { port, requests }: Target,
  streams: number,
  until: AbortSignal,
): Promise<Latency> {
  const latencies: number[] = [];
  await runOpenLoop({
    port,
    connections: CONNECTIONS,
    perSecond: WRITES_PER_SECOND,
    seconds: Infinity,
    until,
    async perform(connection, number, dueMs) {
      const stream = streamId(Math.floor(Math.random() * streams));
      const reply = await connection.exchange(...requests.single(stream, number));
      if (reply.status !== 201) throw new Error(`a write beside it: ${bodyText(reply)}`);
      latencies.push(performance.now() - dueMs);
    },
  });
  return percentiles(latencies);
}

async function importStreams({ server, streams }: World): Promise<string> {
  let size = 0;
  for (const piece of makeFile(streams)) size += piece.length;
  const path = `import_jsonl?environment=${ENVIRONMENT}`;
  await importFile(server, path, size, makeFile(streams));
  return `${Math.round(size / 1e6)} MB`;
}

/** One event for each stream. */
function* makeFile(streams: number): Generator<Uint8Array> {
  for (let from = 0; from < streams; from += PIECE_LINES) {
    yield makeLines((number) => number, from, Math.min(PIECE_LINES, streams - from));
  }
}

async function anchor(server: ServerProcess): Promise<string> {
  const { instance_id } = server.credentials;
  const body = { environment: ENVIRONMENT, instance_id };
  const { anchor } = await ask(server, "POST", "/_admin/anchors", body) as {
    anchor: { stream_count: number };
  };
  return `covers ${anchor.stream_count.toLocaleString("en")} streams`;
}

async function buildView(world: World): Promise<string> {
  const { server } = world;
  const path = `/api/instances/${server.credentials.instance_id}/projections`;
  await ask(server, "POST", path, { environment: ENVIRONMENT, projection: PROJECTION });
  await until(world, async () => {
    const headers = { authorization: world.target.authorization! };
    const reply = await fetch(`${server.baseUrls[ENVIRONMENT]}/_projections/accounts?limit=1`, {
      headers,
    });
    await reply.body?.cancel();
    return reply.ok;
  });
  return "";
}

async function erase(world: World): Promise<string> {
  const { server } = world;
  const { instance_id } = server.credentials;
  const { tombstone: { id } } = await ask(server, "POST", "/_admin/tombstones", {
    key: `account:${streamId(1)}`,
    reason: "a measure",
    legal_basis: "none",
    grace_hours: 0,
    environment: ENVIRONMENT,
    instance_id,
  }) as { tombstone: { id: string } };
  await until(world, async () => {
    const { tombstone } = await ask(server, "GET", `/_admin/tombstones/${id}`) as {
      tombstone: { state: string };
    };
    return tombstone.state === "completed";
  });
  return "";
}

/** As the operator. */
async function ask(
  { baseUrls, credentials }: ServerProcess,
  method: string,
  path: string,
  body?: unknown,
): Promise<unknown> {
  const reply = await fetch(`${baseUrls[ENVIRONMENT]}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${credentials.operator_token}`,
      "content-type": "application/json",
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`);
  return JSON.parse(text);
}

async function until({ bench }: World, isThere: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + (bench.isQuick ? PATIENCE_MS / 10 : PATIENCE_MS);
  while (!await isThere()) {
    if (performance.now() > endMs) throw new Error("it is not there yet");
    await untilTime(performance.now() + LOOK_EVERY_MS);
  }
}
