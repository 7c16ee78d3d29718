/** The one place that knows which engines there are. Called by `main.ts` and by tests. */

import { join } from "node:path";
import type { Engine } from "./engine.ts";
import type { EngineHost } from "./foundationdb_engine.ts";
import { drawKeyHash } from "./key_bytes.ts";
import { checkPages, NO_PAGES, type PageCheck } from "./page_check.ts";
import { checkSqliteFile } from "./row_checksum.ts";
import { openSqliteEngine } from "./sqlite.ts";

export interface EngineChoice {
  readonly store: "sqlite" | "foundationdb";
  /** Folder of the embedded store; made when missing. */
  readonly dataDir: string;
  /** Of FoundationDB; undefined for its own default. */
  readonly fdbClusterFile?: string;
}

export interface OpeningHost extends EngineHost {
  /** The next turn of the event loop. */
  yieldBriefly?(): Promise<void>;
  /** Hears what an operator should know and no request does. */
  log?(level: "warn", message: string, fields: Record<string, unknown>): void;
}

/**
 * Opens the engine of a deployment.
 * @throws {StoreInUse} when another process has the embedded store open.
 * @throws {Error} when FoundationDB is chosen and there is no cluster file, no client library, or
 *   no answer within ten seconds. So a server that is started says what is wrong and ends; what
 *   a cluster does later is for each call to say.
 */
export async function openEngine(
  { store, dataDir, fdbClusterFile }: EngineChoice,
  host: OpeningHost,
): Promise<Engine> {
  drawKeyHash((length) => host.randomBytes(length));
  if (store === "sqlite") {
    return openSqliteEngine({
      path: sqlitePath(dataDir),
      yieldBriefly: host.yieldBriefly,
      onUnnoted: (reason) => host.log?.("warn", "Sums of pages are not kept", { reason }),
    });
  }
  // Loaded only when chosen: it needs a native library that is not everywhere.
  const { openFoundationdbEngine } = await import("./foundationdb.ts");
  return await openFoundationdbEngine({ clusterFile: fdbClusterFile, host });
}

/**
 * Faults of a store that is closed, below what records mean: broken pages, and rows that are not
 * what was written. A cluster looks after its own pages, so there is nothing to say of one.
 */
export function checkStoreFile({ store, dataDir }: EngineChoice): string[] {
  return store === "sqlite" ? checkSqliteFile(sqlitePath(dataDir)) : [];
}

/**
 * Compares the pages of a store with the sums of what was last written there; to be done before the
 * store is opened, for that writes to it. @throws {StoreInUse} when somebody has it open.
 */
export function checkStorePages({ store, dataDir }: EngineChoice): PageCheck {
  return store === "sqlite" ? checkPages(sqlitePath(dataDir)) : NO_PAGES;
}

function sqlitePath(dataDir: string): string {
  return join(dataDir, "daybook.sqlite");
}
