/** The catalog of peers: how each is started, on one core, and what one must know about it. */

import { freePort } from "../bench/free_port.ts";
import { startServer } from "../../tests/support/server_process.ts";
import { type RequestBuilder, requestBuilder } from "../bench/requests.ts";
import { deployBenchSpec, renamed, type Target } from "../bench/server_measures.ts";
import type { Installed, Needs } from "./install.ts";
import type { Connection, StoreName } from "./peer_store.ts";
import {
  type DatabaseServer,
  end,
  familyOf,
  installMessageDb,
  isListening,
  start,
  startNats,
  startPostgres,
  startRedis,
  until,
} from "./servers.ts";
import { typesSpec } from "./types_spec.ts";

export interface RunningPeer {
  readonly target: Target;
  /** The same requests with idempotency keys; left out if the peer ignores them. */
  readonly keyed?: RequestBuilder;
  /** All processes that work for it: front and database. */
  pids(): number[];
  /** Bytes that its data takes on the disk. */
  dataBytes(): Promise<number>;
  /** Its store without a front, for measures at store level; undefined for Daybook. */
  readonly store?: { readonly name: StoreName; readonly connection: Connection };
  /** Deploys the types of `typesSpec()`; left out if any type will do. */
  deployTypes?(): Promise<void>;
  /** Drops everything that it has read from its memory; left out if it keeps nothing. */
  forget?(): Promise<void>;
  stop(): Promise<void>;
}

export interface Peer {
  readonly name: string;
  readonly version: string;
  /**
   * What it lacks or has in comparison with Daybook, as far as a reader of the table must know
   * it.
   */
  readonly remark: string;
  /** Daybook is compared with the durable peers; the others only stand beside them. */
  readonly kind: "ours" | "durable" | "not durable" | "yardstick";
  readonly needs: Needs;
  /** The works that it runs; all by default. */
  readonly works?: readonly string[];
  start(place: PeerPlace): Promise<RunningPeer>;
}

export interface PeerPlace {
  readonly installed: Installed;
  readonly folder: string;
  /** `taskset -c 0`, `strace ...`, or nothing. */
  readonly wrapper: readonly string[];
}

const REPOSITORY = new URL("../../", import.meta.url).pathname;
const NOTHING: Needs = { programs: [], packages: [] };
const POSTGRES: Needs = { programs: ["postgres"], packages: ["pg"] };
/** No keys, so that the work is the same: no peer keeps idempotency keys. */
const UNKEYED = { isKeyed: false };
const SINGLE_WRITES = [
  "append",
  "hot stream",
  "zipf",
  "open loop",
  "types",
  "store level",
  "syncs",
];

export const PEERS: readonly Peer[] = [
  {
    name: "daybook",
    version: "this",
    remark: "keys, ledger, hash chain, limits",
    kind: "ours",
    needs: NOTHING,
    start: startOurs,
  },
  {
    name: "message-db",
    version: "1.3.1, PostgreSQL 15",
    remark: "one lock for each category, which is the type of the aggregate",
    kind: "durable",
    needs: { ...POSTGRES, npm: "messageDb" },
    start: (place) => startFronted(place, "message_db", startMessageDb),
  },
  {
    name: "emmett postgres",
    version: "0.42.0, PostgreSQL 15",
    remark: "one stream a write",
    kind: "durable",
    needs: { ...POSTGRES, packages: ["pg", "@event-driven-io/emmett-postgresql"] },
    start: (place) => startFronted(place, "emmett_postgres", startPostgres),
  },
  {
    name: "emmett sqlite",
    version: "0.38.5",
    remark: "one stream a write; one call at a time, for its calls share a connection",
    kind: "durable",
    needs: { ...NOTHING, npm: "emmettSqlite" },
    start: (place) => startFronted(place, "emmett_sqlite", openEmmettSqlite),
  },
  {
    name: "postgres table",
    version: "PostgreSQL 15",
    remark: "one table, unique (stream, version)",
    kind: "durable",
    needs: POSTGRES,
    start: (place) => startFronted(place, "postgres_table", startPostgres),
  },
  {
    name: "redis streams",
    version: "7, appendfsync always",
    remark: "all data in memory",
    kind: "durable",
    needs: { programs: ["redis-server"], packages: ["redis"] },
    start: (place) => startFronted(place, "redis_streams", startRedis),
  },
  {
    name: "nats jetstream",
    version: "2.9",
    remark: "NOT durable: acknowledged before the disk has it; single writes only",
    kind: "not durable",
    needs: { programs: ["nats-server"], packages: ["nats"] },
    works: SINGLE_WRITES,
    start: (place) => startFronted(place, "nats_jetstream", startNats),
  },
  {
    name: "no-op",
    version: "Hono alone",
    remark: "keeps nothing: parses JSON and answers",
    kind: "yardstick",
    needs: NOTHING,
    works: ["append", "read"],
    start: startNoop,
  },
];

async function startOurs({ folder, wrapper }: PeerPlace): Promise<RunningPeer> {
  await Deno.mkdir(folder, { recursive: true });
  let server = await startServer({ dataDir: folder, wrapper });
  await deployBenchSpec(server);
  const key = server.credentials.keys.test.write;
  const requests = requestBuilder(key, UNKEYED);
  return {
    keyed: requestBuilder(key),
    get target() {
      return { port: Number(new URL(server.baseUrls.test).port), serverPid: server.pid, requests };
    },
    pids: () => familyOf(server.pid),
    dataBytes: () => bytesIn(folder),
    deployTypes: () => deployBenchSpec(server, "test", typesSpec()),
    async forget() {
      await server.stop();
      server = await startServer({ dataDir: folder, wrapper });
    },
    async stop() {
      await server.stop();
      await server.remove();
    },
  };
}

type StartDatabase = (
  installed: Installed,
  place: { readonly folder: string; readonly wrapper: readonly string[] },
) => Promise<DatabaseServer>;

async function startMessageDb(
  installed: Installed,
  place: Parameters<StartDatabase>[1],
): Promise<DatabaseServer> {
  const server = await startPostgres(installed, place);
  return { ...server, connection: await installMessageDb(installed, server) };
}

/** Embedded: there is no process besides the front. */
async function openEmmettSqlite(
  { npm, problems }: Installed,
  { folder }: Parameters<StartDatabase>[1],
): Promise<DatabaseServer> {
  if (npm.emmettSqlite === undefined) throw new Error(problems.join("; "));
  await Deno.mkdir(folder, { recursive: true });
  const connection = { folder: npm.emmettSqlite, file: `${folder}/events.db` };
  return { connection, pids: () => [], stop: () => Promise.resolve() };
}

async function startFronted(
  { installed, folder, wrapper }: PeerPlace,
  name: StoreName,
  startDatabase: StartDatabase,
): Promise<RunningPeer> {
  const database = await startDatabase(installed, { folder, wrapper });
  const port = freePort();
  const given = [`front.ts`, String(port), name, JSON.stringify(database.connection)];
  const front = await startScript(wrapper, given, port);
  return {
    target: { port, serverPid: front.pid, requests: requestBuilder("none", UNKEYED) },
    pids: () => [...familyOf(front.pid), ...database.pids()],
    dataBytes: () => bytesIn(folder),
    store: { name, connection: database.connection },
    async stop() {
      await end(front, "SIGKILL");
      await database.stop();
    },
  };
}

/** Sends every request to its one route, with the same bytes that the others get. */
async function startNoop({ wrapper }: PeerPlace): Promise<RunningPeer> {
  const port = freePort();
  const child = await startScript(wrapper, ["../bench/noop_server.ts", String(port)], port);
  const requests = requestBuilder("none", UNKEYED);
  const target: Target = {
    port,
    serverPid: child.pid,
    requests: {
      ...requests,
      get: () => requests.get("/noop"),
      single: (stream, number) => requests.single(stream, number).map(renamed),
      batch: () => requests.write("/noop", "{}"),
    },
  };
  return {
    target,
    pids: () => familyOf(child.pid),
    dataBytes: () => Promise.resolve(0),
    stop: () => end(child, "SIGKILL"),
  };
}

/** Runs a script of this project, and waits until it listens on the port. */
async function startScript(wrapper: readonly string[], given: readonly string[], port: number) {
  const [script, ...args] = given;
  const path = new URL(script!, import.meta.url).pathname;
  const deno = [Deno.execPath(), "run", "-A", "--no-lock", "--quiet", path, ...args];
  const child = start([...wrapper, ...deno], REPOSITORY);
  await until(() => isListening(port), script!);
  return child;
}

/**
 * As the file system counts them, so without holes. PostgreSQL's log is left out, because it is
 * reused.
 */
async function bytesIn(folder: string): Promise<number> {
  const args = ["-s", "-B1", "--exclude=pg_wal", folder];
  const { stdout } = await new Deno.Command("du", { args }).output();
  return Number(new TextDecoder().decode(stdout).split("\t")[0]);
}
