/**
 * Compares each page of a store with the checksum of what was last written there
 * (`page_sums.ts`). This finds an outdated page even if everything that refers to it is equally
 * old. Pages in the WAL are left out: the next opening of the store writes them again.
 */

import { DatabaseSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import { readAllAt } from "./file_ranges.ts";
import { lockPageOf } from "./page_set.ts";
import { areSumsOf, pageSumsPath, readPageSums, storedSum, type StoredSums } from "./page_sums.ts";
import { lockStore } from "../lock.ts";
import { prepareMoment } from "../store_row.ts";
import { sizeIfThere } from "../synced_folder.ts";
import { pagesInWal } from "./wal_frames.ts";

export interface PageCheck {
  readonly faults: readonly string[];
  /** Pages of the file. */
  readonly pages: number;
  /**
   * Pages of which nothing is known: neither a checksum nor a version still to come from the
   * WAL.
   */
  readonly unknown: number;
}

export const NO_PAGES: PageCheck = { faults: [], pages: 0, unknown: 0 };

/** Faults in the report; its last line says how many more there are. */
const FAULTS_MAX = 100;
/**
 * If this share of the pages is wrong, the two files are of different times; a lost write would
 * affect fewer pages.
 */
const MANY = 0.5;
const MANY_MIN = 16;
/** Pages of the file that are read at once. */
const CHUNK_PAGES = 256;
/** Assumed without checksums; only for the count of pages. */
const PAGE_BYTES = 4096;

/**
 * The store must be closed, or as a kill has left it; it is not changed.
 * @throws {StoreInUse} when a process has it open.
 */
export function checkPages(storePath: string): PageCheck {
  const size = sizeIfThere(storePath);
  if (size === undefined) return NO_PAGES;
  const lock = lockStore(storePath);
  try {
    const coming = pagesToCome(storePath);
    const sums = readSums(storePath);
    const pageBytes = sums?.pageBytes ?? PAGE_BYTES;
    const [pages, lockPage] = [Math.ceil(size / pageBytes), lockPageOf(pageBytes)];
    const wrong: number[] = [];
    let unknown = 0;
    const pagesMax = Math.max(pages, sums?.pages ?? 0);
    for (const { page, crc } of sumsOfFile(storePath, pageBytes, pagesMax)) {
      if (coming.has(page)) continue;
      const expected = sums?.of(page);
      if (expected !== undefined && expected !== crc) wrong.push(page);
      if (expected === undefined && page <= pages && page !== lockPage) unknown++;
    }
    return { faults: [...describe(wrong, pages, storePath)], pages, unknown };
  } finally {
    lock.release();
  }
}

function* describe(wrong: readonly number[], pages: number, path: string): Generator<string> {
  if (wrong.length >= Math.max(MANY_MIN, MANY * pages)) {
    yield `${wrong.length} of ${pages} pages are not what was last written there: perhaps ${path} ` +
      `and ${pageSumsPath(path)} are of different times. Restore both from one copy; for a copy ` +
      "without sums, remove the second";
  }
  for (const page of wrong.slice(0, FAULTS_MAX)) {
    yield `page ${page} is not what was last written there: the disk has lost a write, or the ` +
      "file was exchanged or changed by another program";
  }
  const more = wrong.length - FAULTS_MAX;
  if (more > 0) yield `${more} more pages are not what was last written there`;
}

/** With an empty WAL, the checksums count only if they are of everything that the file has. */
function readSums(storePath: string): StoredSums | undefined {
  const sums = readPageSums(storePath);
  if (sums === undefined || sizeIfThere(`${storePath}-wal`)) return sums;
  let db: DatabaseSync | undefined;
  const readMoment = () => {
    db = new DatabaseSync(storePath, { readOnly: true });
    return prepareMoment(db)();
  };
  try {
    return areSumsOf(sums, readMoment) ? sums : undefined;
  } finally {
    db?.close();
  }
}

function pagesToCome(storePath: string): ReadonlySet<number> {
  if (!sizeIfThere(`${storePath}-wal`)) return new Set();
  using wal = Deno.openSync(`${storePath}-wal`, { read: true });
  return pagesInWal(wal);
}

/** The checksum of each page; undefined for pages beyond the end of the file. */
function* sumsOfFile(path: string, pageBytes: number, pages: number) {
  using file = Deno.openSync(path, { read: true });
  const chunk = new Uint8Array(CHUNK_PAGES * pageBytes);
  for (let before = 0; before < pages; before += CHUNK_PAGES) {
    const read = readAllAt(file, before * pageBytes, chunk);
    for (let index = 0; index < CHUNK_PAGES && before + index < pages; index++) {
      const bytes = chunk.subarray(index * pageBytes, Math.min(read, (index + 1) * pageBytes));
      const crc = bytes.length < pageBytes ? undefined : storedSum(crc32(bytes));
      yield { page: before + index + 1, crc };
    }
  }
}
