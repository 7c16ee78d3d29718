/**
 * Makes a store of the pieces of a backup (`pages_piece.ts`). It is then as after a clean close,
 * with the checksums of all its pages.
 */

import { DatabaseSync } from "node:sqlite";
import { basename, dirname, join } from "node:path";
import { crc32 } from "node:zlib";
import type { Bytes, Engine } from "../../engine.ts";
import { openSqliteEngine } from "../engine.ts";
import { readAllAt, writeAllAt } from "../pages/file_ranges.ts";
import { newPageSet } from "../pages/page_set.ts";
import { openPageSums, type PageSums, pageSumsPath, type StoreMoment } from "../pages/page_sums.ts";
import { redoPathsOf } from "../redo_log.ts";
import { prepareMoment } from "../store_row.ts";
import { makeFolder, removeIfThere, sizeIfThere, syncFolder } from "../synced_folder.ts";
import { type PagesPiece, readPiece, runsOf } from "./pages_piece.ts";

interface Size {
  readonly pages: number;
  readonly pageBytes: number;
}

/**
 * A restored store goes on with a version that no other life of the store reaches: this many for
 * each millisecond since 1970. So places in the log of a later time, which readers may have kept,
 * are never those of other events.
 */
const VERSIONS_PER_MS = 1024;

export interface RestoreWish {
  readonly nowMs: number;
  /** Is called with the store before it gets its name. */
  prepare(engine: Engine): Promise<void>;
}

/** Where the store is made, in its own folder. */
const MAKING = "restoring";
/** What a folder may have that is empty to people. */
const IN_EMPTY_FOLDERS: ReadonlySet<string> = new Set([MAKING, "lost+found"]);

/**
 * @param path of the new database file; nothing else may be in its folder, but what an earlier try
 * has left there: it is removed, or written again.
 * @throws {Error} when the pieces are not a whole store.
 */
export async function restoreSqliteStore(
  path: string,
  pieces: AsyncIterable<Bytes>,
  { nowMs, prepare }: RestoreWish,
): Promise<void> {
  const folder = dirname(path);
  makeFolder(folder);
  const making = join(folder, MAKING);
  const isTriedAgain = sizeIfThere(making) !== undefined && sizeIfThere(path) === undefined;
  if (isTriedAgain) removeIfThere(pageSumsPath(path));
  else refuseUsed(folder);
  removeIfThere(making);
  makeFolder(making);
  const made = join(making, basename(path));
  try {
    await makeStore(made, pieces, nowMs);
    const engine = openSqliteEngine({ path: made });
    await prepare(engine).finally(() => engine.close());
    refuseUnclosed(made);
  } catch (error) {
    removeIfThere(making);
    throw error;
  }
  // The database last: without it there is no store.
  renameIfThere(pageSumsPath(made), pageSumsPath(path));
  syncFolder(folder);
  Deno.renameSync(made, path);
  syncFolder(folder);
  removeIfThere(making);
}

function refuseUsed(folder: string): void {
  const used = [...Deno.readDirSync(folder)].find(({ name }) => !IN_EMPTY_FOLDERS.has(name));
  if (used === undefined) return;
  throw new Error(
    `${folder} is not empty (${used.name} is there). A backup is restored into an empty folder, ` +
      "so that nothing is overwritten: name another with DAYBOOK_DATA_DIR",
  );
}

/** What the engine could not move into the database, on a full disk say, would be lost. */
function refuseUnclosed(path: string): void {
  const left = [`${path}-wal`, ...redoPathsOf(path)].some((log) => sizeIfThere(log));
  if (left) throw new Error(`The restored store ${path} could not be closed: is the disk full?`);
}

/** There are no checksums if the disk has refused them. */
function renameIfThere(from: string, to: string): void {
  try {
    Deno.renameSync(from, to);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

async function makeStore(
  path: string,
  pieces: AsyncIterable<Bytes>,
  nowMs: number,
): Promise<void> {
  const { pageBytes } = await writePages(path, pieces);
  const { changed, moment } = settle(path, nowMs * VERSIONS_PER_MS);
  const sums = openPageSums(path, pageBytes);
  try {
    sums.write(sumAgain(path, changed, pageBytes), moment);
    await sums.sync();
  } finally {
    sums.close();
  }
  syncFolder(dirname(path));
}

async function writePages(path: string, pieces: AsyncIterable<Bytes>): Promise<Size> {
  using file = Deno.openSync(path, { createNew: true, read: true, write: true, mode: 0o600 });
  let sums: PageSums | undefined;
  let size: Size | undefined;
  const written = newPageSet();
  try {
    for await (const bytes of pieces) {
      const piece = readPiece(bytes);
      if (piece === undefined || size !== undefined) throw new Error("A piece is not of a store");
      if ("pages" in piece) {
        size = piece;
        continue;
      }
      const { numbers, pageBytes, content } = piece;
      sums ??= openPageSums(path, pageBytes);
      for (const { page, count, at } of runsOf(numbers)) {
        const part = content.subarray(at * pageBytes, (at + count) * pageBytes);
        writeAllAt(file, (page - 1) * pageBytes, part);
      }
      sums.write(sumsOf(piece), undefined);
      for (const page of numbers) written.add(page);
    }
    if (size === undefined) throw new Error("The end of the store is missing");
    if (!written.hasAllUpTo(size.pages, size.pageBytes)) {
      throw new Error("Pages of the store are missing");
    }
    file.truncateSync(size.pages * size.pageBytes);
    await file.sync();
    return size;
  } finally {
    sums?.close();
  }
}

function sumsOf(
  { numbers, pageBytes, content }: Extract<PagesPiece, { numbers: Uint32Array }>,
): Map<number, number> {
  const sums = new Map<number, number>();
  for (const [at, page] of numbers.entries()) {
    sums.set(page, crc32(content.subarray(at * pageBytes, (at + 1) * pageBytes)));
  }
  return sums;
}

/**
 * The store names the redo log of the process that wrote it, which is not in a backup and has
 * nothing that the pages lack. Returns the pages that this changes, and what the store is then.
 */
function settle(
  path: string,
  versionMin: number,
): { readonly changed: readonly number[]; readonly moment: StoreMoment } {
  const db = new DatabaseSync(path);
  try {
    db.exec("PRAGMA synchronous = FULL");
    const readMoment = prepareMoment(db);
    const version = Math.max(readMoment().version + 1, versionMin);
    db.prepare("UPDATE store SET redo = NULL, version = ?1, version_again = ?1").run(version);
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    const root = db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'store'").get();
    const changed = [1, (root as { rootpage: number }).rootpage];
    return { changed, moment: readMoment() };
  } finally {
    db.close();
  }
}

function sumAgain(path: string, pages: readonly number[], pageBytes: number): Map<number, number> {
  using file = Deno.openSync(path, { read: true });
  return new Map(pages.map((page) => {
    const bytes = new Uint8Array(pageBytes);
    readAllAt(file, (page - 1) * pageBytes, bytes);
    return [page, crc32(bytes)];
  }));
}
