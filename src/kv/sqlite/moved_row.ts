/**
 * What the database file says of itself, whatever is in its logs: the row of the store that was
 * last moved there. Read it before SQLite opens the store.
 */

import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";

export interface MovedRow {
  readonly format: number;
  /** Of the last commit whose row was moved; undefined if that row is not whole. */
  readonly version: number | undefined;
}

/** Undefined if the file has no such row. */
export function readMovedRow(path: string): MovedRow | undefined {
  let db: DatabaseSync | undefined;
  try {
    // Immutable: SQLite takes no lock and looks at no log.
    const url = pathToFileURL(path);
    url.searchParams.set("immutable", "1");
    db = new DatabaseSync(url, { readOnly: true });
    const { format, version, version_again } =
      db.prepare("SELECT format, version, version_again FROM store").get() ?? {};
    if (typeof format !== "number") return undefined;
    const isWhole = typeof version === "number" && version === version_again;
    return { format, version: isWhole ? version : undefined };
  } catch {
    return undefined;
  } finally {
    db?.close();
  }
}

/**
 * SQLite reads pages from its log, if that has them, and from the database otherwise. What it
 * moves to the database stays in its log until that begins anew. So a log that ends before the
 * version of the database is of an earlier moment, and would take its pages back.
 * @throws {Error} in that case.
 */
export function refuseEarlierLog(
  db: DatabaseSync,
  path: string,
  moved: MovedRow | undefined,
): void {
  if (moved?.version === undefined) return;
  const { version } = db.prepare("SELECT version FROM store").get() as { version: number };
  if (version >= moved.version) return;
  throw new Error(
    `The store ${path} has commits up to ${moved.version}, and SQLite's log beside it, ` +
      `${path}-wal, takes it back to ${version}: they are not of one moment. Nothing was ` +
      "changed. Restore the store with all files that begin with its name from one copy, and " +
      "start again",
  );
}
