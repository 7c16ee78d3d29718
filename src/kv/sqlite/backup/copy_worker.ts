/**
 * Reads the database file of a store for a backup, on a thread of its own, and compares each page
 * with its checksum. `backup_store.ts` starts it and asks for one piece after the other.
 *
 * The file stays open for as long as the thread lives: closing it would drop the locks that SQLite
 * holds on it in this process.
 */

import { createHash } from "node:crypto";
import { parentPort, workerData } from "node:worker_threads";
import { crc32 } from "node:zlib";
import type { Bytes } from "../../engine.ts";
import { readAllAt, writeAllAt } from "../pages/file_ranges.ts";
import { newPageSet } from "../pages/page_set.ts";
import { readPageSums, storedSum, type StoredSums } from "../pages/page_sums.ts";
import type { SealedPages } from "../checkpoint_pass.ts";
import {
  type CopyAnswer,
  type CopyRequest,
  lastPiece,
  newPiece,
  PIECE_PAGES,
  runsOf,
  spoolPath,
} from "./pages_piece.ts";

/** The page size of every store, and that of SQLite's file format in its head. */
const PAGE_BYTES = 4096;
/** Faults that are told. */
const WRONG_PAGES_MAX = 100;

const port = parentPort!;
const { path } = workerData as { path: string };
const database = Deno.openSync(path, { read: true });

let pieces: Generator<Bytes> | undefined;
/** Pages that differ from their checksums: damaged, or moved while they were read. */
let wrong: number[] = [];
/** Pages that were read again, because they were moved. */
let moved = newPageSet();

function* readBase(): Generator<Bytes> {
  const sums = readPageSums(path);
  wrong = [];
  moved = newPageSet();
  for (let page = 1;;) {
    // Looked at each time, because the file may grow.
    const pages = Math.floor(database.statSync().size / PAGE_BYTES);
    const count = Math.min(PIECE_PAGES, pages + 1 - page);
    if (count <= 0) return;
    const first = page;
    const numbers = Uint32Array.from({ length: count }, (_, at) => first + at);
    const { piece, content } = readPages(numbers);
    compare(numbers, content, sums);
    yield piece;
    page += count;
  }
}

function compare(numbers: Uint32Array, content: Bytes, sums: StoredSums | undefined): void {
  for (const [at, page] of numbers.entries()) {
    const expected = sums?.of(page);
    if (expected === undefined) continue;
    const sum = storedSum(crc32(content.subarray(at * PAGE_BYTES, (at + 1) * PAGE_BYTES)));
    if (sum !== expected) wrong.push(page);
  }
}

/** Pages that were moved since they were read; they may change again while this reads them. */
function* readAgain(pages: Uint32Array): Generator<Bytes> {
  for (const page of pages) moved.add(page);
  for (const part of partsOf(pages)) yield readPages(part.numbers).piece;
}

/** Copies the last moved pages, which stay as they are meanwhile, and compares them too. */
function spool({ moved: pages }: SealedPages): void {
  for (const page of pages) moved.add(page);
  // Nothing changes any more, so a page that differs now is damaged.
  const known = readPageSums(path);
  wrong = wrong.filter((page) => !moved.has(page));
  using file = Deno.openSync(spoolPath(path), {
    create: true,
    truncate: true,
    write: true,
    mode: 0o600,
  });
  for (const { numbers, at } of partsOf(pages)) {
    const { content } = readPages(numbers);
    compare(numbers, content, known);
    writeAllAt(file, at * PAGE_BYTES, content);
  }
}

/** What is in the spool, and the end. */
function* readSpool({ moved: pages, pages: count, pageBytes }: SealedPages): Generator<Bytes> {
  if (wrong.length > 0) throw new Error(describe(wrong));
  using file = Deno.openSync(spoolPath(path), { read: true });
  for (const { numbers, at } of partsOf(pages)) {
    const { piece, content } = newPiece(numbers, PAGE_BYTES);
    readWhole(file, at * PAGE_BYTES, content);
    yield piece;
  }
  yield lastPiece(count, pageBytes);
}

/** Some of the pages at a time, as many as a piece may have; `at` is the place of the first. */
function* partsOf(pages: Uint32Array): Generator<{ numbers: Uint32Array; at: number }> {
  for (let at = 0; at < pages.length; at += PIECE_PAGES) {
    yield { numbers: pages.subarray(at, at + PIECE_PAGES), at };
  }
}

/** A piece with these pages of the database. */
function readPages(numbers: Uint32Array): { piece: Bytes; content: Bytes } {
  const { piece, content } = newPiece(numbers, PAGE_BYTES);
  for (const { page, count, at } of runsOf(numbers)) {
    const part = content.subarray(at * PAGE_BYTES, (at + count) * PAGE_BYTES);
    readWhole(database, (page - 1) * PAGE_BYTES, part);
  }
  return { piece, content };
}

function readWhole(file: Deno.FsFile, place: number, into: Bytes): void {
  const read = readAllAt(file, place, into);
  if (read === into.length) return;
  const name = file === database ? path : spoolPath(path);
  throw new Error(`The bytes of ${name} from ${place} on are not there`);
}

function describe(damaged: readonly number[]): string {
  const told = damaged.slice(0, WRONG_PAGES_MAX).join(", ");
  return `${damaged.length} pages of ${path} are not what was last written there (${told}): the ` +
    "disk has lost a write, or another program has changed the file. Stop the server and run fsck";
}

function partOf(request: Exclude<CopyRequest, string>): Generator<Bytes> | undefined {
  if ("again" in request) return readAgain(request.again);
  if ("rest" in request) return readSpool(request.rest);
  return void spool(request.spool);
}

function answer(request: CopyRequest): CopyAnswer {
  if (request === "begin") pieces = readBase();
  else if (request !== "next") pieces = partOf(request);
  const value = pieces?.next().value;
  if (value === undefined) return { isEnd: true };
  return { bytes: value, sha256: createHash("sha256").update(value).digest() as Bytes };
}

port.on("message", (request: CopyRequest) => {
  try {
    const answered = answer(request);
    const moved = "bytes" in answered ? [answered.bytes.buffer] : [];
    port.postMessage(answered, moved);
  } catch (error) {
    const failure = error instanceof Error ? error.message : String(error);
    port.postMessage({ failure } satisfies CopyAnswer);
  }
});
