/** Stores for the contract of backups. */

import { join } from "node:path";
import type { Bytes, Engine } from "../../src/kv/engine.ts";
import type { BackupPace } from "../../src/kv/foundationdb/backup.ts";
import type { ClientDatabase } from "../../src/kv/foundationdb/client.ts";
import { FoundationdbEngine } from "../../src/kv/foundationdb/engine.ts";
import { restorePieces } from "../../src/kv/foundationdb/pieces.ts";
import { restoreSqliteStore } from "../../src/kv/sqlite/backup/restore_store.ts";
import { openSqliteEngine } from "../../src/kv/sqlite/engine.ts";
import type { BackupStores } from "../contract/backup_contract.ts";
import { fakeHost } from "./fake_host.ts";
import { memoryDatabase } from "./memory_foundationdb.ts";
import { SMALL_SIZES } from "./random_writers.ts";

/** So small that captured changes are taken many times. */
export const SMALL_PACE: BackupPace = {
  beatMs: 20,
  silenceMs: 400,
  pieceBytes: 50_000,
  piecesBetween: 10,
};

export const NOW_MS = Date.UTC(2026, 10, 26);

export async function sqliteStores(): Promise<BackupStores> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_backup_" });
  const node = openSqliteEngine({ path: join(folder, "store.sqlite"), sizes: SMALL_SIZES });
  return {
    nodes: [node],
    async restored(pieces, body) {
      const path = join(folder, "restored", "store.sqlite");
      try {
        await restoreSqliteStore(path, pieces, { nowMs: NOW_MS, prepare: async () => {} });
        const engine = openSqliteEngine({ path, sizes: SMALL_SIZES });
        await body(engine).finally(() => engine.close());
      } finally {
        await Deno.remove(join(folder, "restored"), { recursive: true });
      }
    },
    async dispose() {
      await node.close();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

export function memoryNode(database: ClientDatabase, seed: string, prefix = "a"): Engine {
  return new FoundationdbEngine({
    database,
    host: fakeHost(seed),
    prefix: new TextEncoder().encode(prefix),
    backupPace: SMALL_PACE,
  });
}

/** Two nodes of one store; others are made beside it, in the same cluster. */
export function memoryStores(): Promise<BackupStores> {
  const database = memoryDatabase();
  const nodes = [memoryNode(database, "engine a"), memoryNode(database, "engine b")];
  return Promise.resolve({
    nodes,
    async restored(pieces, body) {
      const engine = memoryNode(database, "restored", "b");
      try {
        await restoreInMemory(engine, pieces);
        await body(engine);
        await clearAll(engine);
      } finally {
        await engine.close();
      }
    },
    async dispose() {
      for (const node of nodes) await node.close();
    },
  });
}

export function restoreInMemory(engine: Engine, pieces: AsyncIterable<Bytes>): Promise<void> {
  const { randomBytes } = fakeHost("restore");
  return restorePieces(pieces, {
    engine,
    nowMs: NOW_MS,
    randomBytes,
    advanceCommand: (version) => `advanceversion ${version}`,
    prepare: async () => {},
  });
}

export async function clearAll(engine: Engine): Promise<void> {
  const all = { begin: new Uint8Array(), end: Uint8Array.of(0xff) };
  await engine.transact((tx) => Promise.resolve(tx.clearRange(all)));
}
