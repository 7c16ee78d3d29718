/**
 * Proves `daybook migrate` on a store that the real peer has written: so many events through the
 * peer's own calls, its table as the reference says, a plan, a run, and every event found again,
 * in the order of its stream. Prints figures as lines of JSON. Installs the peer as `bench:peers`
 * does.
 *
 *     deno run -A --no-lock scripts/migrate_proof.ts --peer message-db --events 1000000
 */

import { uuidOfName } from "../src/domain/migrate/ids.ts";
import { startServer } from "../tests/support/server_process.ts";
import { positiveNumber, readOptions, taskCommand } from "./options.ts";
import { PEERS } from "./peers/catalog.ts";
import { type Installed, installPeers, run } from "./peers/install.ts";
import type { Connection, PeerStore } from "./peers/peer_store.ts";
import { endForGood, installMessageDb, startPostgres } from "./peers/servers.ts";

interface Options {
  readonly peer: string;
  readonly events: number;
  readonly cache: string;
}

interface RunningStore {
  readonly store: PeerStore;
  /** Writes the table to a file as the reference of `migrate` says, and returns the file. */
  dump(folder: string): Promise<string>;
  readonly source: string;
  /** Events of one append, and appends at a time. */
  readonly together: number;
  readonly writers: number;
}

const ROOT = new URL("../", import.meta.url).pathname;
const NAMESPACE = "6f1c1a0e-5d0b-5c5e-9a53-3e0a4f1b7c21";
/** Events of a stream, and streams that are written at the same time. */
const LENGTH = 50;
const OPEN_STREAMS = 50;
const PAGE = 1_000;

const STARTS: Readonly<
  Record<string, (installed: Installed, folder: string) => Promise<RunningStore>>
> = {
  "message-db": async (installed, folder) => {
    const server = await startPostgres(installed, { folder, wrapper: [] });
    const connection = await installMessageDb(installed, server);
    const { openStore } = await import("./peers/stores/message_db.ts");
    return {
      store: await openStore(connection),
      source: "message-db",
      together: 10,
      writers: 8,
      dump: (to) => copyTable(connection, "message_store.messages", to),
    };
  },
  "emmett postgres": async (installed, folder) => {
    const { connection } = await startPostgres(installed, { folder, wrapper: [] });
    const { openStore } = await import("./peers/stores/emmett_postgres.ts");
    return {
      store: await openStore(connection),
      source: "emmett",
      together: 10,
      writers: 8,
      dump: (to) => copyTable(connection, "emt_messages", to),
    };
  },
  "emmett sqlite": async (installed, folder) => {
    const { openStore } = await import("./peers/stores/emmett_sqlite.ts");
    const file = `${folder}/events.db`;
    await Deno.mkdir(folder, { recursive: true });
    return {
      store: openStore({ folder: installed.npm.emmettSqlite!, file }),
      source: "emmett",
      together: LENGTH,
      writers: 1,
      dump: () => Promise.resolve(file),
    };
  },
};

/** The command of docs/reference/migrate.md. */
async function copyTable(
  { url, bin }: Connection,
  table: string,
  folder: string,
): Promise<string> {
  const file = `${folder}/messages.ndjson`;
  const copy = `\\copy (SELECT row_to_json(m) FROM ${table} m ORDER BY global_position) TO ` +
    `'${file}' WITH (FORMAT csv, QUOTE E'\\x01', DELIMITER E'\\x02')`;
  // `psql` reads the path of the client's own options in another way.
  const plain = url!.split("?")[0]!;
  const failure = await run([`${bin}/psql`, plain, "-qc", copy], folder);
  if (failure !== undefined) throw new Error(failure);
  return file;
}

function eventOf(stream: number, index: number) {
  const type = index === 0 ? "AccountOpened" : "MoneyDeposited";
  const data = { index, owner: `owner ${stream}`, amount: (index * 37) % 1_000 / 4, note: 'é"\\' };
  return { type, data, metadata: { user: `u${stream % 7}` } };
}

/** Appends in an order that mixes the streams of a group, each by one writer. */
async function fill({ store, together, writers }: RunningStore, streams: number): Promise<void> {
  async function write(first: number, last: number): Promise<void> {
    for (let from = 0; from < LENGTH; from += together) {
      for (let stream = first; stream < last; stream++) {
        const indexes = Array.from({ length: together }, (_, at) => from + at);
        await store.append(`account-${stream}`, indexes.map((at) => eventOf(stream, at)));
      }
    }
  }
  let next = 0;
  await Promise.all(Array.from({ length: writers }, async () => {
    while (next < streams) {
      const first = next;
      next += OPEN_STREAMS;
      await write(first, Math.min(streams, next));
    }
  }));
}

interface Timed {
  readonly code: number;
  readonly stdout: string;
  readonly seconds: number;
  readonly peakMib: number;
}

const LOOK_MS = 100;

async function daybook(args: readonly string[], env: Record<string, string>): Promise<Timed> {
  const beganMs = performance.now();
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "-q", "main.ts", ...args],
    cwd: ROOT,
    env: { NO_COLOR: "1", ...env },
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let peakMib = 0;
  const timer = setInterval(() => peakMib = peakMemory(child.pid) ?? peakMib, LOOK_MS);
  const { code, stdout, stderr } = await child.output();
  clearInterval(timer);
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  if (code !== 0) throw new Error(`${args.join(" ")}: ${text(stdout)}${text(stderr)}`);
  const seconds = (performance.now() - beganMs) / 1000;
  return { code, stdout: text(stdout), seconds, peakMib };
}

/** MiB; undefined if the process has ended. */
function peakMemory(pid: number): number | undefined {
  try {
    const [, size] = /VmHWM:\s+(\d+)/.exec(Deno.readTextFileSync(`/proc/${pid}/status`)) ?? [];
    return size === undefined ? undefined : Math.round(Number(size) / 1024);
  } catch {
    return undefined;
  }
}

/** Seconds of processor time that a process and its threads have taken. */
function processorSeconds(pid: number): number {
  const fields = Deno.readTextFileSync(`/proc/${pid}/stat`).split(" ");
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

/** Every event of every stream, each stream in its order. */
async function countMoved(base: string, key: string, streams: number): Promise<number> {
  const lengths = new Map<string, number>();
  const names = new Map(
    Array.from({ length: streams }, (_, stream) => [
      `account:${uuidOfName(NAMESPACE, String(stream))}`,
      stream,
    ]),
  );
  let from = "start";
  let count = 0;
  for (;;) {
    const url = `${base}/_feed?limit=${PAGE}&from=${from}`;
    const page = await (await fetch(url, { headers: { authorization: `Bearer ${key}` } })).json();
    for (const { event } of page.data) {
      const index = lengths.get(event.key) ?? 0;
      const { data } = eventOf(names.get(event.key)!, index);
      if (JSON.stringify(sorted(event.data)) !== JSON.stringify(sorted(data))) {
        throw new Error(`${event.key} ${index}: ${JSON.stringify(event)}`);
      }
      lengths.set(event.key, index + 1);
      count++;
    }
    if (page.up_to_date && page.data.length === 0) break;
    from = page.next;
  }
  const wrong = [...names.keys()].find((name) => lengths.get(name) !== LENGTH);
  if (wrong !== undefined) throw new Error(`${wrong} has ${lengths.get(wrong)} events`);
  return count;
}

/** PostgreSQL orders the keys of its JSON itself. */
function sorted(data: object): [string, unknown][] {
  return Object.entries(data).sort(([one], [other]) => one < other ? -1 : 1);
}

function tell(figures: object): void {
  console.log(JSON.stringify(figures));
}

async function prove({ peer: name, events, cache }: Options, folder: string): Promise<void> {
  const peer = PEERS.find((each) => each.name === name);
  const start = STARTS[name];
  if (peer === undefined || start === undefined) {
    throw new Error(`--peer is one of ${Object.keys(STARTS).join(", ")}`);
  }
  const installed = await installPeers(cache, [peer.needs]);
  for (const problem of installed.problems) console.error(problem);
  const running = await start(installed, `${folder}/peer`);
  const streams = events / LENGTH;
  let beganMs = performance.now();
  const lap = () => {
    const seconds = (performance.now() - beganMs) / 1000;
    beganMs = performance.now();
    return Math.round(seconds * 10) / 10;
  };
  await fill(running, streams);
  tell({ peer: name, version: peer.version, events, streams, written_in_s: lap() });
  await running.store.close();
  const file = await running.dump(folder);
  tell({ dump: file, bytes: (await Deno.stat(file)).size, seconds: lap() });
  const server = await startServer();
  try {
    const { baseUrls, credentials } = server;
    const env = { DAYBOOK_URL: baseUrls.test, DAYBOOK_TOKEN: credentials.operator_token };
    const from = ["--from", running.source];
    const planned = await daybook(
      ["migrate", "plan", ...from, "--out", folder, "--json", file],
      env,
    );
    const { counts } = JSON.parse(planned.stdout);
    tell({ plan_s: planned.seconds, peak_mib: planned.peakMib, counts });
    await daybook(["deploy", `${folder}/spec.json`], env);
    const map = ["--map", `${folder}/map.json`, "--json"];
    const before = processorSeconds(server.pid);
    const ran = await daybook(["migrate", "run", ...from, ...map, file], env);
    const server_cpu_s = processorSeconds(server.pid) - before;
    const result = JSON.parse(ran.stdout);
    const isEqual = JSON.stringify(result.counts) === JSON.stringify(counts);
    const perSecond = Math.round(result.stored / result.ms * 1000);
    tell({ run_ms: result.ms, events_per_second: perSecond, stored: result.stored, isEqual });
    tell({ run_peak_mib: ran.peakMib });
    const server_peak_mib = peakMemory(server.pid);
    tell({ server_cpu_s, server_peak_mib, load: Deno.loadavg()[0] });
    lap();
    const found = await countMoved(baseUrls.test, credentials.keys.test.read, streams);
    tell({ found, lost: events - found, disorder: 0, read_in_s: lap() });
    if (!isEqual || found !== events) Deno.exitCode = 1;
  } finally {
    await server.remove();
  }
}

const cache = `${Deno.env.get("HOME") ?? "/tmp"}/.cache/daybook-peers`;
const options = readOptions<Options>(
  taskCommand("migrate_proof", "Moves a store in that the real peer has written.")
    .requiredOption("--peer <name>", Object.keys(STARTS).join(", "))
    .option("--events <number>", "a multiple of 50", positiveNumber, 1_000_000)
    .option("--cache <folder>", "where peers are installed", cache),
);
const folder = await Deno.makeTempDir({ prefix: "daybook_proof_" });
// PostgreSQL runs as another user.
await Deno.chmod(folder, 0o755);
try {
  await prove(options, folder);
} finally {
  await endForGood();
  await Deno.remove(folder, { recursive: true });
}
Deno.exit();
