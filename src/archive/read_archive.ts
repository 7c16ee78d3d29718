/**
 * Finds what an archive has of a moment: the full backup to begin with, and the commits from there.
 * See docs/operate/archive.md.
 */

import type { Change, Engine, Transaction } from "../kv/engine.ts";
import {
  type ArchivedCommit,
  type ArchiveFile,
  changeBytes,
  consecutive,
  isDamaged,
  listArchive,
  logsFrom,
  readCommits,
} from "./archive_files.ts";

/** Commits without a gap, all of which the archive can restore. */
interface Span {
  /** Its first moment. */
  readonly full: ArchiveFile;
  /** Its last commit. */
  readonly version: number;
  readonly timeMs: number;
}

/** The archive cannot restore that moment; the message says which it can. */
export class NotArchived extends Error {
  override readonly name = "NotArchived";
}

/** What each full backup and the commits behind it can restore, oldest first. Reads all logs. */
async function findSpans(folder: string): Promise<Span[]> {
  const files = listArchive(folder);
  const spans: Span[] = [];
  for (const full of files.filter(({ kind }) => kind === "full")) {
    let { version, timeMs } = full;
    const before = spans.at(-1);
    // What the one before it reaches, this one reaches too.
    if (before !== undefined && before.version > version) ({ version, timeMs } = before);
    for await (const commit of consecutive(logsFrom(files, version), version)) {
      ({ version, timeMs } = commit);
    }
    spans.push({ full, version, timeMs });
  }
  return spans;
}

/** What a restore to a moment takes. */
export interface RestorePlan {
  readonly full: ArchiveFile;
  /** The newest commit at or before the moment, and when it was durable. */
  readonly version: number;
  readonly timeMs: number;
  /** The commits behind the full backup up to that one. */
  commits(): AsyncGenerator<ArchivedCommit, void, void>;
  /** Those after it, as far as the archive has them. Returns whether none is missing. */
  later(): AsyncGenerator<ArchivedCommit, boolean, void>;
}

/**
 * @param atMs the moment, in milliseconds since 1970; absent: the newest that there is.
 * @throws {NotArchived}
 */
export async function planRestore(folder: string, atMs = Infinity): Promise<RestorePlan> {
  const files = listArchive(folder);
  const fulls = files.filter(({ kind }) => kind === "full");
  // The newest full backup before the moment takes the least work.
  const full = fulls.findLast(({ timeMs }) => timeMs <= atMs);
  if (full === undefined) {
    throw new NotArchived(
      fulls.length === 0 ? `${folder} has no full backup` : await refusal(folder, "begins later"),
    );
  }
  const logs = logsFrom(files, full.version);
  let { version, timeMs } = full;
  let isPassed = false;
  for await (const commit of consecutive(logs, version)) {
    isPassed = commit.timeMs > atMs;
    if (isPassed) break;
    ({ version, timeMs } = commit);
  }
  const upTo = version;
  // What is behind the last commit is known only if the next one is.
  const isKnown = isPassed || atMs <= timeMs || atMs === Infinity ||
    !(files.some((file) => file.version > upTo) || await isLastDamaged(logs));
  if (!isKnown) throw new NotArchived(await refusal(folder, "lacks the commits of that time"));
  return {
    full,
    version,
    timeMs,
    async *commits() {
      for await (const commit of consecutive(logs, full.version)) {
        if (commit.version > upTo) return;
        yield commit;
      }
    },
    async *later() {
      let last = upTo;
      let isWhole = true;
      for (const { path } of logsFrom(files, upTo)) {
        for await (const commit of readCommits(path)) {
          if (commit.version <= last) continue;
          if (commit.version !== last + 1) isWhole = false;
          last = commit.version;
          yield commit;
        }
      }
      return isWhole && !files.some((file) => file.version > last) && !await isLastDamaged(logs);
    },
  };
}

/** Bytes of changes, about, in one transaction. */
const BATCH_BYTES = 1024 * 1024;

/** Makes the changes of commits in a restored store that nobody uses yet. */
export async function applyCommits(
  engine: Engine,
  commits: AsyncIterable<ArchivedCommit>,
  onProgress: (bytes: number) => void = () => {},
): Promise<void> {
  let batch: Change[] = [];
  let [bytes, done] = [0, 0];

  async function flush(): Promise<void> {
    const changes = batch;
    batch = [];
    await engine.transact((tx) => {
      for (const change of changes) apply(tx, change);
      return Promise.resolve();
    });
    done += bytes;
    bytes = 0;
    onProgress(done);
  }

  for await (const { changes } of commits) {
    for (const change of changes) {
      batch.push(change);
      bytes += changeBytes(change);
      // The transaction need not be that of the commit, for nobody reads meanwhile.
      if (bytes >= BATCH_BYTES) await flush();
    }
  }
  if (batch.length > 0) await flush();
}

function apply(tx: Transaction, change: Change): void {
  if ("cleared" in change) return tx.clear(change.cleared);
  if ("clearedRange" in change) return tx.clearRange(change.clearedRange);
  for (let at = 0; at < change.pairs.length; at += 2) {
    tx.set(change.pairs[at]!, change.pairs[at + 1]!);
  }
}

/** Damage in another log is a gap before the next. */
async function isLastDamaged(logs: readonly ArchiveFile[]): Promise<boolean> {
  const last = logs.at(-1);
  return last !== undefined && await isDamaged(last);
}

async function refusal(folder: string, what: string): Promise<string> {
  return `The archive ${what}. ${tell(await findSpans(folder))}`;
}

function tell(spans: readonly Span[]): string {
  const time = (ms: number) => new Date(ms).toISOString();
  const joined: { from: number; to: number; version: number }[] = [];
  for (const { full, version, timeMs } of spans) {
    const last = joined.at(-1);
    if (last !== undefined && full.version <= last.version) {
      if (version > last.version) [last.to, last.version] = [timeMs, version];
    } else joined.push({ from: full.timeMs, to: timeMs, version });
  }
  const texts = joined.map(({ from, to }) => `from ${time(from)} to ${time(to)}`);
  return `It can restore any moment ${texts.join(", and ")}`;
}
