/**
 * The pieces of a backup of the embedded store. Each has some neighbouring pages of the database
 * file; a page that comes again replaces what came before. The last piece says how many pages the
 * database has.
 *
 * Little-endian: the number of the first page, 4 bytes, from 1; the size of a page, 4; the pages.
 * In the last piece: 0, 4; the size of a page, 4; the number of pages, 4.
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

export const PIECE_HEAD_BYTES = 8;
/** Pages in one piece. */
export const PIECE_PAGES = 256;

const COUNT_BYTES = 4;

export type PagesPiece =
  | { readonly firstPage: number; readonly pageBytes: number; readonly content: Bytes }
  | { readonly pages: number; readonly pageBytes: number };

/** Room for so many pages. The content begins behind {@link PIECE_HEAD_BYTES}. */
export function newPiece(firstPage: number, pageBytes: number, pages: number): Bytes {
  const piece = new Uint8Array(PIECE_HEAD_BYTES + pages * pageBytes);
  const view = new DataView(piece.buffer);
  view.setUint32(0, firstPage, true);
  view.setUint32(4, pageBytes, true);
  return piece;
}

export function lastPiece(pages: number, pageBytes: number): Bytes {
  const piece = new Uint8Array(PIECE_HEAD_BYTES + COUNT_BYTES);
  const view = new DataView(piece.buffer);
  view.setUint32(4, pageBytes, true);
  view.setUint32(PIECE_HEAD_BYTES, pages, true);
  return piece;
}

/** Undefined if the bytes are no piece. */
export function readPiece(bytes: Bytes): PagesPiece | undefined {
  if (bytes.length < PIECE_HEAD_BYTES + COUNT_BYTES) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const [firstPage, pageBytes] = [view.getUint32(0, true), view.getUint32(4, true)];
  const content = bytes.subarray(PIECE_HEAD_BYTES);
  if (firstPage === 0) {
    const isLast = content.length === COUNT_BYTES;
    return isLast ? { pages: view.getUint32(PIECE_HEAD_BYTES, true), pageBytes } : undefined;
  }
  const isWhole = pageBytes > 0 && content.length % pageBytes === 0;
  return isWhole ? { firstPage, pageBytes, content } : undefined;
}
