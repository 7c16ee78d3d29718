/**
 * Upgrades a store of an earlier format to that of this build, in place and in one transaction.
 * What a killed process left in a redo log of the earlier form goes into the store with it.
 *
 * Formats: 2 has row checksums; 3 may have a redo log beside it; 4 may have events in the heads
 * of streams; 5 names its redo log; 6 has page checksums beside it; 7 has a log of every commit.
 * An earlier build would write without them, so it must refuse the store.
 */

import { statfsSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import type { Bytes } from "../engine.ts";
import type { MovedRow } from "./moved_row.ts";
import { removePageSums } from "./pages/page_sums.ts";
import { decodeRest, redoPathsOf, type RedoRecord, removeRedoLog } from "./redo_log.ts";
import { rowChecksum } from "./pairs.ts";
import { removeIfThere, sizeIfThere, syncFolder } from "./synced_folder.ts";

/** The format of the stores of this build. */
export const FORMAT = 7;
const FORMAT_MIN = 2;
/** Stores up to this format do not name their redo log. */
const FORMAT_UNNAMED_LOG = 4;

/** Endings of the files that belong to a store; the others are made anew. */
const STORE_FILES = ["", "-wal", "-redo1", "-redo2", "-pages"] as const;
/** Left free beside the copy. */
const FREE_BYTES_MIN = 64 * 1024 * 1024;

/** The copy of a store that is made before it is upgraded. */
export interface Copy {
  readonly folder: string;
  /** Whether this start has made it. */
  readonly isNew: boolean;
}

/**
 * Copies the files of a store that an earlier build wrote to a folder beside it. Call it before
 * SQLite opens the store. A copy that is there already is left as it is. A store that was killed
 * before its first checkpoint, some megabytes at most, does not tell its format and is not copied.
 * @returns undefined if no copy is needed.
 * @throws {Error} when the disk has no room for it.
 */
export function copyBeforeUpgrade(
  path: string,
  moved: Pick<MovedRow, "format"> | undefined,
): Copy | undefined {
  if (moved === undefined || moved.format === FORMAT) return undefined;
  const files = STORE_FILES.map((ending) => `${path}${ending}`)
    .map((file) => ({ file, bytes: sizeIfThere(file) }));
  const bytes = files.reduce((sum, one) => sum + (one.bytes ?? 0), 0);
  if (bytes === 0) return undefined;
  const folder = `${path}-before-${FORMAT}`;
  if (sizeIfThere(folder) !== undefined) return { folder, isNew: false };
  const { bavail, bsize } = statfsSync(dirname(path));
  if (bavail * bsize < bytes + FREE_BYTES_MIN) {
    throw new Error(
      `An earlier build wrote the store ${path}. It is copied before it is upgraded, and that ` +
        `takes ${bytes} bytes, which the disk does not have free. Make room and start again`,
    );
  }
  const part = `${folder}.part`;
  removeIfThere(part);
  Deno.mkdirSync(part, { mode: 0o700 });
  for (const one of files) {
    if (one.bytes !== undefined) copySynced(one.file, `${part}/${basename(one.file)}`);
  }
  syncFolder(part);
  Deno.renameSync(part, folder);
  syncFolder(dirname(path));
  return { folder, isNew: true };
}

function copySynced(from: string, to: string): void {
  Deno.copyFileSync(from, to);
  using file = Deno.openSync(to, { read: true, write: true });
  file.syncSync();
}

/**
 * @returns whether it was of an earlier format.
 * @throws {Error} when a newer build wrote the store, when no release wrote it, or when its redo
 * log does not belong to it. The store is then unchanged.
 */
export function upgradeStore(db: DatabaseSync, path: string): boolean {
  const { format, version } = db.prepare("SELECT format, version FROM store").get() as {
    format: number;
    version: number;
  };
  if (format === FORMAT) return false;
  if (format < FORMAT_MIN) {
    throw new Error(`The store ${path} has format ${format}, which no release has written`);
  }
  if (format > FORMAT) {
    throw new Error(
      `The store ${path} has format ${format}; this build reads up to ${FORMAT}. ` +
        "A newer build wrote it: run that build, or restore a copy made before the upgrade",
    );
  }
  const isLogUnnamed = format <= FORMAT_UNNAMED_LOG;
  const left = isLogUnnamed ? readUnnamedLog(path, version) : [];
  // Any checksums are of a later life of the store, of which this is an older copy.
  removePageSums(path);
  db.exec("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; BEGIN IMMEDIATE");
  try {
    replay(db, left);
    if (isLogUnnamed) db.exec("ALTER TABLE store ADD COLUMN redo BLOB");
    db.exec(`UPDATE store SET format = ${FORMAT}`);
    db.exec("COMMIT");
  } catch (cause) {
    if (db.isTransaction) db.exec("ROLLBACK");
    const message =
      `The store ${path} has format ${format} and could not be brought to ${FORMAT}: ` +
      `${cause instanceof Error ? cause.message : cause}. It is as it was`;
    throw new Error(message, { cause });
  }
  if (isLogUnnamed) removeRedoLog(path);
  return true;
}

function replay(db: DatabaseSync, records: readonly RedoRecord[]): void {
  const clear = db.prepare("DELETE FROM kv WHERE k = ?");
  const set = db.prepare("INSERT OR REPLACE INTO kv VALUES (?, ?, ?)");
  const setVersion = db.prepare("UPDATE store SET version = ?1, version_again = ?1");
  for (const { version, cleared, pairs } of records) {
    for (const key of cleared) clear.run(key);
    for (let at = 0; at < pairs.length; at += 2) {
      const [key, value] = [pairs[at]!, pairs[at + 1]!];
      set.run(key, value, rowChecksum(key, value));
    }
    setVersion.run(version);
  }
}

/**
 * Length of the rest, 4 bytes; CRC-32 of version and rest, 4; version, 8; the rest.
 * Little-endian.
 */
const HEADER_BYTES = 16;
const CHECKED_FROM = 8;
/** The number of cleared keys is always there. */
const REST_BYTES_MIN = 4;

function readUnnamedLog(path: string, version: number): RedoRecord[] {
  const paths = redoPathsOf(path);
  const records = paths.flatMap((one) => [...recordsOf(readIfThere(one))])
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

function readIfThere(path: string): Uint8Array {
  try {
    return Deno.readFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return new Uint8Array();
    throw error;
  }
}

/** The records, as far as they are whole and follow each other. */
function* recordsOf(log: Uint8Array): Generator<RedoRecord> {
  const view = new DataView(log.buffer, log.byteOffset, log.length);
  let expected: number | undefined;
  for (let at = 0; at + HEADER_BYTES + REST_BYTES_MIN <= log.length;) {
    const end = at + HEADER_BYTES + view.getUint32(at, true);
    if (end < at + HEADER_BYTES + REST_BYTES_MIN || end > log.length) return;
    const sum = crc32(log.subarray(at + CHECKED_FROM, end) as Bytes);
    if (sum !== view.getUint32(at + 4, true)) return;
    const version = Number(view.getBigUint64(at + CHECKED_FROM, true));
    if (expected !== undefined && version !== expected) return;
    yield { version, ...decodeRest(log.subarray(at + HEADER_BYTES, end)) };
    expected = version + 1;
    at = end;
  }
}
