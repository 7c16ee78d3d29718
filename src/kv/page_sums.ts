/**
 * THE SUMS OF PAGES: a file beside the store, `<store>-pages`, that holds for each page of the
 * database file the CRC-32 of what was last moved there. SQLite has no sums of pages, so a disk
 * that keeps an older version of whole pages leaves a store that agrees with itself; `fsck` tells
 * such a page by its sum (`page_check.ts`).
 *
 * Pages reach the database file from SQLite's log alone. Whoever moves them notes their sums, and
 * has both on the disk, before SQLite may begin that log anew (`page_notes.ts`). So after a crash
 * at any moment each page that is not in the log has its sum, or none; those in the log are moved
 * and noted again. A file that cannot be written is removed: no sum is always right.
 *
 * Little-endian. Magic, 8; bytes of a page, 4; the moment of the store at which all that was
 * committed was last in the database file: version, 8 (-1: never), redo log, 16, schema, 4; CRC-32
 * of that, 4; then 4 for each page: 0 for not known. A sum of 0 is stored as 1.
 */

import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import type { Bytes } from "./engine.ts";
import { readAllAt, writeAllAt } from "./file_ranges.ts";
import { REDO_ID_BYTES } from "./redo_record.ts";
import { syncFolder } from "./synced_folder.ts";

const MAGIC = new TextEncoder().encode("DBKPAGE1");
const PAGE_BYTES_AT = MAGIC.length;
const VERSION_AT = PAGE_BYTES_AT + 4;
const REDO_AT = VERSION_AT + 8;
const SCHEMA_AT = REDO_AT + REDO_ID_BYTES;
const HEAD_SUM_AT = SCHEMA_AT + 4;
const HEAD_BYTES = HEAD_SUM_AT + 4;
const SUM_BYTES = 4;
/** Sums that are read and written together. */
const BLOCK_SUMS = 1024;
const BLOCK_BYTES = BLOCK_SUMS * SUM_BYTES;

/** What a store says of itself, another thing after each of its transactions. */
export interface StoreMoment {
  readonly version: number;
  /** The id of its redo log; null where it names none. */
  readonly redo: Bytes | null;
  /** SQLite's count of changes of the schema: `VACUUM` is one, and puts all pages elsewhere. */
  readonly schema: number;
}

export interface PageSums {
  /**
   * Writes the sums of pages; on the disk only after `sync`. Where the disk has no room for sums of
   * new pages these stay unknown.
   * @param moment of the store, if the database file has all of it now.
   */
  write(sums: ReadonlyMap<number, number>, moment: StoreMoment | undefined): void;
  sync(): Promise<void>;
  close(): void;
}

export interface StoredSums {
  readonly pageBytes: number;
  /** Undefined: never since the file was made. */
  readonly moment: StoreMoment | undefined;
  /** Pages up to this one may have a sum. */
  readonly pages: number;
  /** Undefined: not known. Pages are counted from 1 on. */
  of(page: number): number | undefined;
}

export function pageSumsPath(storePath: string): string {
  return `${storePath}-pages`;
}

/** The sum that is kept of a page with this CRC-32. */
export function storedSum(crc: number): number {
  return crc === 0 ? 1 : crc;
}

/**
 * Opens the sums of a store, or makes a file without any in the place of one that is damaged.
 * Nobody else opens it until `close`: an engine that was left may still be noting what it moved.
 */
export function openPageSums(storePath: string, pageBytes: number): PageSums {
  const path = pageSumsPath(storePath);
  const file = Deno.openSync(path, { create: true, read: true, write: true, mode: 0o600 });
  try {
    file.lockSync(true);
    if (readHead(file)?.pageBytes !== pageBytes) makeAnew(file, path, pageBytes);
  } catch (error) {
    file.close();
    throw error;
  }
  return {
    write(sums, moment) {
      for (const [block, pages] of blocksOf(sums)) writeBlock(file, block, pages, sums);
      if (moment !== undefined) writeAllAt(file, 0, encodeHead(pageBytes, moment));
    },
    sync: () => file.syncData(),
    close: () => file.close(),
  };
}

/** Old sums must not come back under the new head after a power cut: so they go first. */
function makeAnew(file: Deno.FsFile, path: string, pageBytes: number): void {
  file.truncateSync(0);
  file.syncDataSync();
  writeAllAt(file, 0, encodeHead(pageBytes, undefined));
  file.syncDataSync();
  syncFolder(dirname(path));
}

function encodeHead(pageBytes: number, moment: StoreMoment | undefined): Bytes {
  const head = new Uint8Array(HEAD_BYTES);
  const view = new DataView(head.buffer);
  head.set(MAGIC);
  view.setUint32(PAGE_BYTES_AT, pageBytes, true);
  view.setBigInt64(VERSION_AT, BigInt(moment?.version ?? -1), true);
  if (moment?.redo) head.set(moment.redo, REDO_AT);
  view.setUint32(SCHEMA_AT, moment?.schema ?? 0, true);
  view.setUint32(HEAD_SUM_AT, crc32(head.subarray(0, HEAD_SUM_AT)), true);
  return head;
}

/** Undefined where it is damaged, or not there. */
function readHead(file: Deno.FsFile): Pick<StoredSums, "pageBytes" | "moment"> | undefined {
  const head = new Uint8Array(HEAD_BYTES);
  if (readAllAt(file, 0, head) < HEAD_BYTES) return undefined;
  const view = new DataView(head.buffer);
  if (MAGIC.some((byte, at) => head[at] !== byte)) return undefined;
  if (crc32(head.subarray(0, HEAD_SUM_AT)) !== view.getUint32(HEAD_SUM_AT, true)) return undefined;
  const version = Number(view.getBigInt64(VERSION_AT, true));
  const id = head.slice(REDO_AT, SCHEMA_AT);
  const redo = id.every((byte) => byte === 0) ? null : id;
  const schema = view.getUint32(SCHEMA_AT, true);
  const moment = version < 0 ? undefined : { version, redo, schema };
  return { pageBytes: view.getUint32(PAGE_BYTES_AT, true), moment };
}

/** The pages by the blocks that their sums are in, in the order of blocks. */
function blocksOf(sums: ReadonlyMap<number, number>): Map<number, number[]> {
  const blocks = new Map<number, number[]>();
  for (const page of [...sums.keys()].sort((a, b) => a - b)) {
    const block = Math.floor((page - 1) / BLOCK_SUMS);
    const pages = blocks.get(block);
    if (pages === undefined) blocks.set(block, [page]);
    else pages.push(page);
  }
  return blocks;
}

function writeBlock(
  file: Deno.FsFile,
  block: number,
  pages: readonly number[],
  sums: ReadonlyMap<number, number>,
): void {
  const place = HEAD_BYTES + block * BLOCK_BYTES;
  const bytes = new Uint8Array(BLOCK_BYTES);
  const view = new DataView(bytes.buffer);
  const there = readAllAt(file, place, bytes);
  const indexOf = (page: number) => (page - 1) % BLOCK_SUMS * SUM_BYTES;
  for (const page of pages) view.setUint32(indexOf(page), storedSum(sums.get(page)!), true);
  const end = Math.max(there, indexOf(pages.at(-1)!) + SUM_BYTES);
  // What is there is written over, for which no disk lacks room; if that fails the file must go.
  writeAllAt(file, place, bytes.subarray(0, there));
  if (end === there) return;
  const size = file.statSync().size;
  try {
    writeAllAt(file, place + there, bytes.subarray(there, end));
  } catch {
    // Half a sum would be a wrong one.
    file.truncateSync(size);
  }
}

/** All sums of a store; undefined where there is no file, or a damaged one: then none is known. */
export function readPageSums(storePath: string): StoredSums | undefined {
  using file = openIfThere(pageSumsPath(storePath), { read: true });
  const head = file && readHead(file);
  if (file === undefined || head === undefined) return undefined;
  const bytes = new Uint8Array(Math.max(0, file.statSync().size - HEAD_BYTES));
  const pages = Math.floor(readAllAt(file, HEAD_BYTES, bytes) / SUM_BYTES);
  const view = new DataView(bytes.buffer);
  const of = (page: number) => page > pages ? 0 : view.getUint32((page - 1) * SUM_BYTES, true);
  return { ...head, pages, of: (page) => of(page) || undefined };
}

/**
 * Whether all that the database file has was noted, which is to be asked only where SQLite's log is
 * empty. If not, another program has written to it (`VACUUM`), or has moved what was in that log,
 * as the runtime does at the end of a process that leaves its store open. An older store than the
 * noted one is what `fsck` tells of.
 */
function areSumsCurrent({ moment }: Pick<StoredSums, "moment">, now: StoreMoment): boolean {
  if (moment === undefined || now.schema > moment.schema) return false;
  if (now.version !== moment.version) return now.version < moment.version;
  return isSameId(now.redo, moment.redo);
}

function isSameId(a: Bytes | null, b: Bytes | null): boolean {
  if (a === null || b === null) return a === b;
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}

/**
 * Of a store whose log is empty: removes the sums where they are not those of all that it has.
 * @param readMoment throws where the store is broken, which says nothing of its time.
 */
export function dropForeignSums(storePath: string, readMoment: () => StoreMoment): void {
  using file = openIfThere(pageSumsPath(storePath), { read: true });
  const head = file && readHead(file);
  const isForeign = head !== undefined && !areSumsOf(head, readMoment);
  if (isForeign) removePageSums(storePath);
}

export function areSumsOf(sums: Pick<StoredSums, "moment">, readMoment: () => StoreMoment) {
  let now: StoreMoment;
  try {
    now = readMoment();
  } catch {
    return true;
  }
  return areSumsCurrent(sums, now);
}

/** All pages are unknown then, also after a power cut. @throws {Error} when that cannot be. */
export function removePageSums(storePath: string): void {
  const path = pageSumsPath(storePath);
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    throw error;
  }
  syncFolder(dirname(path));
}

function openIfThere(path: string, options: Deno.OpenOptions): Deno.FsFile | undefined {
  try {
    return Deno.openSync(path, options);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
