/**
 * Reads the WAL as a file: which pages are in it, and what its frames hold. See
 * https://sqlite.org/fileformat2.html#walformat. SQLite alone knows how many of its frames
 * count.
 */

import { readAllAt } from "./file_ranges.ts";

const HEAD_BYTES = 32;
const MAGIC = 0x377f0682;
/** The last bit of the magic says in which byte order the WAL's checksums are. */
const MAGIC_MASK = 0xfffffffe;
const PAGE_BYTES_AT = 8;
const SALTS_AT = 16;
const FRAME_HEAD_BYTES = 24;
const FRAME_SALTS_AT = 8;
/** Frames that are read at once. */
const CHUNK_FRAMES = 64;

export interface WalHead {
  readonly pageBytes: number;
  /** They change each time SQLite restarts the WAL; each frame of the current WAL carries them. */
  readonly salts: bigint;
}

/** Undefined if no WAL was begun. */
export function readWalHead(wal: Deno.FsFile): WalHead | undefined {
  const bytes = new Uint8Array(HEAD_BYTES);
  if (readAllAt(wal, 0, bytes) < HEAD_BYTES) return undefined;
  const view = new DataView(bytes.buffer);
  if ((view.getUint32(0) & MAGIC_MASK) >>> 0 !== MAGIC) return undefined;
  return { pageBytes: view.getUint32(PAGE_BYTES_AT), salts: view.getBigUint64(SALTS_AT) };
}

/**
 * Each page among the frames after `from` up to `to`, which SQLite has moved, with the content of
 * its last frame there. The frames must stay where they are until the last one is yielded, and the
 * content is valid until the next one is.
 * @throws {Error} when a frame is not of this WAL.
 */
export function* lastFrames(
  wal: Deno.FsFile,
  { pageBytes, salts }: WalHead,
  from: number,
  to: number,
): Generator<{ readonly page: number; readonly bytes: Uint8Array<ArrayBuffer> }> {
  const frameBytes = FRAME_HEAD_BYTES + pageBytes;
  const chunk = new Uint8Array(CHUNK_FRAMES * frameBytes);
  const view = new DataView(chunk.buffer);
  const met = new Set<number>();
  // Backwards, so that the last frame of each page is met first and the others are skipped.
  for (let end = to; end > from; end -= CHUNK_FRAMES) {
    const begin = Math.max(from, end - CHUNK_FRAMES);
    const bytes = chunk.subarray(0, (end - begin) * frameBytes);
    const read = readAllAt(wal, HEAD_BYTES + begin * frameBytes, bytes);
    if (read < bytes.length) throw new Error(`SQLite's log ends before its frame ${end}`);
    for (let at = bytes.length - frameBytes; at >= 0; at -= frameBytes) {
      if (view.getBigUint64(at + FRAME_SALTS_AT) !== salts) {
        throw new Error(`Frame ${begin + at / frameBytes + 1} of SQLite's log is of another log`);
      }
      const page = view.getUint32(at);
      if (met.has(page)) continue;
      met.add(page);
      yield { page, bytes: bytes.subarray(at + FRAME_HEAD_BYTES, at + frameBytes) };
    }
  }
}

/** The pages that have a frame in the WAL, including frames that SQLite no longer counts. */
export function pagesInWal(wal: Deno.FsFile): ReadonlySet<number> {
  const pages = new Set<number>();
  const head = readWalHead(wal);
  if (head === undefined) return pages;
  const frame = new Uint8Array(FRAME_HEAD_BYTES);
  const view = new DataView(frame.buffer);
  const frameBytes = FRAME_HEAD_BYTES + head.pageBytes;
  for (let at = HEAD_BYTES; readAllAt(wal, at, frame) === frame.length; at += frameBytes) {
    if (view.getBigUint64(FRAME_SALTS_AT) === head.salts) pages.add(view.getUint32(0));
  }
  return pages;
}
