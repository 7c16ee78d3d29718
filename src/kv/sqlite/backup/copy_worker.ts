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
  PIECE_HEAD_BYTES,
  PIECE_PAGES,
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
  for (let page = 1;; page += PIECE_PAGES) {
    const piece = newPiece(page, PAGE_BYTES, PIECE_PAGES);
    const read = readAllAt(database, (page - 1) * PAGE_BYTES, piece.subarray(PIECE_HEAD_BYTES));
    const pages = Math.floor(read / PAGE_BYTES);
    const whole = piece.subarray(0, PIECE_HEAD_BYTES + pages * PAGE_BYTES);
    compare(page, whole.subarray(PIECE_HEAD_BYTES), sums);
    if (pages > 0) yield whole;
    if (pages < PIECE_PAGES) return;
  }
}

function compare(firstPage: number, content: Bytes, sums: StoredSums | undefined): void {
  for (let at = 0; at < content.length; at += PAGE_BYTES) {
    const page = firstPage + at / PAGE_BYTES;
    const expected = sums?.of(page);
    if (expected === undefined) continue;
    const sum = storedSum(crc32(content.subarray(at, at + PAGE_BYTES)));
    if (sum !== expected) wrong.push(page);
  }
}

/** Pages that were moved since they were read; they may change again while this reads them. */
function* readAgain(pages: Uint32Array): Generator<Bytes> {
  for (const page of pages) moved.add(page);
  for (const run of runsOf(pages)) yield readRun(database, run, (run.page - 1) * PAGE_BYTES);
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
  let at = 0;
  for (const run of runsOf(pages)) {
    const content = readRun(database, run, (run.page - 1) * PAGE_BYTES).subarray(PIECE_HEAD_BYTES);
    compare(run.page, content, known);
    writeAllAt(file, at, content);
    at += content.length;
  }
}

/** What is in the spool, and the end. */
function* readSpool({ moved: pages, pages: count, pageBytes }: SealedPages): Generator<Bytes> {
  if (wrong.length > 0) throw new Error(describe(wrong));
  using file = Deno.openSync(spoolPath(path), { read: true });
  let at = 0;
  for (const run of runsOf(pages)) {
    yield readRun(file, run, at);
    at += run.count * PAGE_BYTES;
  }
  yield lastPiece(count, pageBytes);
}

interface Run {
  readonly page: number;
  readonly count: number;
}

/** Neighbours among the pages, as many at a time as a piece may have. */
function* runsOf(pages: Uint32Array): Generator<Run> {
  for (let from = 0; from < pages.length;) {
    let to = from + 1;
    while (to < pages.length && pages[to] === pages[to - 1]! + 1 && to - from < PIECE_PAGES) to++;
    yield { page: pages[from]!, count: to - from };
    from = to;
  }
}

function readRun(file: Deno.FsFile, { page, count }: Run, place: number): Bytes {
  const piece = newPiece(page, PAGE_BYTES, count);
  const content = piece.subarray(PIECE_HEAD_BYTES);
  const read = readAllAt(file, place, content);
  if (read < content.length) throw new Error(`Page ${page} of ${path} is not there`);
  return piece;
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
