/**
 * Applies the changes of projections to their tables in a copy.
 *
 * All changes since the tables' stamps go into one transaction of the file, which ends when one
 * read of the store finds nothing more. So a query sees its projections as of one moment.
 */

import type { Pieces } from "../../../domain/fairness/pieces.ts";
import { openTransactionPieces } from "../../../domain/fairness/transaction_pieces.ts";
import type { ReadyProjection } from "../../../domain/projection/ready_projection.ts";
import type { Bytes, ReadTransaction } from "../../../kv/engine.ts";
import { lastChangeStamp, readRowChanges } from "../../../store/projections/row_changes.ts";
import { readProjectionRow } from "../../../store/projections/projection_rows.ts";
import type { CopiedChanges, CopiedTable } from "../../../sql/copy_messages.ts";
import { copyRowText } from "./fill_copy.ts";
import type { CopyWorld, TenantCopy } from "./tenant_copy.ts";

export type CaughtUp =
  | { readonly kind: "current" }
  /** The store no longer keeps some of the changes that these tables lack. */
  | { readonly kind: "lost"; readonly names: readonly string[] }
  | { readonly kind: "moved" }
  | { readonly kind: "failed"; readonly reason: string };

/** A table and the projection that it follows. */
export interface Follower {
  readonly projection: ReadyProjection;
  readonly table: CopiedTable;
}

interface Batch extends CopiedChanges {
  /** As JSON texts. */
  readonly rows: readonly string[];
  readonly isLost: boolean;
  readonly isAtEnd: boolean;
}

/**
 * The most changes of one projection in one read, and the row bytes of all projections in one
 * message; the last row may exceed them.
 */
const CHANGES_MAX = 500;
const MESSAGE_BYTES_MAX = 256 * 1024;

/** Call within the copy's turn, since it moves the copy's tables on. */
export async function catchUpCopy(
  { engine, host }: CopyWorld,
  copy: TenantCopy,
  followers: readonly Follower[],
): Promise<CaughtUp> {
  let tables = followers.map(({ table }) => table);
  for (let isFirst = true;; isFirst = false) {
    const batches = await engine.snapshot((tx) =>
      readBatches(
        tx,
        followers.map(({ projection }, index) => ({ projection, table: tables[index]! })),
        openTransactionPieces(host, copy.tenant.number),
      )
    );
    const lost = batches.filter(({ isLost }) => isLost).map(({ projection }) => projection.name);
    if (lost.length > 0) return { kind: "lost", names: lost };
    const isLast = batches.every(({ isAtEnd }) => isAtEnd);
    if (isFirst && isLast && batches.every(({ from, to }) => from === to)) {
      return { kind: "current" };
    }
    const changes = batches.map(({ projection, from, to, removed }) => ({
      projection,
      from,
      to,
      removed,
    }));
    const rows = batches.map((batch) => `[${batch.rows.join()}]`).join();
    const result = await copy.ask({ kind: "apply", changes, isFirst, isLast }, `[${rows}]`);
    if (result.kind === "failed") return result;
    if (result.kind !== "done") return { kind: "moved" };
    tables = tables.map((table, index) => ({ ...table, stamp: batches[index]!.to }));
    if (!isLast) continue;
    for (const table of tables) copy.tables?.set(table.name, table);
    return { kind: "current" };
  }
}

/**
 * The changes that the tables lack, as far as one message holds them; the next one takes the
 * rest.
 */
async function readBatches(
  tx: ReadTransaction,
  followers: readonly Follower[],
  pieces: Pieces,
): Promise<Batch[]> {
  const batches: Batch[] = [];
  const room: Room = { bytes: MESSAGE_BYTES_MAX, pieces };
  for (const { projection, table } of followers) {
    const rest = pieces.rest();
    if (rest !== undefined) await rest;
    batches.push(await readBatch(tx, projection, table.stamp, room));
  }
  return batches;
}

/** The bytes left in a message, and the time slices in which it is made. */
interface Room {
  bytes: number;
  readonly pieces: Pieces;
}

/** The changes after a stamp, as far as there is room, with the rows as they are now. */
async function readBatch(
  tx: ReadTransaction,
  projection: ReadyProjection,
  from: string,
  room: Room,
): Promise<Batch> {
  const after = from === "" ? undefined : Uint8Array.fromHex(from) as Bytes;
  // Without room, one change tells whether there are any, and whether they are lost.
  const limit = room.bytes > 0 ? CHANGES_MAX : 1;
  const { changes, isLost } = await readRowChanges(tx, projection, after, limit);
  const batch = { projection, from, removed: [] as string[], rows: [] as string[] };
  if (isLost || changes.length === 0 && await isAhead(tx, projection, from)) {
    return { ...batch, to: from, isLost: true, isAtEnd: true };
  }
  const seen = new Set<string>();
  let to = from;
  for (const { key, stamp } of changes) {
    if (room.bytes <= 0) return { ...batch, to, isLost: false, isAtEnd: false };
    to = stamp.toHex();
    if (seen.has(key)) continue;
    seen.add(key);
    const rest = room.pieces.rest();
    if (rest !== undefined) await rest;
    const row = await readProjectionRow(tx, projection, key);
    if (row === undefined) batch.removed.push(key);
    else batch.rows.push(copyRowText(row));
    room.bytes -= row?.bytes ?? 0;
  }
  return { ...batch, to, isLost: false, isAtEnd: changes.length < limit };
}

/** Whether the stamp is ahead of all changes: the store was then restored from an older backup. */
async function isAhead(
  tx: ReadTransaction,
  projection: ReadyProjection,
  from: string,
): Promise<boolean> {
  if (from === "") return false;
  const last = await lastChangeStamp(tx, projection);
  return last === undefined || last.toHex() < from;
}
