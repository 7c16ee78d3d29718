/**
 * Opens, checks and names the store of a deployment: only this file knows what the engines are
 * made of. Each choice has no default branch, so an engine that is forgotten does not compile.
 * Called by the commands of `src/cli` and by tests.
 */

import { join } from "node:path";
import type { StoreName } from "./capabilities.ts";
import type { Bytes, DurableListener, Engine } from "./engine.ts";
import type { EngineHost } from "./foundationdb/engine.ts";
import { drawKeyHash } from "./key_map.ts";
import { checkPages, NO_PAGES, type PageCheck } from "./sqlite/pages/page_check.ts";
import { checkSqliteFile } from "./sqlite/check_file.ts";
import { restoreSqliteStore, type RestoreWish } from "./sqlite/backup/restore_store.ts";
import { openSqliteEngine } from "./sqlite/engine.ts";

export interface EngineChoice {
  readonly store: StoreName;
  /** Folder of the embedded store; created if missing. */
  readonly dataDir: string;
  /** Cluster file of FoundationDB; undefined for its own default. */
  readonly fdbClusterFile?: string;
  /** Is told of every commit of an embedded store; others do not know those of their nodes. */
  readonly onDurable?: DurableListener;
  /** This process answers requests. */
  readonly isServing?: boolean;
}

export interface OpeningHost extends EngineHost {
  /** Resolves in the next turn of the event loop. */
  yieldBriefly?(): Promise<void>;
  /** Logs what an operator should know and no request reports. */
  log?(level: "warn", message: string, fields: Record<string, unknown>): void;
}

/**
 * Opens the engine of a deployment.
 * @throws {StoreInUse} when another process has the embedded store open.
 * @throws {Error} when FoundationDB is chosen and there is no cluster file, no client library,
 * or no answer within ten seconds. So a server that cannot start says why and exits; later
 * trouble with the cluster is reported by each call.
 */
export async function openEngine(
  { store, dataDir, fdbClusterFile, isServing, onDurable }: EngineChoice,
  host: OpeningHost,
): Promise<Engine> {
  drawKeyHash((length) => host.randomBytes(length));
  switch (store) {
    case "sqlite":
      return openSqliteEngine({
        path: sqlitePath(dataDir),
        yieldBriefly: host.yieldBriefly,
        isServing,
        onDurable,
        onUpgraded: (copy) => {
          const advice = "The store was brought to a new format. Remove the copy of what it was " +
            "before once this build has proven itself";
          host.log?.("warn", advice, { copy });
        },
        onUnnoted: (reason) => host.log?.("warn", "Sums of pages are not kept", { reason }),
      });
    case "foundationdb": {
      // Loaded only when chosen: it needs a native library that not every machine has.
      const { openFoundationdbEngine } = await import("./foundationdb/binding.ts");
      return await openFoundationdbEngine({ clusterFile: fdbClusterFile, host });
    }
  }
}

/**
 * Makes the store of a deployment from the pieces of a backup (`Engine.backup`). It must not exist
 * yet; a cluster must be empty.
 * @throws {Error} when the pieces are not a whole store. What was written is then of no use.
 */
export async function restoreStore(
  { store, dataDir, fdbClusterFile }: EngineChoice,
  pieces: AsyncIterable<Bytes>,
  wish: RestoreWish & { readonly host: EngineHost },
): Promise<void> {
  switch (store) {
    case "sqlite":
      return await restoreSqliteStore(sqlitePath(dataDir), pieces, wish);
    case "foundationdb": {
      const { restoreFoundationdbStore } = await import("./foundationdb/binding.ts");
      const options = { clusterFile: fdbClusterFile, host: wish.host };
      return await restoreFoundationdbStore(options, pieces, wish);
    }
  }
}

/**
 * Faults of a closed store below the meaning of records: broken pages, and rows that differ from
 * what was written. A cluster checks its own pages, so nothing is reported for one.
 */
export function checkStoreFile({ store, dataDir }: EngineChoice): string[] {
  switch (store) {
    case "sqlite":
      return checkSqliteFile(sqlitePath(dataDir));
    case "foundationdb":
      return [];
  }
}

/**
 * Compares the pages of a store with the checksums of what was last written there. Call it
 * before the store is opened, because opening writes to it.
 * @throws {StoreInUse} when a process has it open.
 */
export function checkStorePages({ store, dataDir }: EngineChoice): PageCheck {
  switch (store) {
    case "sqlite":
      return checkPages(sqlitePath(dataDir));
    case "foundationdb":
      return NO_PAGES;
  }
}

/** Where the store is, as a line for the operator. */
export function storePlace({ store, dataDir, fdbClusterFile }: EngineChoice): string {
  switch (store) {
    case "sqlite":
      return `data        ${dataDir}`;
    case "foundationdb":
      return `cluster     ${fdbClusterFile ?? "FoundationDB's default cluster file"}`;
  }
}

function sqlitePath(dataDir: string): string {
  return join(dataDir, "daybook.sqlite");
}
