/**
 * What a process that was killed has left in the redo log. A bad record followed by a whole one of
 * a later version is damage, and refused. The store names its log by the log's id, from before the
 * first record to the end of a clean close. So a log that is missing, or of another store, is
 * refused too.
 */

import type { Bytes } from "../engine.ts";
import {
  findRecords,
  idOfFile,
  isFileOf,
  redoPathsOf,
  type RedoRecord,
  seedOf,
} from "./redo_log.ts";

/**
 * The commits after a version, from the log that the store names.
 * @throws {Error} when the log is missing, damaged, or of another moment than the store.
 */
export function readRedoLog(storePath: string, id: Bytes, version: number): RedoRecord[] {
  const paths = redoPathsOf(storePath);
  const files = paths.map((path) => readLogFile(storePath, path, id));
  const seed = seedOf(id);
  const found = files.flatMap((file) => [...findRecords(file, seed)])
    .filter((record) => record.version > version)
    .sort((a, b) => a.version - b.version);
  const records = found.filter((record) => !isNote(record));
  const last = version + records.length;
  const gap = records.findIndex((record, index) => record.version !== version + 1 + index);
  const noted = found.findLast((record) => isNote(record) && record.version > last);
  if (gap < 0 && noted === undefined) return records;
  const [lacking, next] = gap < 0
    ? [last + 1, noted!.version]
    : [version + 1 + gap, records[gap]!.version];
  throw new Error(
    `The store ${storePath} has commits up to ${version}. Its redo log, ${paths.join(" and ")}, ` +
      `lacks commit ${lacking} and goes on with ${next}: a log is damaged, or the files are not ` +
      `of one moment. ${WHAT_TO_DO}`,
  );
}

/** Whether it only says that the store had this version; see `noteBase`. */
function isNote({ cleared, pairs }: RedoRecord): boolean {
  return cleared.length + pairs.length === 0;
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
