/**
 * Backups of a store on a cluster, while any number of nodes write to it. No transaction can read
 * all of a large store, so the store is copied in order of its keys in many short snapshots, and
 * what is changed meanwhile is captured.
 *
 * - **The flag.** A backup begins by setting `flagKey` to an id of its own. Each transaction that
 *   writes finds out at its read version whether there is a flag, and guards it. If there is one,
 *   the transaction also stores what it changes, under its own stamp. So while the flag stays the
 *   same, each commit after it is captured: one that had not seen it conflicts. Finding out costs
 *   no call of the cluster, because whoever sets or clears the flag changes the cluster's metadata
 *   version in the same commit, and that comes with each read version.
 * - **Each change once.** A piece of pairs shows all commits up to the version at which it was
 *   read, and no others. So of the captured changes of a commit only those are taken whose keys
 *   have been copied at an earlier version. What is not copied yet will be copied later, with the
 *   change. This holds for additions too, and no change is taken twice or is missing.
 * - **The moment** is a version after the last piece of pairs. All changes up to it are taken, and
 *   the flag is still that of this backup when they are read. So nothing is missing.
 * - **Little is stored.** Captured changes are taken and cleared at intervals. A process that dies
 *   leaves its flag, but its heartbeat stops. The next backup, or the sweep of any node, finds
 *   that the heartbeat has not changed for a while, and clears everything. No clocks are compared.
 *   A process that was only held up then finds that its flag is gone, and its backup fails.
 *
 * The pieces are for `restore.ts`: each is loaded as it is, and changes in their order.
 */

import { bytesOf, textAfter, textOf, type TextRange } from "../byte_text.ts";
import {
  type Backup,
  type BackupPiece,
  type Bytes,
  type Engine,
  EngineClosed,
  EngineUnavailable,
  type KeyRange,
  type KeyValue,
  type ReadTransaction,
} from "../engine.ts";
import { isSameKey } from "../key_map.ts";
import { viewOf } from "../slab.ts";
import { keyAfter } from "../tuple.ts";
import { stampBytes } from "../transaction/buffered_transaction.ts";
import {
  apartPrefix,
  backupSpace,
  capturedPrefix,
  chainBytes,
  changeKinds,
  type Copied,
  dataRange,
  flagKey,
  heartbeatKey,
  keysUnder,
  laterChanges,
  numbered,
  readStoredChanges,
  type StoredChange,
} from "./changes.ts";
import { openPieceWriter, pieceKinds, type PieceWriter, tryPatiently } from "./pieces.ts";
import type { EngineHost } from "./client.ts";

export interface BackupPace {
  /** Interval of the heartbeat. */
  readonly beatMs: number;
  /** Without a heartbeat for so long, the process of a backup is dead. */
  readonly silenceMs: number;
  /** Bytes of keys and values in a piece, and captured bytes that are read at once. */
  readonly pieceBytes: number;
  /** Captured changes are taken after so many pieces. */
  readonly piecesBetween: number;
}

export interface Backups {
  run(): Backup;
  /** Ends the running backup, which fails; undefined if none runs. */
  close(): Promise<void> | undefined;
  /**
   * Clears what a dead process has left, if its heartbeat is the one that the last call found. So
   * there must be a minute or so between two calls.
   */
  sweep(): Promise<void>;
}

type Store = Pick<Engine, "transact" | "snapshot">;

/** A backup that runs. */
interface Run {
  readonly id: Bytes;
  readonly pace: BackupPace;
  timer?: ReturnType<typeof setInterval>;
  /** The engine is being closed. */
  isOver: boolean;
}

const defaultPace: BackupPace = {
  beatMs: 2_000,
  silenceMs: 15_000,
  pieceBytes: 1_000_000,
  piecesBetween: 32,
};

export function openClusterBackups(
  engine: Store,
  host: EngineHost,
  pace: BackupPace = defaultPace,
): Backups {
  let running: Run | undefined;
  let begun: Promise<void> | undefined;
  let swept: Bytes | undefined;

  async function* run(): Backup {
    if (running !== undefined) throw anotherRuns();
    const own: Run = running = { id: host.randomBytes(16), pace, isOver: false };
    try {
      begun = begin(engine, own);
      await begun;
      let beats = 0;
      own.timer = setInterval(() => void beat(engine, own, ++beats), pace.beatMs);
      const nowMs = () => host.nowMs();
      const { version, atMs } = yield* copyStore(engine, own, openPieceWriter(nowMs), nowMs);
      return { version, ageMs: nowMs() - atMs };
    } finally {
      clearInterval(own.timer);
      running = undefined;
      // If it cannot be told now that this backup has ended, its heartbeat tells.
      await end(engine, own.id).catch(() => {});
    }
  }

  async function close(own: Run): Promise<void> {
    own.isOver = true;
    await begun?.catch(() => {});
    clearInterval(own.timer);
    await end(engine, own.id).catch(() => {});
  }

  return {
    run,
    close: () => running && close(running),
    async sweep() {
      const found = await engine.snapshot((tx) => tx.get(heartbeatKey));
      if (found !== undefined && swept !== undefined && isSameKey(found, swept)) {
        await clearSilent(engine, found);
      }
      swept = found;
    },
  };
}

function anotherRuns(): EngineUnavailable {
  return new EngineUnavailable("Another backup of this store is running");
}

/** @throws {EngineUnavailable} if another process takes a backup. */
async function begin(engine: Store, run: Run): Promise<void> {
  const { id, pace } = run;
  for (;;) {
    const found = await engine.transact(async (tx) => {
      const heartbeat = await tx.get(heartbeatKey);
      if (heartbeat !== undefined) return heartbeat;
      // What a node may have captured after others had cleared the store without telling.
      tx.clearRange(backupSpace);
      tx.set(flagKey, id);
      tx.set(heartbeatKey, numbered(id, 0));
    });
    if (found === undefined) return;
    for (let waitedMs = 0; waitedMs < pace.silenceMs; waitedMs += pace.beatMs / 2) {
      await new Promise((resolve) => setTimeout(resolve, pace.beatMs / 2));
      const now = await engine.snapshot((tx) => tx.get(heartbeatKey));
      if (run.isOver) throw new EngineClosed("The engine is closed");
      if (now === undefined) break;
      if (!isSameKey(now, found)) throw anotherRuns();
    }
    await clearSilent(engine, found);
  }
}

async function clearSilent(engine: Store, heartbeat: Bytes): Promise<void> {
  await engine.transact(async (tx) => {
    const now = await tx.get(heartbeatKey);
    if (now !== undefined && isSameKey(now, heartbeat)) tx.clearRange(backupSpace);
  });
}

async function end(engine: Store, id: Bytes): Promise<void> {
  await engine.transact(async (tx) => {
    if (await isOurs(tx, id)) tx.clearRange(backupSpace);
  });
}

/** Never rejects: if the cluster is away for longer than the others wait, they end the backup. */
async function beat(engine: Store, run: Run, count: number): Promise<void> {
  try {
    await engine.transact(async (tx) => {
      if (await isOurs(tx, run.id)) tx.set(heartbeatKey, numbered(run.id, count));
    });
  } catch {
    // See above.
  }
}

async function isOurs(tx: Pick<ReadTransaction, "get">, id: Bytes): Promise<boolean> {
  const flag = await tx.get(flagKey);
  return flag !== undefined && isSameKey(flag, id);
}

interface Copy {
  readonly run: Run;
  readonly pieces: PieceWriter;
  /** In order of the keys, without gaps from the first key on. */
  copied: Copied[];
  /** All captured changes before this key were taken. */
  taken: Bytes;
}

async function* copyStore(
  engine: Store,
  run: Run,
  pieces: PieceWriter,
  nowMs: () => number,
): AsyncGenerator<BackupPiece, { readonly version: bigint; readonly atMs: number }, void> {
  const captured = keysUnder(capturedPrefix);
  const copy: Copy = { run, pieces, copied: [], taken: captured.begin };
  let next = readPage(engine, run, dataRange.begin);
  for (let count = 1;; count++) {
    const { pairs, range } = await next;
    copy.copied.push(range);
    const isLast = range.end === textOf(dataRange.end);
    const isTakingChanges = isLast || count % run.pace.piecesBetween === 0;
    // Read ahead while the piece is taken; but what is read ahead must be written before changes.
    if (!isTakingChanges) next = readAhead(engine, run, range);
    for (const { key, value } of pairs) {
      pieces.add({ kind: changeKinds.set, first: key, second: value });
    }
    if (pairs.length > 0) yield await pieces.take(pieceKinds.pairs, range.version);
    if (!isTakingChanges) continue;
    const atMs = nowMs();
    const version = yield* takeChanges(engine, copy);
    if (isLast) {
      yield await pieces.take(pieceKinds.end, version);
      return { version, atMs };
    }
    await clearTaken(engine, copy);
    next = readAhead(engine, run, range);
  }
}

interface Page {
  readonly pairs: readonly KeyValue[];
  readonly range: Copied;
}

function readAhead(
  engine: Store,
  run: Run,
  before: TextRange,
): Promise<Page> {
  const page = readPage(engine, run, bytesOf(before.end));
  // If the backup is given up, nobody waits for it.
  page.catch(() => {});
  return page;
}

async function readPage(
  engine: Store,
  run: Run,
  begin: Bytes,
): Promise<Page> {
  const { pairs, version } = await tryPatiently(() =>
    engine.snapshot(async (tx) => {
      const wanted = { begin, end: dataRange.end };
      const pairs = await tx.getRange(wanted, { bytesMax: run.pace.pieceBytes });
      return { pairs, version: await tx.readVersion() };
    })
  );
  const end = isCut(pairs, run) ? textAfter(textOf(pairs.at(-1)!.key)) : textOf(dataRange.end);
  return { pairs, range: { begin: textOf(begin), end, version } };
}

/** Whether there may be more behind the pairs. */
function isCut(pairs: readonly KeyValue[], { pace }: Run): boolean {
  return pairs.reduce((sum, { key, value }) => sum + key.length + value.length, 0) >=
    pace.pieceBytes;
}

/** What a transaction changed, in parts. */
interface Commit {
  readonly stamp: Bytes;
  readonly parts: Bytes[];
}

/**
 * Takes the changes up to the version at which this begins, and returns it. Those of later commits
 * are for the next time, so this ends, however fast nodes write.
 */
async function* takeChanges(
  engine: Store,
  copy: Copy,
): AsyncGenerator<BackupPiece, bigint, void> {
  const { run, pieces } = copy;
  const version = await tryPatiently(() => engine.snapshot((tx) => tx.readVersion()));
  const end = chainBytes(capturedPrefix, new Uint8Array(8));
  viewOf(end).setBigUint64(capturedPrefix.length, version + 1n);
  /** The parts of one transaction, which pages may tear apart. */
  let commit: Commit | undefined;
  for (;;) {
    const wanted = { begin: copy.taken, end };
    const records = await readCaptured(engine, run, wanted, run.pace.pieceBytes);
    const commits: Commit[] = [];
    for (const { key, value } of records) {
      const at = capturedPrefix.length;
      const stamp = key.subarray(at, at + stampBytes);
      if (commit !== undefined && !isSameKey(commit.stamp, stamp)) {
        commits.push(commit);
        commit = undefined;
      }
      commit ??= { stamp, parts: [] };
      commit.parts.push(value);
      copy.taken = keyAfter(key);
    }
    const isLast = !isCut(records, run);
    if (isLast && commit !== undefined) commits.push(commit);
    for (const { stamp, parts } of commits) {
      for await (const change of changesIn(engine, run, chainBytes(...parts))) {
        for (const later of laterChanges(change, stamp, copy.copied)) pieces.add(later);
        if (pieces.size >= run.pace.pieceBytes) {
          yield await pieces.take(pieceKinds.changes, version);
        }
      }
    }
    if (!isLast) continue;
    if (pieces.size > 0) yield await pieces.take(pieceKinds.changes, version);
    copy.copied = [{ begin: "", end: copy.copied.at(-1)!.end, version }];
    return version;
  }
}

/** @throws {EngineUnavailable} if not everything is there, because the flag is not ours. */
async function readCaptured(
  engine: Store,
  run: Run,
  range: KeyRange,
  bytesMax?: number,
): Promise<readonly KeyValue[]> {
  const found = await tryPatiently(() =>
    engine.snapshot(async (tx) => {
      if (!await isOurs(tx, run.id)) return undefined;
      return await tx.getRange(range, { bytesMax });
    })
  );
  if (found === undefined) throw new EngineUnavailable("Another process has ended this backup");
  return found;
}

/** The changes of a transaction, with those that are stored apart in their place. */
async function* changesIn(
  engine: Store,
  run: Run,
  bytes: Bytes,
): AsyncGenerator<StoredChange, void, void> {
  for (const change of readStoredChanges(bytes)) {
    if (change.kind !== changeKinds.apart) {
      yield change;
      continue;
    }
    const apart = keysUnder(chainBytes(apartPrefix, change.first));
    const parts = await readCaptured(engine, run, apart);
    yield* readStoredChanges(chainBytes(...parts.map(({ value }) => value)));
  }
}

async function clearTaken(engine: Store, { run, taken }: Copy): Promise<void> {
  await tryPatiently(() =>
    engine.transact(async (tx) => {
      if (await isOurs(tx, run.id)) tx.clearRange({ begin: capturedPrefix, end: taken });
    })
  );
}
