/**
 * The files of an archive: full backups, and logs of the commits between and after them. See
 * docs/operate/archive.md.
 *
 * A full backup is `full-<version>-<time>.backup`: a backup file whose moment is that version. A
 * log is `log-<version>-<time>.log`; its first commit is the one after that version. Versions have
 * 16 digits, so names sort by them.
 *
 * A log begins with a line that names the format. Then its commits, little-endian: length of the
 * rest, 4 bytes; CRC-32 of the rest, 4; version, 8; time at which it was durable, in milliseconds
 * since 1970, 8; changes. A change: 1, key; 2, begin and end of a range; or 3, key and value. Keys
 * follow their length, 2; values theirs, 4.
 */

import { crc32 } from "node:zlib";
import type { Bytes, Change } from "../kv/engine.ts";

export const LOG_MAGIC = new TextEncoder().encode("DAYBOOK ARCHIVE 1\n");

export interface ArchivedCommit {
  readonly version: number;
  readonly timeMs: number;
  readonly changes: readonly Change[];
}

export interface ArchiveFile {
  readonly kind: "full" | "log";
  readonly path: string;
  /** The last commit in a full backup; the one before the first of a log. */
  readonly version: number;
  /** When the backup was complete, or the log begun, in milliseconds since 1970. */
  readonly timeMs: number;
}

const KINDS = { clear: 1, clearRange: 2, set: 3 } as const;
const HEAD_BYTES = 24;
const CHECKED_FROM = 8;
const VERSION_DIGITS = 16;
const NAME = /^(full|log)-(\d{16})-(\d{8}T\d{9}Z)\.(backup|log)$/;

export function fileName(kind: ArchiveFile["kind"], version: number, timeMs: number): string {
  const time = new Date(timeMs).toISOString().replace(/[-:.]/g, "");
  const number = String(version).padStart(VERSION_DIGITS, "0");
  return `${kind}-${number}-${time}.${kind === "full" ? "backup" : "log"}`;
}

/** The files of an archive, by version. Those under other names are not looked at. */
export function listArchive(folder: string): ArchiveFile[] {
  const files: ArchiveFile[] = [];
  for (const { name } of Deno.readDirSync(folder)) {
    const parts = NAME.exec(name);
    if (parts === null) continue;
    const [, kind, version, time] = parts as unknown as [
      string,
      ArchiveFile["kind"],
      string,
      string,
    ];
    files.push({
      kind,
      path: `${folder}/${name}`,
      version: Number(version),
      timeMs: Date.parse(time.replace(TIME, "$1-$2-$3T$4:$5:$6.$7Z")),
    });
  }
  return files.sort((a, b) => a.version - b.version || a.timeMs - b.timeMs);
}

/** The logs that may have commits after a version. */
export function logsFrom(files: readonly ArchiveFile[], version: number): ArchiveFile[] {
  const logs = files.filter(({ kind }) => kind === "log");
  return logs.filter((_, at) => {
    const next = logs[at + 1];
    return next === undefined || next.version > version;
  });
}

const TIME = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z$/;

/** How long the change is in a log. */
export function changeBytes(change: Change): number {
  if ("cleared" in change) return 3 + change.cleared.length;
  if ("clearedRange" in change) {
    return 5 + change.clearedRange.begin.length + change.clearedRange.end.length;
  }
  let bytes = 0;
  for (const part of change.pairs) bytes += part.length;
  return bytes + change.pairs.length / 2 * 7;
}

/** How long the commit is in a log. */
export function commitBytes(changes: readonly Change[]): number {
  return changes.reduce((bytes, change) => bytes + changeBytes(change), HEAD_BYTES);
}

/** Writes a commit at a place of `into`. Returns the place behind it. */
export function encodeCommit(
  { version, timeMs, changes }: ArchivedCommit,
  into: Bytes,
  from: number,
): number {
  const view = new DataView(into.buffer, into.byteOffset, into.length);
  view.setBigUint64(from + CHECKED_FROM, BigInt(version), true);
  view.setBigUint64(from + CHECKED_FROM + 8, BigInt(Math.round(timeMs)), true);
  let at = from + HEAD_BYTES;

  function put(bytes: Bytes, lengthBytes: 2 | 4): void {
    if (lengthBytes === 2) view.setUint16(at, bytes.length, true);
    else view.setUint32(at, bytes.length, true);
    into.set(bytes, at + lengthBytes);
    at += lengthBytes + bytes.length;
  }

  for (const change of changes) {
    if ("cleared" in change) {
      into[at++] = KINDS.clear;
      put(change.cleared, 2);
    } else if ("clearedRange" in change) {
      into[at++] = KINDS.clearRange;
      put(change.clearedRange.begin, 2);
      put(change.clearedRange.end, 2);
    } else {
      for (let pair = 0; pair < change.pairs.length; pair += 2) {
        into[at++] = KINDS.set;
        put(change.pairs[pair]!, 2);
        put(change.pairs[pair + 1]!, 4);
      }
    }
  }
  view.setUint32(from, at - from - CHECKED_FROM, true);
  view.setUint32(from + 4, crc32(into.subarray(from + CHECKED_FROM, at)), true);
  return at;
}

/** What one chunk holds; that much is written at once. */
export const CHUNK_BYTES = 1024 * 1024;

/** Commits that wait to be written, one after the other. */
interface Chunk {
  readonly buffer: Bytes;
  /** How much of it is filled. */
  bytes: number;
  /** When the first of its commits was durable, in milliseconds since 1970. */
  readonly timeMs: number;
  /** Of the first commit, and of the last. */
  readonly first: number;
  last: number;
}

/** The commits that wait, in order. */
export interface Waiting {
  add(commit: ArchivedCommit): void;
  bytes(): number;
  oldestMs(): number | undefined;
  /** All that wait. No commit is added to these chunks any more. */
  look(): readonly Chunk[];
  /** Removes the first ones, which were written. */
  remove(written: readonly Chunk[]): void;
  clear(): void;
}

/**
 * Encodes each commit at once. What it changed is many small arrays, and keeping those until they
 * are written costs more than writing them.
 */
export function openWaiting(): Waiting {
  let chunks: Chunk[] = [];
  /** The last of them, while more fits in. */
  let filling: Chunk | undefined;
  let allBytes = 0;
  /** Of a chunk that was written, for the next one. */
  let spare: Bytes | undefined;

  function bufferFor(bytes: number): Bytes {
    if (bytes > CHUNK_BYTES) return new Uint8Array(bytes);
    const buffer = spare ?? new Uint8Array(CHUNK_BYTES);
    spare = undefined;
    return buffer;
  }

  return {
    add(commit) {
      const { version, timeMs, changes } = commit;
      const bytes = commitBytes(changes);
      if (filling === undefined || filling.bytes + bytes > filling.buffer.length) {
        filling = { buffer: bufferFor(bytes), bytes: 0, timeMs, first: version, last: version };
        chunks.push(filling);
      }
      filling.bytes = encodeCommit(commit, filling.buffer, filling.bytes);
      filling.last = version;
      allBytes += bytes;
    },
    bytes: () => allBytes,
    oldestMs: () => chunks[0]?.timeMs,
    look() {
      filling = undefined;
      return chunks.slice();
    },
    remove(written) {
      chunks = chunks.slice(written.length);
      for (const { buffer, bytes } of written) {
        allBytes -= bytes;
        if (buffer.length === CHUNK_BYTES) spare = buffer;
      }
    },
    clear() {
      [chunks, filling, allBytes] = [[], undefined, 0];
    },
  };
}

/** A commit is longer than this only in a damaged log. */
const COMMIT_BYTES_MAX = 64 * 1024 * 1024;
const READ_BYTES = 1024 * 1024;

/** Where a log ends: behind its last whole commit, or where it is damaged. */
export interface LogEnd {
  readonly bytes: number;
  /** Bytes that are no whole commit follow. Those of a process that was killed may. */
  readonly isTorn: boolean;
}

/** The commits of a log, as far as they are whole. */
export async function* readCommits(path: string): AsyncGenerator<ArchivedCommit, LogEnd, void> {
  using file = await Deno.open(path, { read: true });
  let buffer = new Uint8Array(READ_BYTES);
  let [filled, at, passed] = [0, 0, 0];

  /** Whether so many bytes are there behind `at`. */
  async function has(bytes: number): Promise<boolean> {
    while (filled - at < bytes) {
      if (at > 0) {
        buffer.copyWithin(0, at, filled);
        [filled, at, passed] = [filled - at, 0, passed + at];
      }
      if (bytes > buffer.length) {
        const larger = new Uint8Array(2 * bytes);
        larger.set(buffer.subarray(0, filled));
        buffer = larger;
      }
      const read = await file.read(buffer.subarray(filled));
      if (read === null) return false;
      filled += read;
    }
    return true;
  }

  const end = (isTorn: boolean): LogEnd => ({ bytes: passed + at, isTorn });
  const isLog = await has(LOG_MAGIC.length) &&
    LOG_MAGIC.every((byte, index) => byte === buffer[index]);
  if (!isLog) return end(true);
  at = LOG_MAGIC.length;
  for (;;) {
    if (!await has(HEAD_BYTES)) return end(filled > at);
    const view = new DataView(buffer.buffer, at);
    const length = view.getUint32(0, true);
    const isPossible = length >= HEAD_BYTES - CHECKED_FROM && length <= COMMIT_BYTES_MAX;
    if (!isPossible || !await has(CHECKED_FROM + length)) return end(true);
    const record = buffer.slice(at, at + CHECKED_FROM + length);
    const head = new DataView(record.buffer);
    if (crc32(record.subarray(CHECKED_FROM)) !== head.getUint32(4, true)) return end(true);
    at += record.length;
    yield {
      version: Number(head.getBigUint64(CHECKED_FROM, true)),
      timeMs: Number(head.getBigUint64(CHECKED_FROM + 8, true)),
      changes: decodeChanges(record),
    };
  }
}

/** The commits after a version, up to the first that is missing. */
export async function* consecutive(
  logs: readonly ArchiveFile[],
  after: number,
): AsyncGenerator<ArchivedCommit, void, void> {
  let last = after;
  for (const { path } of logs) {
    for await (const commit of readCommits(path)) {
      if (commit.version <= last) continue;
      if (commit.version !== last + 1) return;
      last = commit.version;
      yield commit;
    }
  }
}

/** So far apart are the versions of commits in one log at most. */
const VERSIONS_MAX = 1n << 32n;

/** Whether a whole commit follows the end of a log: then it is damaged, not cut off by a kill. */
export async function isDamaged({ path, version: before }: ArchiveFile): Promise<boolean> {
  const commits = readCommits(path);
  let last = BigInt(before);
  let step = await commits.next();
  for (; step.done !== true; step = await commits.next()) last = BigInt(step.value.version);
  if (!step.value.isTorn) return false;
  const rest = (await Deno.readFile(path)).subarray(step.value.bytes);
  const view = new DataView(rest.buffer, rest.byteOffset, rest.length);
  for (let at = 0; at + HEAD_BYTES <= rest.length; at++) {
    const version = view.getBigUint64(at + CHECKED_FROM, true);
    if (version <= last || version > last + VERSIONS_MAX) continue;
    const end = at + CHECKED_FROM + view.getUint32(at, true);
    if (end < at + HEAD_BYTES || end > rest.length) continue;
    const sum = view.getUint32(at + 4, true);
    // At the very end it was written meanwhile, by a running server.
    if (crc32(rest.subarray(at + CHECKED_FROM, end)) === sum) return at > 0;
  }
  return false;
}

function decodeChanges(record: Bytes): Change[] {
  const view = new DataView(record.buffer);
  const changes: Change[] = [];
  let at = HEAD_BYTES;

  function take(lengthBytes: 2 | 4): Bytes {
    const length = lengthBytes === 2 ? view.getUint16(at, true) : view.getUint32(at, true);
    at += lengthBytes + length;
    return record.subarray(at - length, at);
  }

  while (at < record.length) {
    const kind = record[at++];
    if (kind === KINDS.clear) changes.push({ cleared: take(2) });
    else if (kind === KINDS.clearRange) {
      changes.push({ clearedRange: { begin: take(2), end: take(2) } });
    } else changes.push({ pairs: [take(2), take(4)] });
  }
  return changes;
}
