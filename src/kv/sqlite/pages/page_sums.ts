/**
 * The page checksums of the embedded store, in a file `<store>-pages` beside it. For each page
 * of the database file it holds the CRC-32 of what was last moved there. SQLite has no page
 * checksums, so a disk that keeps an older version of whole pages leaves a store that is
 * consistent in itself; `fsck` finds such a page by its checksum (`page_check.ts`).
 *
 * Pages reach the database file from the WAL alone. Whoever moves them notes their checksums,
 * and has both on disk, before SQLite may restart the WAL (`page_notes.ts`). So after a crash at
 * any moment, each page that is not in the WAL has its checksum, or none; those in the WAL are
 * moved and noted again. A file that cannot be written is removed, because a missing checksum is
 * never wrong.
 *
 * Format, little-endian: magic, 8 bytes; size of a page, 4; the moment of the store at which all
 * committed data was last in the database file: version, 8 (-1: never), redo log, 16, schema, 4;
 * CRC-32 of all that, 4; then 4 for each page, 0 if unknown. A checksum of 0 is stored as 1.
 */

import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import type { Bytes } from "../../engine.ts";
import { readAllAt, writeAllAt } from "./file_ranges.ts";
import { REDO_ID_BYTES } from "../redo_log.ts";
import { syncFolder } from "../synced_folder.ts";

const MAGIC = new TextEncoder().encode("DBKPAGE1");
const PAGE_BYTES_AT = MAGIC.length;
const VERSION_AT = PAGE_BYTES_AT + 4;
const REDO_AT = VERSION_AT + 8;
const SCHEMA_AT = REDO_AT + REDO_ID_BYTES;
const HEAD_SUM_AT = SCHEMA_AT + 4;
const HEAD_BYTES = HEAD_SUM_AT + 4;
const SUM_BYTES = 4;
/** Checksums that are read and written together. */
const BLOCK_SUMS = 1024;
const BLOCK_BYTES = BLOCK_SUMS * SUM_BYTES;

/** What a store says about itself; it differs after each of its transactions. */
export interface StoreMoment {
  readonly version: number;
  /** The id of its redo log; null if it names none. */
  readonly redo: Bytes | null;
  /** SQLite's count of schema changes: `VACUUM` is one, and it moves all pages. */
  readonly schema: number;
}

export interface PageSums {
  /**
   * Writes the checksums of pages; on disk only after `sync`. If the disk has no room for
   * checksums of new pages, those stay unknown.
   * @param moment of the store, if the database file has all of it now.
   */
  write(sums: ReadonlyMap<number, number>, moment: StoreMoment | undefined): void;
  sync(): Promise<void>;
  close(): void;
}

export interface StoredSums {
  readonly pageBytes: number;
  /** When all was last in the database file; undefined if never since the checksums were begun. */
  readonly moment: StoreMoment | undefined;
  /** Pages up to this one may have a checksum. */
  readonly pages: number;
  /** Undefined if unknown. Pages are counted from 1. */
  of(page: number): number | undefined;
}

export function pageSumsPath(storePath: string): string {
  return `${storePath}-pages`;
}

/** The value that is stored for a page with this CRC-32. */
export function storedSum(crc: number): number {
  return crc === 0 ? 1 : crc;
}

/**
 * Opens the checksums of a store, or creates an empty file in place of a damaged one. It is
 * locked until `close`: an abandoned engine may still be noting what it moved.
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

/**
 * Old checksums must not reappear under the new head after a power cut, so they are removed
 * first.
 */
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

/** Undefined if it is damaged or missing. */
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

/** The pages by the block that holds their checksums, in block order. */
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
  // Existing bytes are overwritten, for which no disk lacks room; if that fails, the file must go.
  writeAllAt(file, place, bytes.subarray(0, there));
  if (end === there) return;
  const size = file.statSync().size;
  try {
    writeAllAt(file, place + there, bytes.subarray(there, end));
  } catch {
    // Half a checksum would be a wrong one.
    file.truncateSync(size);
  }
}

/** All checksums of a store; undefined if the file is missing or damaged: then none is known. */
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
 * Whether everything in the database file was noted. Ask only if the WAL is empty. If the answer
 * is no, another program has written to the file (`VACUUM`), or has moved what was in the WAL,
 * as the runtime does at the end of a process that leaves its store open. A store older than the
 * noted one counts as current, so that `fsck` reports it.
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
 * For a store with an empty WAL: removes the checksums if they are not of everything it has.
 * @param readMoment throws if the store is broken, which says nothing about its age.
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

/**
 * Makes all pages unknown, also after a power cut.
 * @throws {Error} when that is not possible.
 */
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
