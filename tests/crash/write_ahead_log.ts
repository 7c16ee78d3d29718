/**
 * SQLite's write-ahead log as it lies on disk, by its file format: a header of 32 bytes, then
 * frames of 24 bytes and a page. A frame belongs to the log while its salts are those of the
 * header; one with a size of the database in it ends a commit.
 */

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

/** Where the last whole commit ends; 0 where there is none. */
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

/** What a power cut may leave of what was written and not yet synced. */
export const TEARS = ["cut", "zeros", "garbage", "old"] as const;
export type Tear = typeof TEARS[number];

/** The log with all behind `from` torn; `old` is what lay there before. */
export function tearLog(
  log: Uint8Array<ArrayBuffer>,
  from: number,
  tear: Tear,
  old: Uint8Array,
  randomByte: () => number,
): Uint8Array<ArrayBuffer> {
  if (tear === "cut") return log.slice(0, from);
  const torn = log.slice();
  for (let at = from; at < torn.length; at++) {
    torn[at] = tear === "zeros" ? 0 : tear === "garbage" ? randomByte() : old[at] ?? 0;
  }
  return torn;
}
