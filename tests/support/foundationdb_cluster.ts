/**
 * A FoundationDB cluster for tests, one for all tests of a process: that of FDB_CLUSTER_FILE, under
 * a random prefix, or else one of its own in a temporary folder. Where there is neither a cluster
 * nor what it takes to start one, it says so, and its tests are to be left out.
 *
 * The native client has global state: one isolate of a process may load it, and `deno test` gives
 * each file one. So a second file of the same process is told that there is no cluster for it;
 * `deno task test` gives each suite a process of its own. A watch that is pending at the end of a
 * process crashes it, so every engine is closed by its test.
 */

import type { Bytes, Engine } from "../../src/kv/engine.ts";
import { openFoundationdb } from "./open_foundationdb.ts";
import type { OpenedEngine } from "../contract/engine_contract.ts";
import { type ClusterProcess, missingForCluster, startCluster } from "./cluster_process.ts";

export interface FoundationdbCluster {
  /** Why there is none; undefined when there is. */
  readonly missing: string | undefined;
  /** Stops the server of a cluster of our own, or lets it go on. */
  pause(isPaused: boolean): void;
  /** Once the tests run. */
  clusterFile(): string;
  /** Opens an engine on an empty store. */
  open(): Promise<OpenedEngine>;
}

export interface ClusterChoice {
  /** For tests that hold the server still: never somebody else's cluster. */
  readonly ownOnly?: boolean;
}

const OWNER = "FOUNDATIONDB_CLIENT_OWNER";
const ISOLATE = crypto.randomUUID();

const host = {
  nowMs: () => Date.now(),
  randomBytes: (length: number) => crypto.getRandomValues(new Uint8Array(length)),
};

/** Finds out what there is, and has it started before the first test and stopped after the last. */
export function foundationdbCluster({ ownOnly = false }: ClusterChoice = {}): FoundationdbCluster {
  const given = ownOnly ? undefined : Deno.env.get("FDB_CLUSTER_FILE");
  const missing = missingForCluster(given === undefined) ?? takenByAnotherFile();
  const prefix: Bytes | undefined = given === undefined ? undefined : randomPrefix();
  let clusterFile = given;
  let own: ClusterProcess | undefined;
  if (missing === undefined && given === undefined) {
    Deno.test.beforeAll(async () => {
      own = await startCluster();
      clusterFile = own.clusterFile;
    });
    Deno.test.afterAll(() => own?.stop());
  }

  async function open(): Promise<OpenedEngine> {
    let current = await openFoundationdb({ clusterFile, prefix, host });
    await clear(current);
    return {
      engine: current,
      async reopen() {
        await current.close();
        current = await openFoundationdb({ clusterFile, prefix, host });
        return current;
      },
      async dispose() {
        await current.close();
        if (prefix === undefined) return;
        current = await openFoundationdb({ clusterFile, prefix, host });
        await clear(current);
        await current.close();
      },
    };
  }

  function pause(isPaused: boolean): void {
    if (own === undefined) throw new Error("this cluster is not ours to hold still");
    isPaused ? own.pause() : own.resume();
  }
  return { missing, pause, clusterFile: () => clusterFile!, open };
}

/** What the isolates of one process share is its environment. */
/** Why this file may not load the client; else it may, and no other file of the process. */
export function takenByAnotherFile(): string | undefined {
  const me = `${Deno.pid} ${ISOLATE}`;
  const owner = Deno.env.get(OWNER) ?? "";
  if (owner.startsWith(`${Deno.pid} `) && owner !== me) {
    return "another test file of this process has loaded the client";
  }
  Deno.env.set(OWNER, me);
  return undefined;
}

/** Below 0xfe, and nothing that a tuple begins with. */
function randomPrefix(): Bytes {
  const prefix = host.randomBytes(4);
  prefix[0] = 0xfd;
  return prefix;
}

/** The markers of the engine too. */
async function clear(engine: Engine): Promise<void> {
  const all = { begin: new Uint8Array(), end: Uint8Array.of(0xff) };
  await engine.transact((tx) => Promise.resolve(tx.clearRange(all)));
}
