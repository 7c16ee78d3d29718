/**
 * A FoundationDB cluster for tests, one for all tests of a file: that of FDB_CLUSTER_FILE, under
 * a random prefix, or else one of its own in a temporary folder. Where there is neither a cluster
 * nor what it takes to start one, it says so, and its tests are to be left out.
 *
 * The native client has global state: suites that use it run one after another, never with
 * `deno test --parallel`. A watch that is pending at the end of a process crashes it, so every
 * engine is closed by its test.
 */

import type { Bytes, Engine } from "../../src/kv/engine.ts";
import { openFoundationdbEngine } from "../../src/kv/foundationdb.ts";
import type { OpenedEngine } from "../contract/engine_contract.ts";

export interface FoundationdbCluster {
  /** Why there is none; undefined when there is. */
  readonly missing: string | undefined;
  /** Stops the server of a cluster of our own, or lets it go on. */
  pause(isPaused: boolean): Promise<void>;
  /** Opens an engine on an empty store. */
  open(): Promise<OpenedEngine>;
}

const host = {
  nowMs: () => Date.now(),
  randomBytes: (length: number) => crypto.getRandomValues(new Uint8Array(length)),
};
const script = new URL("../../scripts/run_foundationdb.sh", import.meta.url).pathname;
const folders = ["/usr/local/sbin", "/usr/sbin", "/usr/local/bin", "/usr/bin"];

/** Finds out what there is, and has it started before the first test and stopped after the last. */
export function foundationdbCluster(): FoundationdbCluster {
  const given = Deno.env.get("FDB_CLUSTER_FILE");
  const missing = whatIsMissing(given === undefined);
  const prefix: Bytes | undefined = given === undefined ? undefined : randomPrefix();
  let clusterFile = given;
  let running: Deno.ChildProcess | undefined;
  if (missing === undefined && given === undefined) {
    Deno.test.beforeAll(async () => {
      const started = await startCluster();
      running = started.process;
      clusterFile = started.clusterFile;
    });
    Deno.test.afterAll(async () => {
      running?.kill("SIGTERM");
      await running?.status;
    });
  }

  async function open(): Promise<OpenedEngine> {
    let current = await openFoundationdbEngine({ clusterFile, prefix, host });
    await clear(current);
    return {
      engine: current,
      async reopen() {
        await current.close();
        current = await openFoundationdbEngine({ clusterFile, prefix, host });
        return current;
      },
      async dispose() {
        await current.close();
        if (prefix === undefined) return;
        current = await openFoundationdbEngine({ clusterFile, prefix, host });
        await clear(current);
        await current.close();
      },
    };
  }

  async function pause(isPaused: boolean): Promise<void> {
    const file = clusterFile!.replace(/fdb\.cluster$/, "fdbserver.pid");
    Deno.kill(Number(await Deno.readTextFile(file)), isPaused ? "SIGSTOP" : "SIGCONT");
  }
  return { missing, pause, open };
}

function whatIsMissing(isStartedHere: boolean): string | undefined {
  const programs = isStartedHere ? ["fdbserver", "fdbcli"] : [];
  const path = [...(Deno.env.get("PATH") ?? "").split(":"), ...folders];
  const absent = programs.filter((name) => !path.some((folder) => isFile(`${folder}/${name}`)));
  try {
    Deno.dlopen("libfdb_c.so", {}).close();
  } catch {
    absent.push("libfdb_c.so");
  }
  if (absent.length === 0) return undefined;
  return `${absent.join(", ")} not installed, and no FDB_CLUSTER_FILE set`;
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

/** Below 0xfe, and nothing that a tuple begins with. */
function randomPrefix(): Bytes {
  const prefix = host.randomBytes(4);
  prefix[0] = 0xfd;
  return prefix;
}

async function startCluster(): Promise<{ process: Deno.ChildProcess; clusterFile: string }> {
  const process = new Deno.Command("sh", {
    args: [script, "--memory"],
    env: { UNTIL_PID: String(Deno.pid) },
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("\n")) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`scripts/run_foundationdb.sh ended: ${text}`);
    text += value;
  }
  await reader.cancel();
  return { process, clusterFile: text.trim() };
}

/** The markers of the engine too. */
async function clear(engine: Engine): Promise<void> {
  const all = { begin: new Uint8Array(), end: Uint8Array.of(0xff) };
  await engine.transact((tx) => Promise.resolve(tx.clearRange(all)));
}
