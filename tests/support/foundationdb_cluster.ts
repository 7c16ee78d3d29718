/**
 * A FoundationDB cluster that all tests of a process share. It is the cluster of
 * FDB_CLUSTER_FILE, under a random prefix, or else its own in a temporary folder. Where neither
 * is possible it says so, and its tests must be skipped.
 *
 * The native client has global state: one isolate of a process may load it, and `deno test`
 * gives each file its own isolate. So a second file of the same process is told that there is
 * no cluster for it; `deno task test` gives each suite its own process. A watch that is still
 * pending when a process ends crashes it, so every test must close its engines.
 */

import type { Bytes, Engine } from "../../src/kv/engine.ts";
import { restoreFoundationdbStore } from "../../src/kv/foundationdb/binding.ts";
import type { BackupStores } from "../contract/backup_contract.ts";
import { SMALL_PACE } from "./backup_stores.ts";
import { openFoundationdb } from "./open_foundationdb.ts";
import type { OpenedEngine } from "../contract/engine_fixture.ts";
import { type ClusterProcess, missingForCluster, startCluster } from "./cluster_process.ts";

export interface FoundationdbCluster {
  /** Why there is no cluster; undefined if there is one. */
  readonly missing: string | undefined;
  /** Suspends or resumes the server of our own cluster. */
  pause(isPaused: boolean): void;
  /** Known once the tests run. */
  clusterFile(): string;
  /** Opens an engine on an empty store. */
  open(): Promise<OpenedEngine>;
  /** Opens two nodes of an empty store. */
  openForBackups(): Promise<BackupStores>;
}

export interface ClusterChoice {
  /** For tests that suspend the server: never use somebody else's cluster. */
  readonly ownOnly?: boolean;
}

const OWNER = "FOUNDATIONDB_CLIENT_OWNER";
const ISOLATE = crypto.randomUUID();

const host = {
  nowMs: () => Date.now(),
  randomBytes: (length: number) => crypto.getRandomValues(new Uint8Array(length)),
};

/** Picks the cluster; starts our own before the first test and stops it after the last. */
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

  async function openForBackups(): Promise<BackupStores> {
    const store = { clusterFile, host, backupPace: SMALL_PACE, prefix: randomPrefix() };
    const nodes = [await openFoundationdb(store), await openFoundationdb(store)];
    return {
      nodes,
      async restored(pieces, body) {
        const other = { ...store, prefix: randomPrefix() };
        const wish = { nowMs: host.nowMs(), prepare: async () => {} };
        await restoreFoundationdbStore(other, pieces, wish);
        const engine = await openFoundationdb(other);
        try {
          await body(engine);
        } finally {
          await clear(engine);
          await engine.close();
        }
      },
      async dispose() {
        const last = await openFoundationdb(store);
        await clear(last);
        for (const node of [...nodes, last]) await node.close();
      },
    };
  }

  function pause(isPaused: boolean): void {
    if (own === undefined) throw new Error("this cluster is not ours to hold still");
    isPaused ? own.pause() : own.resume();
  }
  return { missing, pause, clusterFile: () => clusterFile!, open, openForBackups };
}

/**
 * Returns why this file may not load the client, or claims the client for it. The claim is in
 * the environment because that is what the isolates of a process share.
 */
export function takenByAnotherFile(): string | undefined {
  const me = `${Deno.pid} ${ISOLATE}`;
  const owner = Deno.env.get(OWNER) ?? "";
  if (owner.startsWith(`${Deno.pid} `) && owner !== me) {
    return "another test file of this process has loaded the client";
  }
  Deno.env.set(OWNER, me);
  return undefined;
}

/** Below 0xfe, and no byte that a tuple begins with. */
function randomPrefix(): Bytes {
  const prefix = host.randomBytes(4);
  prefix[0] = 0xfd;
  return prefix;
}

/** Clears everything, the engine's markers included. */
async function clear(engine: Engine): Promise<void> {
  const all = { begin: new Uint8Array(), end: Uint8Array.of(0xff) };
  await engine.transact((tx) => Promise.resolve(tx.clearRange(all)));
}
