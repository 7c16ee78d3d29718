/**
 * Keeps the archive of a running embedded store: a log of its commits, at most a second behind, and
 * a full backup from time to time. See docs/operate/archive.md.
 *
 * Nothing here holds up a write. A commit is noted once it is durable. If the disk of the archive
 * does not keep up, or refuses, what waits in memory is given up when it is too much; the archive
 * then has a gap, which is told, and a new full backup ends it.
 */

import { readBackup } from "../domain/backup/read_backup.ts";
import type { ArchiveMeasure } from "../domain/measures/store_measure.ts";
import type { ArchiveSettings } from "../config.ts";
import { readChunks, syncNamesIn, writeAll } from "../files.ts";
import type { Host } from "../host.ts";
import type { Bytes, Change, DurableListener } from "../kv/engine.ts";
import {
  type ArchiveFile,
  CHUNK_BYTES,
  consecutive,
  fileName,
  listArchive,
  LOG_MAGIC,
  logsFrom,
  openWaiting,
  readCommits,
} from "./archive_files.ts";

export interface Archive {
  readonly onDurable: DurableListener;
  /**
   * Begins with full backups, once the store is open.
   * @param version of the store when it was opened.
   */
  begin(version: number, takeFull: () => AsyncIterable<Bytes>): void;
  measure(): ArchiveMeasure;
  /** From now on a full backup that fails is no trouble: the store is about to close. */
  expectEnd(): void;
  /** Call it when the store is closed. Writes what waits, and ends. */
  close(): Promise<void>;
}

/** How often what waits is written, and looked whether a full backup is due. */
const TICK_MS = 250;
/** What may wait in memory. */
const WAITING_BYTES_MAX = 64 * 1024 * 1024;
/** A log that is longer is followed by another. */
const LOG_BYTES_MAX = 64 * 1024 * 1024;
/** Between two tries after a failure. */
const RETRY_MS = 30_000;
const MS_PER_SECOND = 1_000;
const MS_PER_HOUR = 3_600_000;
const MS_PER_DAY = 24 * MS_PER_HOUR;
const OWNER_ONLY = 0o600;

interface OpenLog {
  readonly path: string;
  readonly file: Deno.FsFile;
  bytes: number;
  /** The last commit in it. */
  version: number;
}

/** @throws {Error} when another server keeps its archive there. */
export function openArchive(settings: ArchiveSettings, host: Host): Archive {
  const { folder, fullHours, keepDays } = settings;
  makeArchiveFolder(folder);
  const lock = lockFolder(folder);
  const waiting = openWaiting();
  /** How often what waited was given up. */
  let lost = 0;
  /** The last commit that was told. */
  let told = -1;
  /** Commits up to this one are missing in the log; until a full backup has them. */
  let missing = -1;
  let log: OpenLog | undefined;
  /** Logs that are complete, with their last commits, until they were read again. */
  let unverified: Omit<OpenLog, "file">[] = [];
  let fullAtMs: number | undefined;
  let failures = 0;
  /** Before these moments of the monotonic clock nothing is tried again. */
  let [writeAtMs, fullTryAtMs] = [0, 0];
  let writing: Promise<void> | undefined;
  let isBackingUp = false;
  let isClosed = false;
  let takeFull: (() => AsyncIterable<Bytes>) | undefined;
  let backingUp = Promise.resolve();

  function fail(what: string, error: unknown): void {
    failures++;
    host.log("error", `The archive ${what}`, { folder, reason: reasonOf(error) });
  }

  /** The commits that wait will never be in the log, nor will those up to this one. */
  function giveUp(upTo: number): void {
    missing = Math.max(missing, upTo);
    lost++;
    waiting.clear();
    closeLog();
  }

  function onDurable(version: number, changes: readonly Change[]): void {
    if (told >= 0 && version !== told + 1) giveUp(version - 1);
    told = version;
    waiting.add({ version, timeMs: host.nowMs(), changes });
    if (waiting.bytes() > WAITING_BYTES_MAX) {
      const error = new Error(`More than ${WAITING_BYTES_MAX} bytes wait to be written`);
      fail("has fallen behind and lacks commits; a full backup follows", error);
      giveUp(version);
    }
    if (waiting.bytes() >= CHUNK_BYTES) write();
  }

  function write(): void {
    if (writing !== undefined || waiting.bytes() === 0 || host.monotonicMs() < writeAtMs) return;
    writing = writeWaiting().catch((error) => {
      writeAtMs = host.monotonicMs() + RETRY_MS;
      fail("cannot be written", error);
      closeLog();
    }).finally(() => {
      writing = undefined;
      if (waiting.bytes() >= CHUNK_BYTES) write();
    });
  }

  async function writeWaiting(): Promise<void> {
    const [some, before] = [waiting.look(), lost];
    const open = log ??= await beginLog(some[0]!.first - 1);
    for (const { buffer, bytes } of some) await writeAll(open.file, buffer.subarray(0, bytes));
    await open.file.syncData();
    await refuseGone(open);
    if (lost !== before) return;
    waiting.remove(some);
    for (const { bytes } of some) open.bytes += bytes;
    open.version = some.at(-1)!.last;
    if (open.bytes < LOG_BYTES_MAX) return;
    unverified.push(open);
    closeLog();
  }

  async function beginLog(version: number): Promise<OpenLog> {
    const path = `${folder}/${fileName("log", version, host.nowMs())}`;
    const file = await Deno.open(path, { createNew: true, write: true, mode: OWNER_ONLY });
    try {
      await writeAll(file, LOG_MAGIC);
      await syncNamesIn(folder);
    } catch (error) {
      // On a full disk there is a try each half minute.
      file.close();
      await Deno.remove(path).catch(() => {});
      throw error;
    }
    // Another disk may be there now, without the backups.
    const hasFull = fullAtMs === undefined || listArchive(folder).some(isFull);
    if (!hasFull) missing = Math.max(missing, version);
    return { path, file, bytes: LOG_MAGIC.length, version };
  }

  /** A file that was removed takes what is written all the same. */
  async function refuseGone({ path, version }: OpenLog): Promise<void> {
    try {
      await Deno.stat(path);
    } catch (error) {
      // Nobody knows what else is gone.
      missing = Math.max(missing, version);
      throw error;
    }
  }

  function closeLog(): void {
    log?.file.close();
    log = undefined;
  }

  async function backUp(): Promise<void> {
    const part = `${folder}/full.part`;
    try {
      await writeFile(part, takeFull!());
      const timeMs = host.nowMs();
      const version = await verify(part);
      const path = `${folder}/${fileName("full", version, timeMs)}`;
      await Deno.rename(part, path);
      await syncNamesIn(folder);
      if (version >= missing) missing = -1;
      fullAtMs = timeMs;
      host.log("info", "The archive has a new full backup", { path });
      await prune();
      await verifyLogs();
    } catch (error) {
      await Deno.remove(part).catch(() => {});
      fullTryAtMs = host.monotonicMs() + RETRY_MS;
      if (!isClosed) fail("has no new full backup", error);
    } finally {
      isBackingUp = false;
    }
  }

  /** Removes what no restore to a moment of the last days needs. */
  async function prune(): Promise<void> {
    const files = listArchive(folder);
    const limitMs = host.nowMs() - keepDays * MS_PER_DAY;
    const first = files.findLast(({ kind, timeMs }) => kind === "full" && timeMs <= limitMs);
    if (first === undefined) return;
    const needed = new Set(logsFrom(files, first.version));
    for (const file of files) {
      const isNeeded = file.kind === "full" ? file.version >= first.version : needed.has(file);
      if (!isNeeded) await Deno.remove(file.path);
    }
  }

  /** Reads a full backup again, as it is on the disk. Returns the version that it shows. */
  async function verify(path: string): Promise<number> {
    for await (const item of readBackup(readChunks(path))) {
      if (item.kind === "end") return Number(item.end.version);
      await host.yieldTurn();
    }
    throw new Error(`${path} has no end`);
  }

  /** Reads the logs again that were completed since the last time. */
  async function verifyLogs(): Promise<void> {
    const logs = unverified;
    unverified = [];
    for (const { path, version } of logs) {
      let last = -1;
      for await (const commit of readCommits(path)) {
        last = commit.version;
        await host.yieldTurn();
      }
      if (last === version) continue;
      fail("has a damaged log", new Error(`${path} ends with ${last}, and ${version} was written`));
      // A full backup now has what the log lacks, for all moments to come.
      missing = Math.max(missing, version);
    }
  }

  function look(): void {
    if (takeFull === undefined || isBackingUp || isClosed) return;
    if (host.monotonicMs() < fullTryAtMs) return;
    // The clock may have been put back.
    if (fullAtMs !== undefined) fullAtMs = Math.min(fullAtMs, host.nowMs());
    const isDue = fullAtMs === undefined || host.nowMs() - fullAtMs >= fullHours * MS_PER_HOUR;
    if (!isDue && missing < 0) return;
    isBackingUp = true;
    backingUp = backUp();
  }

  function tick(): void {
    write();
    look();
    endTimer = host.startTimer(TICK_MS, tick);
  }

  let endTimer = host.startTimer(TICK_MS, tick);

  return {
    onDurable,
    begin(version, take) {
      takeFull = take;
      fullAtMs = listArchive(folder).findLast(isFull)?.timeMs;
      // A killed process may have left commits that it could not archive any more, and one that
      // was stopped a gap.
      const end = findEnd(folder, version, host).catch((error) => fail("cannot be read", error));
      end.then((last) => {
        if (last !== version) missing = Math.max(missing, version);
      });
    },
    measure() {
      const oldest = waiting.oldestMs();
      const behindSeconds = oldest === undefined ? 0 : (host.nowMs() - oldest) / MS_PER_SECOND;
      const fullAt = fullAtMs === undefined ? undefined : fullAtMs / MS_PER_SECOND;
      return { behindSeconds, fullAt, failures, hasGap: missing >= 0 };
    },
    expectEnd: () => void (isClosed = true),
    async close() {
      endTimer();
      writeAtMs = 0;
      await writing;
      write();
      await writing;
      await backingUp;
      closeLog();
      lock?.close();
    },
  };
}

function makeArchiveFolder(folder: string): void {
  try {
    Deno.mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    const reason = reasonOf(error);
    throw new Error(`The folder of the archive (DAYBOOK_ARCHIVE_DIR) cannot be made: ${reason}`);
  }
}

/**
 * Two servers in one folder would mix what belongs to two stores. The lock ends with its process.
 * @returns undefined where nothing can be locked: the archive is kept all the same.
 */
function lockFolder(folder: string): Deno.FsFile | undefined {
  let lock: Deno.FsFile | undefined;
  let isTaken: boolean;
  try {
    lock = Deno.openSync(`${folder}/lock`, { create: true, write: true, mode: OWNER_ONLY });
    isTaken = !lock.tryLockSync(true);
  } catch {
    isTaken = false;
  }
  if (!isTaken) return lock;
  lock?.close();
  throw new Error(`Another server keeps its archive in ${folder}: an archive belongs to one store`);
}

function isFull({ kind }: ArchiveFile): boolean {
  return kind === "full";
}

/** The last commit that can be restored of a store that was at this version. */
async function findEnd(
  folder: string,
  version: number,
  { yieldTurn }: Pick<Host, "yieldTurn">,
): Promise<number> {
  const files = listArchive(folder).filter((file) => file.version <= version);
  let end = files.findLast(isFull)?.version ?? -1;
  for await (const commit of consecutive(logsFrom(files, end), end)) {
    end = commit.version;
    await yieldTurn();
  }
  return end;
}

async function writeFile(path: string, bytes: AsyncIterable<Bytes>): Promise<void> {
  const options = { create: true, truncate: true, write: true, mode: OWNER_ONLY };
  using file = await Deno.open(path, options);
  for await (const chunk of bytes) await writeAll(file, chunk);
  await file.sync();
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
