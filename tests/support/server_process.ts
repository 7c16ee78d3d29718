/**
 * A real server as a child process: `main.ts serve` on free loopback ports. It uses its own
 * data folder or a given one and is ready when `startServer` returns. It can be stopped
 * politely or killed as by a power cut.
 */

import { ASKED, startPermission, surroundings } from "../../scripts/start_permissions.ts";
import { type Ports, reservePorts } from "./reserve_ports.ts";

export type EnvironmentName = "production" | "staging" | "test";

/** What the server writes into its data folder at its first start. */
export interface Credentials {
  readonly instance_id: string;
  readonly slug: string;
  readonly base_urls: Readonly<Record<EnvironmentName, string>>;
  readonly keys: Readonly<
    Record<EnvironmentName, { readonly read: string; readonly write: string }>
  >;
  readonly operator_token: string;
}

export interface ServerOptions {
  /** Kept when the server ends. Default: a temporary folder, which `remove` removes. */
  readonly dataDir?: string;
  /** Further environment variables; they override those set here. */
  readonly env?: Readonly<Record<string, string>>;
  /** A command put in front, such as `taskset -c 0`; it must `exec` the server. */
  readonly wrapper?: readonly string[];
  /** Options for the runtime, put before its permissions. */
  readonly runtimeOptions?: readonly string[];
  readonly readyTimeoutMs?: number;
  /** If false, `startServer` returns at once and `ready()` waits. */
  readonly waitForReady?: boolean;
}

export interface ServerProcess {
  readonly pid: number;
  readonly dataDir: string;
  readonly baseUrls: Readonly<Record<EnvironmentName, string>>;
  /** From `credentials.json`; readable once the server is ready. */
  readonly credentials: Credentials;
  /** Milliseconds from the start of the process to its first answer that it is ready. */
  readonly startMs: number;
  /**
   * Resolves when `/health/ready` answers 200. Rejects with the log if the process ends before
   * that or is not ready in time.
   */
  ready(): Promise<void>;
  /** Sends SIGTERM; resolves with the exit code. After 15 s it sends SIGKILL. */
  stop(): Promise<number>;
  /** Sends SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** The exit code or the signal that ended the process; undefined while it runs. */
  howItEnded(): string | undefined;
  /** The last 64 KiB of what the process printed. */
  output(): string;
  /** Kills the process if it still runs and removes a temporary data folder. */
  remove(): Promise<void>;
}

const ROOT = new URL("../../", import.meta.url);
/** Options of the permission script that the task calls, not of the server. */
const OF_ASKING = new Set(["--no-config", "--no-lock"]);
const LOG_CHARACTERS_MAX = 64 * 1024;

export async function startServer(options: ServerOptions = {}): Promise<ServerProcess> {
  const dataDir = options.dataDir ?? await Deno.makeTempDir({ prefix: "daybook_" });
  const ports = reservePorts();
  const startedAt = performance.now();
  const command = [
    ...(options.wrapper ?? []),
    Deno.execPath(),
    "run",
    ...(options.runtimeOptions ?? []),
    ...await startOptions({ DAYBOOK_DATA_DIR: dataDir, ...options.env }),
    "main.ts",
    "serve",
  ];
  const child = new Deno.Command(command[0]!, {
    args: command.slice(1),
    cwd: ROOT,
    env: {
      DAYBOOK_DATA_DIR: dataDir,
      DAYBOOK_HOST: "127.0.0.1",
      DAYBOOK_PORT: String(ports.first),
      NO_COLOR: "1",
      ...await startVariables(),
      ...options.env,
    },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const server = handle(child, { dataDir, options, ports, startedAt });
  if (options.waitForReady !== false) {
    await server.ready().catch(async (error) => {
      await server.remove();
      throw error;
    });
  }
  return server;
}

interface StartedServer {
  readonly dataDir: string;
  readonly options: ServerOptions;
  readonly ports: Ports;
  readonly startedAt: number;
}

function handle(
  child: Deno.ChildProcess,
  { dataDir, options, ports, startedAt }: StartedServer,
): ServerProcess {
  const log = { text: "" };
  const drained = Promise.all([drain(child.stdout, log), drain(child.stderr, log)]);
  const life: { ended?: string; startMs: number } = { startMs: NaN };
  const killOnExit = () => signal(child, "SIGKILL");
  const status = child.status.then(async (status) => {
    await drained;
    life.ended = status.signal ?? `code ${status.code}`;
    ports.release();
    globalThis.removeEventListener("unload", killOnExit);
    return status;
  });
  globalThis.addEventListener("unload", killOnExit);
  const baseUrls = {
    production: `http://127.0.0.1:${ports.first}`,
    staging: `http://127.0.0.1:${ports.first + 1}`,
    test: `http://127.0.0.1:${ports.first + 2}`,
  };

  return {
    pid: child.pid,
    dataDir,
    baseUrls,
    get credentials() {
      return JSON.parse(Deno.readTextFileSync(`${dataDir}/credentials.json`)) as Credentials;
    },
    get startMs() {
      return life.startMs;
    },
    async ready() {
      const until = startedAt + (options.readyTimeoutMs ?? 30_000);
      while (!await answersReady(`${baseUrls.test}/health/ready`)) {
        if (life.ended !== undefined) {
          throw new Error(`the server ended (${life.ended}) before it was ready:\n${log.text}`);
        }
        if (performance.now() > until) {
          throw new Error(`the server was not ready in time:\n${log.text}`);
        }
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      life.startMs = performance.now() - startedAt;
    },
    async stop() {
      signal(child, "SIGTERM");
      const timer = setTimeout(() => signal(child, "SIGKILL"), 15_000);
      const { code } = await status;
      clearTimeout(timer);
      return code;
    },
    async kill() {
      signal(child, "SIGKILL");
      await status;
    },
    howItEnded: () => life.ended,
    output: () => log.text,
    async remove() {
      if (life.ended === undefined) signal(child, "SIGKILL");
      await status;
      if (options.dataDir === undefined) await Deno.remove(dataDir, { recursive: true });
    },
  };
}

async function answersReady(url: string): Promise<boolean> {
  try {
    const reply = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    await reply.body?.cancel();
    return reply.status === 200;
  } catch {
    return false;
  }
}

async function drain(stream: ReadableStream<Uint8Array>, log: { text: string }): Promise<void> {
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    log.text = (log.text + text).slice(-LOG_CHARACTERS_MAX);
  }
}

/** Ignores a process that has already ended. */
function signal(child: Deno.ChildProcess, name: Deno.Signal): void {
  try {
    child.kill(name);
  } catch (error) {
    if (!(error instanceof TypeError) && !(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** The server gets exactly the options that the `start` task gives it. */
/** The variables that the task sets for the runtime. */
async function startVariables(): Promise<Record<string, string>> {
  const words = await startWords();
  const found = words.map((word) => /^([A-Z_]+)=(\S*)$/.exec(word)).filter((each) => each !== null);
  return Object.fromEntries(found.map(([, name, value]) => [name, value]));
}

async function startWords(): Promise<string[]> {
  const config = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
  return (config.tasks.start.command as string).split(" ");
}

async function startOptions(env: Readonly<Record<string, string>>): Promise<string[]> {
  const words = await startWords();
  // The task's shell runs a script for these; here the same functions make them.
  const made = ASKED.map((asked) => startPermission(asked, surroundings(env)));
  const fixed = words.filter((word) => word.startsWith("--") && !OF_ASKING.has(word));
  return [...fixed, ...made];
}
