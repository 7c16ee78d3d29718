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
import { readAllAt } from "../pages/file_ranges.ts";
import { readPageSums, storedSum, type StoredSums } from "../pages/page_sums.ts";
import type { SealedPages } from "../checkpoint_pass.ts";
import { movedPagesPath } from "./moved_pages.ts";
import {
  type CopyAnswer,
  type CopyRequest,
  lastPiece,
  newPiece,
  PIECE_HEAD_BYTES,
  PIECE_PAGES,
} from "./pages_piece.ts";

/** The page size of every store, and that of SQLite's file format in its head. */
const PAGE_BYTES = 4096;
/** Faults that are told. */
const WRONG_PAGES_MAX = 100;

const port = parentPort!;
const { path } = workerData as { path: string };
const database = Deno.openSync(path, { read: true });

let pieces: Generator<Bytes> | undefined;
let sums: StoredSums | undefined;
/** Pages that differ from their checksums: damaged, or moved while they were read. */
let wrong: number[] = [];

function* readBase(): Generator<Bytes> {
  sums = readPageSums(path);
  wrong = [];
  for (let page = 1;; page += PIECE_PAGES) {
    const piece = newPiece(page, PAGE_BYTES, PIECE_PAGES);
    const read = readAllAt(database, (page - 1) * PAGE_BYTES, piece.subarray(PIECE_HEAD_BYTES));
    const pages = Math.floor(read / PAGE_BYTES);
    const whole = piece.subarray(0, PIECE_HEAD_BYTES + pages * PAGE_BYTES);
    compare(page, whole.subarray(PIECE_HEAD_BYTES));
    if (pages > 0) yield whole;
    if (pages < PIECE_PAGES) return;
  }
}

function compare(firstPage: number, content: Bytes): void {
  for (let at = 0; at < content.length; at += PAGE_BYTES) {
    const page = firstPage + at / PAGE_BYTES;
    const expected = sums?.of(page);
    if (expected === undefined) continue;
    const sum = storedSum(crc32(content.subarray(at, at + PAGE_BYTES)));
    if (sum !== expected) wrong.push(page);
  }
}

/** The pages that were moved meanwhile, and the end. */
function* readMoved({ moved, pages, pageBytes }: SealedPages): Generator<Bytes> {
  const again = new Set(moved);
  const damaged = wrong.filter((page) => !again.has(page));
  if (damaged.length > 0) throw new Error(describe(damaged));
  using kept = Deno.openSync(movedPagesPath(path), { read: true });
  for (let from = 0; from < moved.length;) {
    let to = from + 1;
    while (to < moved.length && moved[to] === moved[to - 1]! + 1 && to - from < PIECE_PAGES) to++;
    const piece = newPiece(moved[from]!, pageBytes, to - from);
    const content = piece.subarray(PIECE_HEAD_BYTES);
    const read = readAllAt(kept, (moved[from]! - 1) * pageBytes, content);
    if (read < content.length) throw new Error("the file of the moved pages is too short");
    yield piece;
    from = to;
  }
  yield lastPiece(pages, pageBytes);
}

function describe(damaged: readonly number[]): string {
  const told = damaged.slice(0, WRONG_PAGES_MAX).join(", ");
  return `${damaged.length} pages of ${path} are not what was last written there (${told}): the ` +
    "disk has lost a write, or another program has changed the file. Stop the server and run fsck";
}

function answer(request: CopyRequest): CopyAnswer {
  if (request === "begin") pieces = readBase();
  else if (request !== "next") pieces = readMoved(request);
  const { value } = pieces!.next();
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
