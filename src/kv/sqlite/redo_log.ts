/**
 * The redo log of the embedded engine, for commits whose SQLite transaction has not ended yet.
 * It is two files beside the store. SQLite writes whole pages, and each commit alone would need
 * one or two of them. A record here is only as long as its content, and one SQLite transaction
 * then serves thousands of commits, which touch the same pages. Whoever opens the store after a
 * kill finds here what that transaction had.
 *
 * Records are appended to one file. When the SQLite transaction has ended, the next records go
 * to the other file, from its beginning, while the WAL is synced; then the first file is free.
 * Behind the newest records of a file there may be older ones, of versions that the store has.
 *
 * No record is written before the one before it is on disk. So only the newest may be torn, and
 * that one was never acknowledged. A bad record followed by a whole one of a later version is
 * damage, and refused. The store names its log by the log's id, from before the first record to
 * the end of a clean close. So a log that is missing, or of another store, is refused too.
 */

import { dirname } from "node:path";
import type { Bytes } from "../engine.ts";
import {
  encodeFileHead,
  encodeRedoRecord,
  FILE_HEAD_BYTES,
  findRecords,
  idOfFile,
  isFileOf,
  recordBytes,
  type RedoRecord,
  seedOf,
} from "./redo_record.ts";
import { syncFolder } from "./synced_folder.ts";

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
    close() {
      for (const file of files) file.close();
    },
  };
  return log;
}

function writeAll(file: Deno.FsFile, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
}

/**
 * The commits after a version, from the log that the store names.
 * @throws {Error} when the log is missing, damaged, or of another moment than the store.
 */
export function readRedoLog(storePath: string, id: Bytes, version: number): RedoRecord[] {
  const paths = redoPathsOf(storePath);
  const files = paths.map((path) => readLogFile(storePath, path, id));
  const seed = seedOf(id);
  const records = files.flatMap((file) => [...findRecords(file, seed)])
    .filter((record) => record.version > version)
    .sort((a, b) => a.version - b.version);
  const gap = records.findIndex((record, index) => record.version !== version + 1 + index);
  if (gap < 0) return records;
  throw new Error(
    `The store ${storePath} has commits up to ${version}. Its redo log, ${paths.join(" and ")}, ` +
      `lacks commit ${version + 1 + gap} and goes on with ${records[gap]!.version}: the log is ` +
      `damaged, or the files are not of one moment. ${WHAT_TO_DO}`,
  );
}

const WHAT_TO_DO =
  "Nothing was changed. Restore the store with all files that begin with its name from one copy, " +
  "and start again";

function readLogFile(storePath: string, path: string, id: Bytes): Uint8Array {
  const file = readIfThere(path);
  if (file === undefined) {
    throw new Error(
      `The store ${storePath} was not closed, and ${path}, a part of its redo log, is missing: ` +
        `the newest commits would be lost. ${WHAT_TO_DO}`,
    );
  }
  if (isFileOf(id, file)) return file;
  throw new Error(
    `The store ${storePath} was not closed, and ${path} is not its redo log: it is damaged or of ` +
      `another store. ${WHAT_TO_DO}`,
  );
}

function readIfThere(path: string): Uint8Array | undefined {
  try {
    return Deno.readFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/**
 * Looks at files of a log that the store does not name. A clean close that was cut off leaves
 * them, with nothing that the store lacks. Anything more in them means that the store is not the
 * newest.
 * @throws {Error} in that case.
 */
export function refuseNewerLog(storePath: string, version: number): void {
  for (const path of redoPathsOf(storePath)) {
    const file = readIfThere(path);
    const id = file && idOfFile(file);
    if (file === undefined || id === undefined) continue;
    for (const record of findRecords(file, seedOf(id))) {
      if (record.version <= version) continue;
      throw new Error(
        `The store ${storePath} has commits up to ${version} and names no redo log, but ${path} ` +
          `has commit ${record.version}: the files are not of one moment. ${WHAT_TO_DO}`,
      );
    }
  }
}

/**
 * @throws {Error} when a store is to be created where a redo log already is: the other files of
 * its store are missing.
 */
export function refuseLogAlone(storePath: string): void {
  for (const path of redoPathsOf(storePath)) {
    if ((readIfThere(path)?.length ?? 0) === 0) continue;
    throw new Error(
      `There is no store in ${storePath}, but ${path} belongs to one: its files are missing. ` +
        WHAT_TO_DO,
    );
  }
}

/** Removes the files of a log that the store no longer names. */
export function removeRedoLog(storePath: string): void {
  for (const path of redoPathsOf(storePath)) {
    try {
      Deno.removeSync(path);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  syncFolder(dirname(storePath));
}
