/**
 * Counts the pending work in a store while no server runs on it. It opens a copy of an SQLite
 * store, so that the server finds the file as the kill left it.
 */

import type { Engine, KeyRange, ReadTransaction } from "../../src/kv/engine.ts";
import { type EngineChoice, openEngine } from "../../src/kv/open_engine.ts";
import { unpack } from "../../src/kv/tuple.ts";
import { QUEUE_SHARDS } from "../../src/domain/fairness/work_share.ts";
import { keys } from "../../src/store/keys.ts";
import { listDueTimers } from "../../src/store/timers.ts";

/** Numbers of records. */
export interface Pending {
  readonly outbox: number;
  readonly timers: number;
  /** Timers that are due. */
  readonly due: number;
  readonly schedules: number;
  /** Running or compensating. */
  readonly sagas: number;
  readonly parked: number;
}

export interface StoreWindow {
  pending(dataDir: string): Promise<Pending>;
  /**
   * Counts, with names, of records that only pending work leaves; empty if everything is done.
   */
  leftOver(dataDir: string): Promise<string[]>;
  close(): Promise<void>;
}

/** Of production, staging and test, as the first start numbers them. */
const TENANTS = [1, 2, 3] as const;
const PAGE = 1_000;
const STORE_FILE = /^daybook\.sqlite(-wal|-redo[12])?$/;

const host = {
  nowMs: () => Date.now(),
  randomBytes: (length: number) => crypto.getRandomValues(new Uint8Array(length)),
};

/** With a cluster file the store is that cluster, whatever data folder is named. */
export function openStoreWindow(clusterFile?: string): StoreWindow {
  // A process may open one client, and opening takes a while.
  let cluster: Promise<Engine> | undefined;
  async function withStore<T>(dataDir: string, body: (engine: Engine) => Promise<T>): Promise<T> {
    if (clusterFile === undefined) return await withCopy(dataDir, body);
    const choice: EngineChoice = { store: "foundationdb", dataDir, fdbClusterFile: clusterFile };
    cluster ??= openEngine(choice, host);
    return await body(await cluster);
  }
  return {
    pending: (dataDir) => withStore(dataDir, (engine) => engine.snapshot(countPending)),
    leftOver: (dataDir) => withStore(dataDir, findLeftOver),
    close: async () => await (await cluster)?.close(),
  };
}

async function withCopy<T>(dataDir: string, body: (engine: Engine) => Promise<T>): Promise<T> {
  const copyDir = await Deno.makeTempDir({ prefix: "daybook_window_" });
  try {
    for await (const { name } of Deno.readDir(dataDir)) {
      if (STORE_FILE.test(name)) await Deno.copyFile(`${dataDir}/${name}`, `${copyDir}/${name}`);
    }
    const engine = await openEngine({ store: "sqlite", dataDir: copyDir }, host);
    try {
      return await body(engine);
    } finally {
      await engine.close();
    }
  } finally {
    await Deno.remove(copyDir, { recursive: true });
  }
}

async function countPending(tx: ReadTransaction): Promise<Pending> {
  const now = host.nowMs();
  const sum = async (counts: Promise<number>[]) =>
    (await Promise.all(counts)).reduce((total, count) => total + count, 0);
  const size = async (range: KeyRange) => (await tx.getRange(range)).length;
  const shards = (queue: "outbox" | "timer") =>
    Array.from({ length: QUEUE_SHARDS[queue] }, (_, shard) => shard);
  const isDue = async (shard: number) =>
    (await listDueTimers(tx, shard, { nowMs: now, limit: Number.MAX_SAFE_INTEGER })).length;
  const active = TENANTS.flatMap((tenant) =>
    ["running", "compensating"].map((state) => keys.sagaList(tenant, "", state))
  );
  return {
    outbox: await sum(shards("outbox").map((shard) => size(keys.outboxes(shard)))),
    timers: await sum(shards("timer").map((shard) => size(keys.timers(shard)))),
    due: await sum(shards("timer").map(isDue)),
    schedules: await sum(TENANTS.map((tenant) => size(keys.schedules(tenant)))),
    sagas: await sum(active.map(size)),
    parked: await size(keys.parkeds()),
  };
}

/**
 * Scans all keys of the environments: an index entry that is never cleared would stay forever.
 */
async function findLeftOver(engine: Engine): Promise<string[]> {
  const pending = await engine.snapshot(countPending);
  const found = Object.entries(pending).filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${name}`);
  const kinds = new Map([
    [kindOf(keys.cancelRule(1, "", "", "")), "rules of cancelling"],
    [kindOf(keys.sagaWait(1, "", "", 0, "")), "waits of sagas"],
  ]);
  const counts = new Map<string, number>();
  for (const tenant of TENANTS) {
    for (let { begin, end } = keys.tenant(tenant);;) {
      const range = { begin, end };
      const page = await engine.snapshot((tx) => tx.getRange(range, { limit: PAGE }));
      for (const { key } of page) {
        const name = kinds.get(kindOf(key));
        if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
      }
      if (page.length < PAGE) break;
      begin = Uint8Array.of(...page.at(-1)!.key, 0);
    }
  }
  return [...found, ...[...counts].map(([name, count]) => `${count} ${name}`)];
}

/** Of a key under a small tenant number; what follows the kind need not be a tuple. */
function kindOf(key: Uint8Array): number {
  return unpack(key.subarray(0, 4))[1] as number;
}
