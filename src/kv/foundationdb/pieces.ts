/**
 * The pieces of a backup of a cluster, and how a store is made of them. `backup.ts` says why that
 * is right.
 *
 * A piece is: the kind, 1 byte; the version at which it was read, 8; when, in milliseconds since
 * 1970, 8; its changes (`changes.ts`). The numbers are big-endian. A piece of pairs sets keys that
 * no other piece of pairs has. A piece of changes must follow all pieces before it. The last piece
 * has no changes; its version is the moment of the backup.
 */

import {
  type BackupPiece,
  type Bytes,
  type Engine,
  EngineUnavailable,
  type Transaction,
} from "../engine.ts";
import { isSameKey } from "../key_map.ts";
import { viewOf } from "../slab.ts";
import {
  changeKinds,
  type ChangeWriter,
  dataRange,
  numbered,
  openChangeWriter,
  readStoredChanges,
  restoringKey,
  type StoredChange,
} from "./changes.ts";

export const pieceKinds = { pairs: 1, changes: 2, end: 3 } as const;
const headBytes = 17;

export interface PieceWriter extends Pick<ChangeWriter, "size" | "add"> {
  /** What was added since the last call. */
  take(kind: number, version: bigint): Promise<BackupPiece>;
}

export function openPieceWriter(nowMs: () => number): PieceWriter {
  const changes = openChangeWriter(headBytes);
  return {
    get size() {
      return changes.size;
    },
    add: changes.add,
    async take(kind, version) {
      const bytes = changes.take();
      bytes[0] = kind;
      viewOf(bytes).setBigUint64(1, version);
      viewOf(bytes).setBigUint64(9, BigInt(Math.floor(nowMs())));
      return { bytes, sha256: new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)) };
    },
  };
}

interface Piece {
  readonly kind: number;
  readonly version: bigint;
  readonly timeMs: number;
  readonly changes: readonly StoredChange[];
}

function readPiece(bytes: Bytes): Piece {
  if (bytes.length < headBytes) throw new Error("A piece is not of a store");
  return {
    kind: bytes[0]!,
    version: viewOf(bytes).getBigUint64(1),
    timeMs: Number(viewOf(bytes).getBigUint64(9)),
    changes: readStoredChanges(bytes.subarray(headBytes)),
  };
}

export interface RestoreParts {
  readonly engine: Engine;
  readonly nowMs: number;
  randomBytes(length: number): Bytes;
  /** A command with which an operator moves the versions of the cluster on, for messages. */
  advanceCommand(version: bigint): string;
  /** Is called with the store before it may be opened by others. */
  prepare(engine: Engine): Promise<void>;
}

/** Pieces that are loaded at the same time. */
const loadsMax = 8;
const triesMax = 10;
const pauseMs = 500;
/** Versions of a cluster for each millisecond, at most. */
const versionsPerMs = 1_000n;
/** How far the proposed version is from any that was used. A recovery takes 100 million. */
const versionsApart = 1_000_000_000_000n;

/**
 * Makes a store of the pieces of a backup. It must be empty, or have what an earlier restore has
 * left, which is then cleared. Until it is complete, the store has a mark, and is not opened.
 * @throws {Error} when there is something, when the pieces are not a whole store, or when the
 * cluster's version is not beyond that of the backup: new stamps would come before those in it.
 */
export async function restorePieces(
  pieces: AsyncIterable<Bytes>,
  parts: RestoreParts,
): Promise<void> {
  const { engine } = parts;
  const id = parts.randomBytes(16);
  // If its reply was lost, it finds its own mark and begins again.
  await tryPatiently(() => claim(engine, id));
  try {
    await load(pieces, id, parts);
    await parts.prepare(engine);
    await ifOurs(engine, id, (tx) => tx.clear(restoringKey));
  } catch (error) {
    await ifOurs(engine, id, (tx) => {
      tx.clearRange(dataRange);
      tx.clear(restoringKey);
    }).catch(() => {});
    throw error;
  }
}

async function claim(engine: Engine, id: Bytes): Promise<void> {
  const isUsed = await engine.transact(async (tx) => {
    const mark = await tx.get(restoringKey);
    if (mark !== undefined) tx.clearRange(dataRange);
    else if ((await tx.getRange(dataRange, { limit: 1 })).length > 0) return true;
    tx.set(restoringKey, numbered(id, 0));
    return false;
  });
  if (!isUsed) return;
  throw new Error(
    "The cluster is not empty. A backup is restored into an empty one, so that nothing is " +
      "overwritten: name another with FDB_CLUSTER_FILE",
  );
}

async function load(
  pieces: AsyncIterable<Bytes>,
  id: Bytes,
  parts: RestoreParts,
): Promise<void> {
  const { engine } = parts;
  const loading = new Set<Promise<void>>();
  let failure: unknown;
  let changed = 0;
  let isFirst = true;
  let isWhole = false;
  try {
    for await (const bytes of pieces) {
      if (failure !== undefined) throw failure;
      const piece = readPiece(bytes);
      if (isWhole) throw new Error("A piece follows the end of the store");
      isWhole = piece.kind === pieceKinds.end;
      if (isFirst || isWhole) await refuseEarlier(piece, parts);
      isFirst = false;
      if (piece.kind === pieceKinds.pairs) {
        if (loading.size >= loadsMax) await Promise.race(loading);
        const one: Promise<void> = tryPatiently(() => apply(engine, id, piece))
          .catch((error) => void (failure ??= error))
          .finally(() => loading.delete(one));
        loading.add(one);
      } else if (piece.kind === pieceKinds.changes) {
        await Promise.all(loading);
        const number = ++changed;
        await tryPatiently(() => apply(engine, id, piece, number));
      } else if (!isWhole) throw new Error("A piece is not of a store");
    }
  } finally {
    await Promise.all(loading);
  }
  if (failure !== undefined) throw failure;
  if (!isWhole) throw new Error("The end of the store is missing");
}

async function refuseEarlier(piece: Piece, parts: RestoreParts): Promise<void> {
  const now = await tryPatiently(() => parts.engine.snapshot((tx) => tx.readVersion()));
  if (now > piece.version) return;
  const sinceMs = BigInt(Math.max(0, Math.floor(parts.nowMs) - piece.timeMs));
  const version = piece.version + versionsPerMs * sinceMs + versionsApart;
  throw new Error(
    `The cluster is at version ${now}, and the backup at ${piece.version}: what is written next ` +
      "would come before what is restored. Move the cluster on first, and restore again: " +
      parts.advanceCommand(version),
  );
}

/** @param number of a piece of changes, which must not be applied twice. */
async function apply(engine: Engine, id: Bytes, piece: Piece, number?: number): Promise<void> {
  await ifOurs(engine, id, (tx, mark) => {
    if (number !== undefined) {
      const next = numbered(id, number);
      if (isSameKey(mark, next)) return;
      tx.set(restoringKey, next);
    }
    for (const change of piece.changes) applyChange(tx, change);
  });
}

function applyChange(tx: Transaction, { kind, first, second }: StoredChange): void {
  switch (kind) {
    case changeKinds.set:
      return tx.set(first, second);
    case changeKinds.clear:
      return tx.clear(first);
    case changeKinds.clearRange:
      return tx.clearRange({ begin: first, end: second });
    case changeKinds.add:
      return tx.add(first, viewOf(second).getBigInt64(0, true));
    default:
      throw new Error(`A piece has a change of the unknown kind ${kind}`);
  }
}

async function ifOurs(
  engine: Engine,
  id: Bytes,
  write: (tx: Transaction, mark: Bytes) => void,
): Promise<void> {
  await engine.transact(async (tx) => {
    // Pieces of pairs are loaded side by side, and changes are applied between them.
    const mark = await tx.get(restoringKey);
    if (mark === undefined || !isSameKey(mark.subarray(0, id.length), id)) {
      throw new Error("Another restore into this cluster has begun");
    }
    write(tx, mark);
  });
}

/** A cluster may be away for some seconds, or store more slowly than this loads. */
export async function tryPatiently<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1;; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof EngineUnavailable) || tries === triesMax) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}
