/**
 * The redo log of the embedded engine, for commits whose SQLite transaction has not ended yet.
 * It is two files beside the store. SQLite writes whole pages, and each commit alone would need
 * one or two of them. A record here is only as long as its content, and one SQLite transaction
 * then serves thousands of commits, which touch the same pages. Whoever opens the store after a
 * kill finds here what that transaction had (`left_redo_log.ts`).
 *
 * Records are appended to one file. When the SQLite transaction has ended, the next records go
 * to the other file, from its beginning, while the WAL is synced; then the first file is free.
 * Behind the newest records of a file there may be older ones, of versions that the store has. No
 * record is written before the one before it is on disk, so only the newest may be torn, and that
 * one was never acknowledged. A record without content is none: it notes a version that the store
 * had on disk, because an emptied log has nothing else that shows a damaged WAL.
 *
 * Every checksum begins with the log's id, which is random and new each time a store is opened.
 * So no bytes that a client has stored, and none of another log, can be taken for a record.
 *
 * Little-endian. A file: magic, 8 bytes; id, 16; CRC-32 of both, 4; then records. A record: the
 * first bytes of the id, 4; length of the rest, 4; CRC-32 of id, version and rest, 4; version,
 * 8; then the rest. The rest: number of cleared keys, 4; each of them after its length, 2; then
 * the pairs, each after the lengths of its key, 2, and value, 4.
 */

import { Buffer } from "node:buffer";
import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import type { Bytes } from "../engine.ts";
import { removeIfThere, syncFolder } from "./synced_folder.ts";

/** What one commit did to single keys. */
export interface RedoRecord {
  readonly version: number;
  /** Keys that were cleared before the pairs were set. */
  readonly cleared: readonly Bytes[];
  /** Keys and values, alternating. */
  readonly pairs: readonly Bytes[];
}

export const REDO_ID_BYTES = 16;
const MAGIC = new TextEncoder().encode("DBKREDO2");
/** Length of the head of a file, in bytes. */
export const FILE_HEAD_BYTES = MAGIC.length + REDO_ID_BYTES + 4;

const MARK_BYTES = 4;
const LENGTH_AT = MARK_BYTES;
const SUM_AT = LENGTH_AT + 4;
const VERSION_AT = SUM_AT + 4;
const REST_AT = VERSION_AT + 8;
/** For the number of cleared keys and for the length of a value. */
const LONG_BYTES = 4;
/** For the length of a key. */
const SHORT_BYTES = 2;
const RECORD_BYTES_MIN = REST_AT + LONG_BYTES;

export interface RedoLog {
  /** Bytes of the records in the file that is written now. */
  readonly bytes: number;
  /**
   * Writes a record, which is durable only when `file` is synced. Writes nothing if it throws, or
   * if it returns false because the record is longer than `bytesMax`.
   */
  append(record: RedoRecord, bytesMax?: number): boolean;
  /** The file that is written now. */
  readonly file: Deno.FsFile;
  /** Takes back the record that was appended last, on disk as well. */
  takeBack(): void;
  /** All records are in the store: the next one goes to the other file, which must be free. */
  turn(): void;
  /** How often `turn` was called. */
  readonly turns: number;
  /** Whether everything that was in the store at the last turn is known to be on disk there. */
  readonly isOtherFree: boolean;
  /** Everything that was in the store after this many turns is known to be on disk there. */
  release(turns: number): void;
  /** All records are in the store, and on disk there: the next one overwrites them. */
  restart(): void;
  /** Like `restart`, but nothing of the records is left in the files. */
  empty(): void;
  /**
   * Notes that the store had commits up to this version on disk when the log was empty, so that a
   * start on fewer is refused. The note has no sync of its own, and the next record overwrites it.
   * Never throws.
   */
  noteBase(version: number): void;
  /** Leaves the files in place. */
  close(): void;
}

const BUFFER_BYTES = 256 * 1024;

/** The files of the redo log of a store. */
export function redoPathsOf(storePath: string): readonly [string, string] {
  return [`${storePath}-redo1`, `${storePath}-redo2`];
}

/**
 * Creates a log without records in place of whatever is there, for its owner alone; it is on
 * disk when this returns. The store must name its id before the first record.
 */
export function createRedoLog(storePath: string, id: Bytes): RedoLog {
  const head = encodeFileHead(id);
  const files: Deno.FsFile[] = [];
  try {
    for (const path of redoPathsOf(storePath)) {
      const options = { create: true, truncate: true, read: true, write: true, mode: 0o600 };
      const file = Deno.openSync(path, options);
      files.push(file);
      writeAll(file, head);
      file.syncDataSync();
    }
    syncFolder(dirname(storePath));
  } catch (error) {
    for (const file of files) file.close();
    throw error;
  }
  return openFiles(files, id);
}

function openFiles(files: readonly Deno.FsFile[], id: Bytes): RedoLog {
  const [first, second] = files as readonly [Deno.FsFile, Deno.FsFile];
  const seed = seedOf(id);
  let buffer = new Uint8Array(BUFFER_BYTES);
  let released = 0;
  /** Where the last record begins, counted from the end of the file head. */
  let last = 0;

  function moveTo(offset: number): void {
    log.file.seekSync(FILE_HEAD_BYTES + offset, Deno.SeekMode.Start);
    log.bytes = last = offset;
  }

  const log: { -readonly [Part in keyof RedoLog]: RedoLog[Part] } = {
    file: first,
    bytes: 0,
    turns: 0,
    get isOtherFree() {
      return released === log.turns;
    },
    append(record, bytesMax = Infinity) {
      const length = recordBytes(record);
      if (length > bytesMax) return false;
      if (length > buffer.length) buffer = new Uint8Array(2 * length);
      encodeRedoRecord(record, seed, buffer, length);
      try {
        writeAll(log.file, buffer.subarray(0, length));
      } catch (error) {
        moveTo(log.bytes);
        throw error;
      }
      last = log.bytes;
      log.bytes += length;
      return true;
    },
    takeBack() {
      log.file.truncateSync(FILE_HEAD_BYTES + last);
      log.file.syncDataSync();
      moveTo(last);
    },
    turn() {
      log.turns++;
      log.file = log.file === first ? second : first;
      moveTo(0);
    },
    release: (known) => void (released = Math.max(released, known)),
    restart() {
      released = log.turns;
      moveTo(0);
    },
    empty() {
      for (const file of files) {
        file.truncateSync(FILE_HEAD_BYTES);
        file.syncDataSync();
      }
      released = log.turns;
      moveTo(0);
    },
    noteBase(version) {
      const note = new Uint8Array(RECORD_BYTES_MIN);
      encodeRedoRecord({ version, cleared: [], pairs: [] }, seed, note, note.length);
      try {
        writeAll(log.file, note);
      } catch {
        // Damage that only the note would show is not found then.
      }
      moveTo(log.bytes);
    },
    close() {
      for (const file of files) file.close();
    },
  };
  return log;
}

function writeAll(file: Deno.FsFile, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
}

/** Removes the files of a log that the store no longer names. */
export function removeRedoLog(storePath: string): void {
  for (const path of redoPathsOf(storePath)) removeIfThere(path);
  syncFolder(dirname(storePath));
}

/** The head of a file of the log with this id. */
export function encodeFileHead(id: Bytes): Bytes {
  const head = new Uint8Array(FILE_HEAD_BYTES);
  head.set(MAGIC);
  head.set(id, MAGIC.length);
  const sumAt = FILE_HEAD_BYTES - 4;
  new DataView(head.buffer).setUint32(sumAt, crc32(head.subarray(0, sumAt)), true);
  return head;
}

/** Whether a file begins like those of the log with this id. */
export function isFileOf(id: Bytes, file: Uint8Array): boolean {
  return Buffer.compare(file.subarray(0, FILE_HEAD_BYTES), encodeFileHead(id)) === 0;
}

/** The id of the log that a file belongs to; undefined if it belongs to none. */
export function idOfFile(file: Uint8Array): Bytes | undefined {
  const id = file.slice(MAGIC.length, MAGIC.length + REDO_ID_BYTES) as Bytes;
  return id.length === REDO_ID_BYTES && isFileOf(id, file) ? id : undefined;
}

/** The length of an encoded record. */
export function recordBytes({ cleared, pairs }: RedoRecord): number {
  let length = RECORD_BYTES_MIN;
  for (const key of cleared) length += SHORT_BYTES + key.length;
  for (const part of pairs) length += part.length;
  return length + pairs.length / 2 * (SHORT_BYTES + LONG_BYTES);
}

/** Writes a record of that length to the beginning of `into`. `seed` is from {@link seedOf}. */
export function encodeRedoRecord(
  { version, cleared, pairs }: RedoRecord,
  { id, seed }: RedoSeed,
  into: Uint8Array,
  length: number,
): void {
  const view = new DataView(into.buffer);
  into.set(id.subarray(0, MARK_BYTES));
  view.setUint32(LENGTH_AT, length - REST_AT, true);
  view.setBigUint64(VERSION_AT, BigInt(version), true);
  view.setUint32(REST_AT, cleared.length, true);
  let at = RECORD_BYTES_MIN;
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
  view.setUint32(SUM_AT, crc32(into.subarray(VERSION_AT, length), seed), true);
}

/** The id of a log, and the value that its checksums begin with. */
export interface RedoSeed {
  readonly id: Bytes;
  readonly seed: number;
}

export function seedOf(id: Bytes): RedoSeed {
  return { id, seed: crc32(id) };
}

/**
 * Every whole record in the file, wherever it stands, also behind bytes that are no record.
 * Records do not overlap: bytes within the values of one are never taken for a record.
 */
export function* findRecords(file: Uint8Array, { id, seed }: RedoSeed): Generator<RedoRecord> {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.length);
  const mark = id.subarray(0, MARK_BYTES);
  for (let at = FILE_HEAD_BYTES;;) {
    at = bytes.indexOf(mark, at);
    if (at < 0 || at + RECORD_BYTES_MIN > bytes.length) return;
    const end = at + REST_AT + bytes.readUInt32LE(at + LENGTH_AT);
    const isWhole = end >= at + RECORD_BYTES_MIN && end <= bytes.length &&
      crc32(bytes.subarray(at + VERSION_AT, end), seed) === bytes.readUInt32LE(at + SUM_AT);
    if (isWhole) {
      const version = Number(bytes.readBigUInt64LE(at + VERSION_AT));
      yield { version, ...decodeRest(file.subarray(at + REST_AT, end)) };
    }
    at = isWhole ? end : at + 1;
  }
}

/** Cleared keys and pairs, as both formats of the log store them. */
export function decodeRest(rest: Uint8Array): Pick<RedoRecord, "cleared" | "pairs"> {
  const view = new DataView(rest.buffer, rest.byteOffset, rest.length);
  const [cleared, pairs]: [Bytes[], Bytes[]] = [[], []];
  let at = LONG_BYTES;
  const take = (length: number) => rest.slice(at, at += length) as Bytes;
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
