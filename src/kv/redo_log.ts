/**
 * THE REDO LOG of the embedded engine: two files beside the store with the commits that are in no
 * ended transaction of SQLite yet. SQLite writes whole pages, of which a write needs one or two of
 * its own; a record here is as long as what it says, and one transaction of SQLite then does for
 * thousands of writes, which touch the same pages. Whoever opens the store after a kill finds here
 * what that transaction had.
 *
 * Records are written one behind the other into one file. When that transaction has ended the next
 * ones go to the other, from its beginning, while SQLite's own log is synced; then the first is
 * free. So behind the newest records of a file there may be older ones: versions that follow each
 * other are what counts. A record that was not written to its end has a wrong checksum; it was
 * acknowledged to nobody.
 */

import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import type { Bytes } from "./engine.ts";

/** What one commit did to single keys. */
export interface RedoRecord {
  readonly version: number;
  /** Keys that were cleared, before the pairs were set. */
  readonly cleared: readonly Bytes[];
  /** Keys and values by turns. */
  readonly pairs: readonly Bytes[];
}

export interface RedoLog {
  /** Of the records in the file that is written now. */
  readonly bytes: number;
  /** Writes a record, which is durable only when `file` is synced. When this throws, none. */
  append(record: RedoRecord): void;
  /** The one that is written now. */
  readonly file: Deno.FsFile;
  readonly files: readonly Deno.FsFile[];
  /** Takes the record back that was appended last, also on the disk. */
  takeBack(): void;
  /**
   * What was committed after a version.
   * @throws {Error} when the commit that followed it is missing: the store is older than it was
   *   when the log was written.
   */
  readAfter(version: number): RedoRecord[];
  /** All records are in the store: the next one goes to the other file, which must be free. */
  turn(): void;
  /** How often that was done. */
  readonly turns: number;
  /** Whether all that was in the store at the last turn is known to be there on the disk. */
  readonly isOtherFree: boolean;
  /** It is known of what was in the store after so many turns. */
  release(turns: number): void;
  /** All records are in the store, and on the disk there. */
  restart(): void;
  /** The same, and nothing of them is left. */
  empty(): void;
  /** Closes the files and, unless they are needed, removes them. */
  close(isNeeded: boolean): void;
}

/** Length of the rest and CRC-32 of version and rest, 4 bytes each; version, 8. Little-endian. */
const HEADER_BYTES = 16;
const CHECKED_FROM = 8;
/** Number of cleared keys, length of a value. */
const LONG_BYTES = 4;
/** Length of a key. */
const SHORT_BYTES = 2;
const BUFFER_BYTES = 256 * 1024;

/** The files of the log of a store. */
export function redoPathsOf(storePath: string): readonly [string, string] {
  return [`${storePath}-redo1`, `${storePath}-redo2`];
}

/** Opens or makes the files, for their owner alone. */
export function openRedoLog(storePath: string): RedoLog {
  const paths = redoPathsOf(storePath);
  const files = paths.map((path) =>
    Deno.openSync(path, { create: true, read: true, write: true, mode: 0o600 })
  );
  syncFolder(dirname(storePath));
  let buffer = new Uint8Array(BUFFER_BYTES);
  let current = 0;
  let [turns, released] = [0, 0];
  let bytes = 0;
  /** Where the last record begins. */
  let last = 0;

  function moveTo(offset: number): void {
    files[current]!.seekSync(offset, Deno.SeekMode.Start);
    bytes = last = offset;
  }

  return {
    files,
    get file() {
      return files[current]!;
    },
    get bytes() {
      return bytes;
    },
    get turns() {
      return turns;
    },
    get isOtherFree() {
      return released === turns;
    },
    append(record) {
      const length = recordBytes(record);
      if (length > buffer.length) buffer = new Uint8Array(2 * length);
      encodeRecord(record, buffer, length);
      try {
        for (let at = 0; at < length;) {
          at += files[current]!.writeSync(buffer.subarray(at, length));
        }
      } catch (error) {
        moveTo(bytes);
        throw error;
      }
      last = bytes;
      bytes += length;
    },
    takeBack() {
      files[current]!.truncateSync(last);
      files[current]!.syncDataSync();
      moveTo(last);
    },
    readAfter: (version) => findAfter(paths, version),
    turn() {
      turns++;
      current = 1 - current;
      moveTo(0);
    },
    release: (known) => void (released = Math.max(released, known)),
    restart() {
      released = turns;
      moveTo(0);
    },
    empty() {
      for (const file of files) {
        file.truncateSync(0);
        file.syncDataSync();
      }
      released = turns;
      moveTo(0);
    },
    close(isNeeded) {
      for (const file of files) file.close();
      if (!isNeeded) { for (const path of paths) Deno.removeSync(path); }
    },
  };
}

/** How long a record is. */
export function recordBytes({ cleared, pairs }: RedoRecord): number {
  let length = HEADER_BYTES + LONG_BYTES;
  for (const key of cleared) length += SHORT_BYTES + key.length;
  for (const part of pairs) length += part.length;
  return length + pairs.length / 2 * (SHORT_BYTES + LONG_BYTES);
}

function encodeRecord(
  { version, cleared, pairs }: RedoRecord,
  into: Uint8Array,
  length: number,
): void {
  const view = new DataView(into.buffer);
  view.setBigUint64(CHECKED_FROM, BigInt(version), true);
  view.setUint32(HEADER_BYTES, cleared.length, true);
  let at = HEADER_BYTES + LONG_BYTES;
  for (const key of cleared) {
    view.setUint16(at, key.length, true);
    into.set(key, at + SHORT_BYTES);
    at += SHORT_BYTES + key.length;
  }
  for (let pair = 0; pair < pairs.length; pair += 2) {
    const [key, value] = [pairs[pair]!, pairs[pair + 1]!];
    view.setUint16(at, key.length, true);
    view.setUint32(at + SHORT_BYTES, value.length, true);
    at += SHORT_BYTES + LONG_BYTES;
    into.set(key, at);
    into.set(value, at + key.length);
    at += key.length + value.length;
  }
  view.setUint32(0, length - HEADER_BYTES, true);
  view.setUint32(4, crc32(into.subarray(CHECKED_FROM, length)), true);
}

/** The name of a new file is as durable as what will be in it. */
function syncFolder(path: string): void {
  if (Deno.build.os === "windows") return;
  const folder = Deno.openSync(path);
  try {
    folder.syncSync();
  } finally {
    folder.close();
  }
}

function findAfter(paths: readonly string[], version: number): RedoRecord[] {
  const records = paths.flatMap((path) => [...decodeRecords(Deno.readFileSync(path))])
    .filter((record) => record.version > version)
    .sort((a, b) => a.version - b.version);
  const gap = records.findIndex((record, index) => record.version !== version + 1 + index);
  if (gap < 0) return records;
  throw new Error(
    `The store has commits up to ${version + gap}, and its logs ${paths.join(" and ")} go on ` +
      `with ${records[gap]!.version}: they are not of one moment. Restore them and the file that ` +
      "ends with -wal with the store, from one copy",
  );
}

/** As far as the records are whole and follow each other. */
function* decodeRecords(log: Uint8Array): Generator<RedoRecord> {
  const view = new DataView(log.buffer, log.byteOffset, log.length);
  let expected: number | undefined;
  for (let at = 0; at + HEADER_BYTES + LONG_BYTES <= log.length;) {
    const end = at + HEADER_BYTES + view.getUint32(at, true);
    if (end < at + HEADER_BYTES + LONG_BYTES || end > log.length) return;
    const sum = crc32(log.subarray(at + CHECKED_FROM, end));
    if (sum !== view.getUint32(at + 4, true)) return;
    const version = Number(view.getBigUint64(at + CHECKED_FROM, true));
    if (expected !== undefined && version !== expected) return;
    yield { version, ...decodeRest(log.subarray(at + HEADER_BYTES, end)) };
    expected = version + 1;
    at = end;
  }
}

function decodeRest(rest: Uint8Array): Pick<RedoRecord, "cleared" | "pairs"> {
  const view = new DataView(rest.buffer, rest.byteOffset, rest.length);
  const [cleared, pairs]: [Bytes[], Bytes[]] = [[], []];
  let at = LONG_BYTES;
  const take = (length: number) => rest.slice(at, at += length);
  for (let left = view.getUint32(0, true); left > 0; left--) {
    const length = view.getUint16(at, true);
    at += SHORT_BYTES;
    cleared.push(take(length));
  }
  while (at < rest.length) {
    const [key, value] = [view.getUint16(at, true), view.getUint32(at + SHORT_BYTES, true)];
    at += SHORT_BYTES + LONG_BYTES;
    pairs.push(take(key), take(value));
  }
  return { cleared, pairs };
}
