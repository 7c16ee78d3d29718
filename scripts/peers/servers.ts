/**
 * The databases of the peers, each in a new folder. Their settings make sure that what they
 * acknowledge is on the disk, except for NATS.
 */

import { freePort } from "../bench/free_port.ts";
import type { Connection } from "./peer_store.ts";
import { type Installed, libraryPath, run } from "./install.ts";

export interface DatabaseServer {
  readonly connection: Connection;
  /** The processes that do its work at this moment. */
  pids(): number[];
  stop(): Promise<void>;
}

export interface ServerPlace {
  /** The folder for its data, which is created. */
  readonly folder: string;
  /** Put in front of the command, such as `taskset -c 0`. */
  readonly wrapper: readonly string[];
}

const READY_MS_MAX = 20_000;
/** After this, a process that was told to end is killed. */
const END_MS_MAX = 10_000;
const NOBODY = "nobody";

/**
 * PostgreSQL with `fsync` and `synchronous_commit` on; otherwise its defaults, with more
 * memory.
 */
export async function startPostgres(installed: Installed, place: ServerPlace) {
  const bin = needed(installed, "postgres").replace(/\/postgres$/, "");
  const { folder, wrapper } = place;
  // It does not run as root, the usual user in containers.
  const isRoot = Deno.uid() === 0;
  const as = isRoot ? ["setpriv", `--reuid=${NOBODY}`, "--regid=nogroup", "--clear-groups"] : [];
  await Deno.mkdir(folder, { recursive: true });
  if (isRoot) await must(["chown", NOBODY, folder]);
  const data = `${folder}/data`;
  // Only the creation of the empty database is not synced.
  const options = ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"];
  await must([...as, `${bin}/initdb`, ...options]);
  const port = freePort();
  const settings = [
    "fsync=on",
    "synchronous_commit=on",
    "full_page_writes=on",
    "shared_buffers=512MB",
    "max_wal_size=8GB",
    "max_connections=200",
    `unix_socket_directories=${folder}`,
    "listen_addresses=127.0.0.1",
    `port=${port}`,
  ].flatMap((setting) => ["-c", setting]);
  const command = [...wrapper, ...as, `${bin}/postgres`, "-D", data, ...settings];
  const child = start(command, folder, libraryPath(installed));
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const psql = [`${bin}/psql`, url, "-qc", "SELECT 1"];
  await until(async () => await run(psql, folder) === undefined, "PostgreSQL");
  return {
    connection: { url, bin },
    pids: () => familyOf(child.pid),
    stop: () => end(child, "SIGINT"),
  };
}

/** Runs message-db's own installer on a database of that server. */
export async function installMessageDb(
  { npm }: Installed,
  { connection }: DatabaseServer,
): Promise<Connection> {
  if (npm.messageDb === undefined) throw new Error("message-db is not installed");
  const { hostname, port } = new URL(connection.url!);
  const scripts = `${npm.messageDb}/node_modules/@eventide/message-db/database`;
  await must(["bash", `${scripts}/install.sh`], {
    PGHOST: hostname,
    PGPORT: port,
    PGUSER: "postgres",
    PATH: `${connection.bin}:${Deno.env.get("PATH")}`,
  });
  // Its functions refer to each other without their schema.
  const url = new URL("/message_store", connection.url);
  url.searchParams.set("options", "-c search_path=message_store,public");
  return { ...connection, url: url.href };
}

/** Redis with every write in its log, and the log synced before the answer. */
export async function startRedis(installed: Installed, { folder, wrapper }: ServerPlace) {
  await Deno.mkdir(folder, { recursive: true });
  const port = freePort();
  const settings = ["--port", port, "--dir", folder, "--bind", "127.0.0.1", "--save", ""];
  const durable = [
    "--appendonly",
    "yes",
    "--appendfsync",
    "always",
    "--no-appendfsync-on-rewrite",
    "no",
  ];
  const command = [...wrapper, needed(installed, "redis-server"), ...settings, ...durable];
  const child = start(command.map(String), folder, libraryPath(installed));
  await until(() => isListening(port), "Redis");
  const connection: Connection = { url: `redis://127.0.0.1:${port}` };
  return { connection, pids: () => familyOf(child.pid), stop: () => end(child, "SIGTERM") };
}

/** JetStream with its defaults: files, and a sync every two minutes. */
export async function startNats(installed: Installed, { folder, wrapper }: ServerPlace) {
  await Deno.mkdir(folder, { recursive: true });
  const port = freePort();
  const program = needed(installed, "nats-server");
  const command = [program, "-js", "-sd", folder, "-a", "127.0.0.1", "-p", String(port)];
  const child = start([...wrapper, ...command], folder);
  await until(() => isListening(port), "NATS");
  const connection: Connection = { url: `nats://127.0.0.1:${port}` };
  return { connection, pids: () => familyOf(child.pid), stop: () => end(child, "SIGTERM") };
}

function needed({ program, problems }: Installed, name: string): string {
  const path = program(name);
  if (path === undefined) throw new Error(`${name} is not here: ${problems.join("; ")}`);
  return path;
}

/** Processes that `start` has started and `end` has not ended yet. */
const running = new Set<Deno.ChildProcess>();
let isOver = false;

export function start(
  command: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Deno.ChildProcess {
  if (isOver) throw new Error("the run is being ended");
  const [program, ...args] = command;
  const options = { args, cwd, env, stdout: "null", stderr: "null" } as const;
  const child = new Deno.Command(program!, options).spawn();
  running.add(child);
  return child;
}

export async function end(child: Deno.ChildProcess, signal: Deno.Signal): Promise<void> {
  send(child, signal);
  const timer = setTimeout(() => send(child, "SIGKILL"), END_MS_MAX);
  await child.status;
  clearTimeout(timer);
  running.delete(child);
}

/** Kills every process that was started and still runs. */
export async function endAll(): Promise<void> {
  await Promise.all([...running].map((child) => end(child, "SIGKILL")));
}

/** The same, and nothing can be started afterwards. */
export async function endForGood(): Promise<void> {
  isOver = true;
  await endAll();
}

function send(child: Deno.ChildProcess, signal: Deno.Signal): void {
  try {
    child.kill(signal);
  } catch {
    // It has ended by itself.
  }
}

async function must(command: readonly string[], env?: Readonly<Record<string, string>>) {
  const failure = await run(command, "/", env);
  if (failure !== undefined) throw new Error(`${command.join(" ")}: ${failure}`);
}

export async function isListening(port: number): Promise<boolean> {
  try {
    (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    return true;
  } catch {
    return false;
  }
}

export async function until(holds: () => Promise<boolean>, what: string): Promise<void> {
  const endMs = performance.now() + READY_MS_MAX;
  while (!await holds()) {
    if (performance.now() > endMs) throw new Error(`${what} did not start`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The process and all of its descendants. */
export function familyOf(pid: number): number[] {
  const children: number[] = [];
  try {
    for (const { name: task } of Deno.readDirSync(`/proc/${pid}/task`)) {
      const text = Deno.readTextFileSync(`/proc/${pid}/task/${task}/children`);
      children.push(...text.split(" ").filter(Boolean).map(Number));
    }
  } catch {
    // It has ended meanwhile.
  }
  return [pid, ...children.flatMap(familyOf)];
}
