/** Who is compared: how each is started, on one core, and what is to be known about it. */

import { startServer } from "../../tests/support/server_process.ts";
import { requestBuilder } from "../bench/requests.ts";
import { deployBenchSpec, type Target } from "../bench/server_measures.ts";
import type { Installed } from "./install.ts";
import type { Connection, StoreName } from "./peer_store.ts";
import {
  type DatabaseServer,
  end,
  familyOf,
  freePort,
  installMessageDb,
  isListening,
  start,
  startPostgres,
  startRedis,
  until,
} from "./servers.ts";

export interface RunningPeer {
  readonly target: Target;
  /** Everything that works for it: front and database. */
  pids(): number[];
  /** Bytes of its data on the disk. */
  dataBytes(): Promise<number>;
  /** Its store without a front, for the measures at store level; undefined for ours. */
  readonly store?: { readonly name: StoreName; readonly connection: Connection };
  stop(): Promise<void>;
}

export interface Peer {
  readonly name: string;
  readonly version: string;
  /** What it lacks against ours, or has, that a reader of the table must know. */
  readonly remark: string;
  start(place: PeerPlace): Promise<RunningPeer>;
}

export interface PeerPlace {
  readonly installed: Installed;
  readonly folder: string;
  /** `taskset -c 0`, `strace ...`, or nothing. */
  readonly wrapper: readonly string[];
}

const REPOSITORY = new URL("../../", import.meta.url).pathname;

export const PEERS: readonly Peer[] = [
  { name: "daybook", version: "this", remark: "keys, ledger, hash chain on", start: startOurs },
  {
    name: "message-db",
    version: "1.3.1, PostgreSQL 15",
    remark: "one lock for each category",
    start: (place) => startFronted(place, "message_db", startMessageDb),
  },
  {
    name: "postgres table",
    version: "PostgreSQL 15",
    remark: "one table, unique (stream, version)",
    start: (place) => startFronted(place, "postgres_table", startPostgres),
  },
  {
    name: "emmett postgres",
    version: "0.42.0, PostgreSQL 15",
    remark: "one stream a write",
    start: (place) => startFronted(place, "emmett_postgres", startPostgres),
  },
  {
    name: "emmett sqlite",
    version: "0.38.5",
    remark: "one stream a write; one call at a time, for its calls share a connection",
    start: (place) => startFronted(place, "emmett_sqlite", openEmmettSqlite),
  },
  {
    name: "redis streams",
    version: "7, appendfsync always",
    remark: "all data in memory",
    start: (place) => startFronted(place, "redis_streams", startRedis),
  },
];

async function startOurs({ folder, wrapper }: PeerPlace): Promise<RunningPeer> {
  await Deno.mkdir(folder, { recursive: true });
  const server = await startServer({ dataDir: folder, wrapper });
  await deployBenchSpec(server);
  const port = Number(new URL(server.baseUrls.test).port);
  const requests = requestBuilder(server.credentials.keys.test.write);
  return {
    target: { port, serverPid: server.pid, requests },
    pids: () => familyOf(server.pid),
    dataBytes: () => bytesIn(folder),
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

/** Embedded: the front is the whole of it. */
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
  const script = `${REPOSITORY}scripts/peers/front.ts`;
  const deno = [Deno.execPath(), "run", "-A", "--no-lock", "--quiet"];
  const given = [script, String(port), name, JSON.stringify(database.connection)];
  const front = start([...wrapper, ...deno, ...given], REPOSITORY);
  await until(() => isListening(port), `the front of ${name}`);
  return {
    target: { port, serverPid: front.pid, requests: requestBuilder("none") },
    pids: () => [...familyOf(front.pid), ...database.pids()],
    dataBytes: () => bytesIn(folder),
    store: { name, connection: database.connection },
    async stop() {
      await end(front, "SIGKILL");
      await database.stop();
    },
  };
}

/** As the file system counts them, holes left out. */
async function bytesIn(folder: string): Promise<number> {
  const { stdout } = await new Deno.Command("du", { args: ["-s", "-B1", folder] }).output();
  return Number(new TextDecoder().decode(stdout).split("\t")[0]);
}
