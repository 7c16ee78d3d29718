/**
 * Reads the logs beside the store as they lie on disk, by their file formats.
 *
 * SQLite's WAL: a header of 32 bytes, then frames of 24 bytes plus a page. A frame belongs to
 * the log if its salts equal those of the header. A frame that names the size of the database
 * ends a commit.
 *
 * The redo log: a file head of 28 bytes, whose bytes 8 to 23 are an id, then records. A record
 * is: the first four bytes of the id; the length of what follows the record's 20-byte header; a
 * CRC-32 of the id and everything from the version on; and the version, which grows by one from
 * record to record.
 */

import { crc32 } from "node:zlib";

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const REDO_FILE_HEAD_BYTES = 28;
const REDO_HEADER_BYTES = 20;

/** Where the last whole commit ends; 0 if there is none. */
export function endOfLastCommit(log: Uint8Array): number {
  if (log.length < HEADER_BYTES) return 0;
  const view = new DataView(log.buffer, log.byteOffset, log.byteLength);
  const frameBytes = FRAME_HEADER_BYTES + view.getUint32(8);
  const salts = view.getBigUint64(16);
  let end = 0;
  for (let at = HEADER_BYTES; at + frameBytes <= log.length; at += frameBytes) {
    if (view.getBigUint64(at + 8) !== salts) break;
    if (view.getUint32(at + 4) !== 0) end = at + frameBytes;
  }
  return end;
}

/** Where the last whole record of the newest run ends; without any, the end of the file head. */
export function endOfLastRecord(log: Uint8Array): number {
  const view = new DataView(log.buffer, log.byteOffset, log.byteLength);
  const seed = crc32(log.subarray(8, 24));
  let [end, version] = [REDO_FILE_HEAD_BYTES, 0n];
  while (end + REDO_HEADER_BYTES < log.length) {
    const next = end + REDO_HEADER_BYTES + view.getUint32(end + 4, true);
    const own = view.getBigUint64(end + 12, true);
    if (next > log.length || (end > REDO_FILE_HEAD_BYTES && own !== version + 1n)) break;
    if (crc32(log.subarray(end + 12, next), seed) !== view.getUint32(end + 8, true)) break;
    version = own;
    end = next;
  }
  return end;
}

/** Whether the newer log equals the older one up to `end`. */
export function isLonger(newer: Uint8Array, older: Uint8Array, end: number): boolean {
  return newer.length >= end && older.subarray(0, end).every((byte, at) => byte === newer[at]);
}

/** What a power cut may leave of bytes that were written and not yet synced. */
export const TEARS = ["cut", "zeros", "garbage", "old"] as const;
export type Tear = typeof TEARS[number];

export interface TornPart {
  readonly from: number;
  readonly tear: Tear;
  readonly old: Uint8Array;
  readonly randomByte: () => number;
}

/** The log with everything behind `from` torn; `old` is what was there before. */
export function tearLog(
  log: Uint8Array<ArrayBuffer>,
  { from, tear, old, randomByte }: TornPart,
): Uint8Array<ArrayBuffer> {
  if (tear === "cut") return log.slice(0, from);
  const torn = log.slice();
  for (let at = from; at < torn.length; at++) {
    torn[at] = tear === "zeros" ? 0 : tear === "garbage" ? randomByte() : old[at] ?? 0;
  }
  return torn;
}
