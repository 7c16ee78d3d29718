/**
 * The pieces of a backup of the embedded store. Each has some pages of the database file; a page
 * that comes again replaces what came before. The last piece says how many pages the database has.
 *
 * Little-endian: the size of a page, 4 bytes; how many pages there are, 4; their numbers, from 1, 4
 * each; the pages. In the last piece: the size of a page, 4; 0, 4; the number of pages, 4.
 */

import type { BackupPiece, Bytes } from "../../engine.ts";
import type { SealedPages } from "../checkpoint_pass.ts";

/** All but `next` begin a part of the backup; each answer is its next piece. */
export type CopyRequest =
  | "next"
  /** The database file from its beginning to its end. */
  | "begin"
  /** These pages of it again. */
  | { readonly again: Uint32Array }
  /** Copies the last of them to the spool, while they stay as they are; there is no piece. */
  | { readonly spool: SealedPages }
  /** What is in the spool, and the end. */
  | { readonly rest: SealedPages };

export type CopyAnswer =
  | BackupPiece
  | { readonly isEnd: true }
  | { readonly failure: string };

/** The file beside a store that has the last pages of a backup until they are taken. */
export function spoolPath(storePath: string): string {
  return `${storePath}-backup`;
}

/** Pages in one piece. */
export const PIECE_PAGES = 256;

const HEAD_BYTES = 8;
const NUMBER_BYTES = 4;

export type PagesPiece =
  | { readonly numbers: Uint32Array; readonly pageBytes: number; readonly content: Bytes }
  | { readonly pages: number; readonly pageBytes: number };

/** A piece with room for pages of these numbers; `content` is that room. */
export function newPiece(
  numbers: Uint32Array,
  pageBytes: number,
): { readonly piece: Bytes; readonly content: Bytes } {
  const contentAt = HEAD_BYTES + numbers.length * NUMBER_BYTES;
  const piece = new Uint8Array(contentAt + numbers.length * pageBytes);
  const view = new DataView(piece.buffer);
  view.setUint32(0, pageBytes, true);
  view.setUint32(4, numbers.length, true);
  for (const [at, number] of numbers.entries()) {
    view.setUint32(HEAD_BYTES + at * NUMBER_BYTES, number, true);
  }
  return { piece, content: piece.subarray(contentAt) };
}

export function lastPiece(pages: number, pageBytes: number): Bytes {
  const piece = new Uint8Array(HEAD_BYTES + NUMBER_BYTES);
  const view = new DataView(piece.buffer);
  view.setUint32(0, pageBytes, true);
  view.setUint32(HEAD_BYTES, pages, true);
  return piece;
}

/** Undefined if the bytes are no piece. */
export function readPiece(bytes: Bytes): PagesPiece | undefined {
  if (bytes.length < HEAD_BYTES + NUMBER_BYTES) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const [pageBytes, count] = [view.getUint32(0, true), view.getUint32(4, true)];
  if (count === 0) {
    const isLast = bytes.length === HEAD_BYTES + NUMBER_BYTES;
    return isLast ? { pages: view.getUint32(HEAD_BYTES, true), pageBytes } : undefined;
  }
  const contentAt = HEAD_BYTES + count * NUMBER_BYTES;
  if (pageBytes === 0 || bytes.length !== contentAt + count * pageBytes) return undefined;
  const numbers = new Uint32Array(count);
  for (const at of numbers.keys()) {
    numbers[at] = view.getUint32(HEAD_BYTES + at * NUMBER_BYTES, true);
    if (numbers[at] === 0) return undefined;
  }
  return { numbers, pageBytes, content: bytes.subarray(contentAt) };
}

/** Neighbouring pages among some. */
export interface PageRun {
  /** The number of the first page. */
  readonly page: number;
  readonly count: number;
  /** Its place among the pages, from 0. */
  readonly at: number;
}

export function* runsOf(numbers: Uint32Array): Generator<PageRun> {
  for (let from = 0; from < numbers.length;) {
    let to = from + 1;
    while (to < numbers.length && numbers[to] === numbers[to - 1]! + 1) to++;
    yield { page: numbers[from]!, count: to - from, at: from };
    from = to;
  }
}
