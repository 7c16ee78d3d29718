/**
 * A real server for integration tests: a process of its own, with a store in a temporary folder,
 * which are both gone at the end.
 */

/// <reference lib="esnext.disposable" preserve="true" />

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { orThrow } from "../core/refusal.ts";
import { createTransport } from "../core/transport.ts";
import { threeFreePorts } from "./free_ports.ts";

/**
 * How the server is started, and what is deployed to it.
 *
 * @example
 * ```ts
 * import type { DaybookOptions } from "@daybook/client/test";
 *
 * const options: DaybookOptions = {
 *   main: "../daybook/main.ts",
 *   spec: { agent_types: ["user"], aggregate_types: { order: { events: {} } } },
 *   env: { DAYBOOK_ALLOW_PRIVATE_WEBHOOKS: "true" },
 * };
 * console.log(options.environment ?? "test");
 * ```
 */
export interface DaybookOptions {
  /** Deployed before `startDaybook` returns. */
  readonly spec?: object;
  /** Whose address and keys are returned, and where the spec is deployed; `test` if not given. */
  readonly environment?: "production" | "staging" | "test";
  /**
   * Daybook's `main.ts`, a path or a `file:` address. If not given, the variable `DAYBOOK_MAIN`,
   * else the npm package `daybook` of the project.
   */
  readonly main?: string | URL;
  /**
   * The Deno that runs it; if not given, the one that runs the test, else the variable `DENO`, else
   * `deno`. `npm install deno@2.9.6` puts one into a project.
   */
  readonly deno?: string;
  /** Further settings of the server. */
  readonly env?: Readonly<Record<string, string>>;
  /** How long the server may take until it is ready; 60 seconds if not given. */
  readonly readyTimeoutMs?: number;
}

/**
 * A server that runs until it is stopped.
 *
 * @example
 * ```ts
 * import { createClient } from "@daybook/client";
 * import type { RunningDaybook } from "@daybook/client/test";
 *
 * function clientOf({ url, key }: RunningDaybook) {
 *   return createClient({ url, key, actor: { type: "user", id: "global" } });
 * }
 * console.log(clientOf.name);
 * ```
 */
export interface RunningDaybook {
  /** The address of the environment. */
  readonly url: string;
  /** An API key of it with the scope `write`, and one with `read`. */
  readonly key: string;
  readonly readKey: string;
  /** An operator token, for `@daybook/client/admin`. */
  readonly token: string;
  readonly instanceId: string;
  /** The addresses of all environments. */
  readonly urls: Readonly<Record<"production" | "staging" | "test", string>>;
  /** What the server has printed, at most the last 64 KiB. */
  log(): string;
  /** Ends the server and removes its store. Twice is as good as once. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

interface Credentials {
  readonly instance_id: string;
  readonly operator_token: string;
  readonly keys: Readonly<Record<string, { readonly read: string; readonly write: string }>>;
}

const READY_TIMEOUT_MS = 60_000;
const POLL_MS = 20;
const STOP_MS_MAX = 15_000;
const LOG_CHARACTERS_MAX = 64 * 1024;
/** Another process may take a port between the moment it is found and the moment it is used. */
const STARTS_MAX = 3;

/**
 * Starts a server on free ports, with a store of its own in a temporary folder, and deploys a spec
 * to it. It is ready when the promise resolves; it ends with `stop()`, with `await using`, or with
 * the process of the test.
 *
 * @example
 * ```ts
 * import { createClient } from "@daybook/client";
 * import { startDaybook } from "@daybook/client/test";
 *
 * const spec = {
 *   agent_types: ["user"],
 *   aggregate_types: {
 *     order: {
 *       events: {
 *         was_placed: { schema: true, handler: { set: { target: "", value: "$.data" } } },
 *       },
 *     },
 *   },
 * };
 * const daybook = await startDaybook({ spec });
 * try {
 *   const { url, key } = daybook;
 *   const db = createClient({ url, key, actor: { type: "user", id: "global" } });
 *   await db.order("7KD2M9QXA").write("was_placed", { item: "book" }).orThrow();
 *   const { data } = await db.order("7KD2M9QXA").get().orThrow();
 *   console.log(data); // { item: "book" }
 * } finally {
 *   await daybook.stop();
 * }
 * ```
 */
export async function startDaybook(options: DaybookOptions = {}): Promise<RunningDaybook> {
  const folder = await mkdtemp(join(tmpdir(), "daybook_test_"));
  try {
    for (let starts = 1;; starts++) {
      const started = await start(options, folder, await threeFreePorts());
      if (started.isReady) return await introduce(started, options, folder);
      await started.end();
      const isTaken = /\bin use\b|EADDRINUSE/i.test(started.log());
      if (!isTaken || starts === STARTS_MAX) {
        throw new Error(`The server ${started.fault}:\n${started.log()}`);
      }
    }
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

interface Started {
  readonly isReady: boolean;
  /** Why it is not ready. */
  readonly fault: string;
  readonly first: number;
  log(): string;
  end(): Promise<void>;
}

async function start(options: DaybookOptions, folder: string, first: number): Promise<Started> {
  const { command, args } = commandOf(options);
  const child = spawn(command, args, {
    env: {
      // Settings of a server that the developer has are none of this one.
      ...Object.fromEntries(
        Object.entries(process.env).filter(([name]) => !name.startsWith("DAYBOOK_")),
      ),
      NO_COLOR: "1",
      ...options.env,
      DAYBOOK_DATA_DIR: folder,
      DAYBOOK_HOST: "127.0.0.1",
      DAYBOOK_PORT: String(first),
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const life = followLife(child);
  const until = Date.now() + (options.readyTimeoutMs ?? READY_TIMEOUT_MS);
  while (life.fault === "" && Date.now() < until && !await isReady(first)) {
    await pause(POLL_MS);
  }
  const fault = life.fault || (Date.now() < until ? "" : "was not ready in time");
  return { isReady: fault === "", fault, first, log: () => life.log, end: life.end };
}

function commandOf({ main, deno }: DaybookOptions): { command: string; args: string[] } {
  const found = main ?? process.env.DAYBOOK_MAIN ?? mainOfRepository();
  if (found === undefined) {
    const installed = programOfProject();
    if (installed !== undefined) return { command: process.execPath, args: [installed, "serve"] };
    throw new Error(
      "Where is Daybook? Install its npm package daybook, give startDaybook() its main.ts, or set " +
        "DAYBOOK_MAIN",
    );
  }
  const isAddress = found instanceof URL || found.startsWith("file:");
  const path = isAddress ? fileURLToPath(found) : found;
  const own = "Deno" in globalThis ? process.execPath : process.env.DENO;
  return {
    command: deno ?? own ?? "deno",
    args: ["run", "--allow-all", "--no-prompt", "--quiet", path, "serve"],
  };
}

/** The server of the repository that this file lies in, if it lies in one. */
function mainOfRepository(): string | undefined {
  if (!import.meta.url.startsWith("file:")) return undefined;
  const path = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..", "main.ts");
  return existsSync(path) ? path : undefined;
}

/** The program of the npm package `daybook`, if the project that is tested has it. */
function programOfProject(): string | undefined {
  if ("Deno" in globalThis) return undefined;
  try {
    return createRequire(join(process.cwd(), "package.json")).resolve("daybook/bin/daybook.js");
  } catch {
    return undefined;
  }
}

/** Collects what the process prints, notes how it ends, and can end it. */
function followLife(child: ChildProcess) {
  const life = { log: "", fault: "", end };
  // The program of the npm package passes this on to its runtime; SIGKILL it could not.
  const killAtExit = () => child.kill("SIGTERM");
  process.once("exit", killAtExit);
  const ended = new Promise<void>((resolve) => {
    child.once("error", (error) => {
      life.fault ||=
        `could not be started (${error.message}): is Deno installed? Give its path as ` +
        "`deno`, or run: npm install deno@2.9.6";
      resolve();
    });
    child.once("close", (code, signal) => {
      life.fault ||= `ended with ${signal ?? code}`;
      resolve();
    });
  }).finally(() => process.removeListener("exit", killAtExit));
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => {
      life.log = (life.log + text).slice(-LOG_CHARACTERS_MAX);
    });
  }

  async function end(): Promise<void> {
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS_MAX);
    await ended;
    clearTimeout(timer);
  }

  return life;
}

async function isReady(port: number): Promise<boolean> {
  try {
    const url = `http://127.0.0.1:${port}/health/ready`;
    const answer = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    await answer.body?.cancel();
    return answer.ok;
  } catch {
    return false;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** The server as the test sees it, with its spec deployed. */
async function introduce(
  { first, log, end }: Started,
  { environment = "test", spec }: DaybookOptions,
  folder: string,
): Promise<RunningDaybook> {
  const [production, staging, test] = [first, first + 1, first + 2].map((port) =>
    `http://127.0.0.1:${port}`
  ) as [string, string, string];
  const urls = { production, staging, test };
  let stopped: Promise<void> | undefined;

  function stop(): Promise<void> {
    return stopped ??= end().then(() => rm(folder, { recursive: true, force: true }));
  }

  try {
    const text = await readFile(join(folder, "credentials.json"), "utf8");
    const { instance_id: instanceId, operator_token: token, keys } = JSON.parse(
      text,
    ) as Credentials;
    const url = urls[environment];
    if (spec !== undefined) {
      const inner = "spec" in spec ? spec.spec : spec;
      orThrow(
        await createTransport({ url, key: token }).send({
          method: "POST",
          path: `/api/instances/${instanceId}/spec`,
          body: { environment, spec: inner },
        }),
      );
    }
    const { read: readKey, write: key } = keys[environment]!;
    return {
      url,
      key,
      readKey,
      token,
      instanceId,
      urls,
      log,
      stop,
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
