/**
 * Records which rows of a projection's version have changed, in the order of the commits. It is
 * for readers that keep a copy of the rows. Changes are kept for
 * `limits.rowChangesSeconds`; a reader that was away longer learns that, and copies all
 * rows again.
 */

import { Buffer } from "node:buffer";
import type { ProjectionPlace } from "../../domain/projection/ready_projection.ts";
import type { Bytes, ReadTransaction, Transaction } from "../../kv/engine.ts";
import { pack, unpack } from "../../kv/tuple.ts";
import { keyAfter, keys } from "../keys.ts";

export interface RowChange {
  /** Key of the row that was written or removed; read it to find what it is now. */
  readonly key: string;
  /** Its place among the changes, and the cursor of a reader that has done all up to this one. */
  readonly stamp: Bytes;
}

export interface RowChanges {
  readonly changes: readonly RowChange[];
  /** True if changes after the given stamp have been removed: copy all rows again. */
  readonly isLost: boolean;
}

const STAMP_BYTES = 10;

/** Call this in the transaction that writes or removes the row, once for each row. */
export function noteRowChange(
  tx: Transaction,
  { tenant, number, version }: ProjectionPlace,
  key: string,
  nowMs: number,
): void {
  tx.setStamped(keys.rowChange(tenant, number, version), pack([key]), pack([nowMs]));
}

/** At most `limit` changes after `after`, or from the first if that is undefined. */
export async function readRowChanges(
  tx: Pick<ReadTransaction, "get" | "getRange">,
  place: ProjectionPlace,
  after: Bytes | undefined,
  limit: number,
): Promise<RowChanges> {
  const { tenant, number, version } = place;
  const [trimmed, pairs] = await Promise.all([
    tx.get(keys.rowChangesTrimmed(tenant, number, version)),
    tx.getRange(afterStamp(place, after), { limit }),
  ]);
  const isLost = trimmed !== undefined &&
    (after === undefined || Buffer.compare(after, trimmed) < 0);
  return { changes: pairs.map(({ key }) => decodeChange(place, key)), isLost };
}

/** The place of the newest change, kept or removed; undefined if there was none. */
export async function lastChangeStamp(
  tx: Pick<ReadTransaction, "get" | "getRange">,
  place: ProjectionPlace,
): Promise<Bytes | undefined> {
  const { tenant, number, version } = place;
  const [last] = await tx.getRange(changesRange(place), { limit: 1, reverse: true });
  if (last !== undefined) return decodeChange(place, last.key).stamp;
  return await tx.get(keys.rowChangesTrimmed(tenant, number, version));
}

/** Whether the oldest change is from before `untilMs`. */
export async function hasChangesBefore(
  tx: Pick<ReadTransaction, "getRange">,
  place: ProjectionPlace,
  untilMs: number,
): Promise<boolean> {
  const [first] = await tx.getRange(changesRange(place), { limit: 1 });
  return first !== undefined && (unpack(first.value)[0] as number) < untilMs;
}

/** Removes up to `limit` changes from before `untilMs`; returns how many. */
export async function trimRowChanges(
  tx: Transaction,
  place: ProjectionPlace,
  untilMs: number,
  limit: number,
): Promise<number> {
  const { tenant, number, version } = place;
  const range = changesRange(place);
  const pairs = await tx.unguarded.getRange(range, { limit });
  const firstKept = pairs.findIndex(({ value }) => (unpack(value)[0] as number) >= untilMs);
  const old = firstKept === -1 ? pairs : pairs.slice(0, firstKept);
  const last = old.at(-1);
  if (last === undefined) return 0;
  tx.clearRange({ begin: range.begin, end: keyAfter(last.key) });
  const { stamp } = decodeChange(place, last.key);
  tx.set(keys.rowChangesTrimmed(tenant, number, version), stamp);
  return old.length;
}

/** A stamp may have any bytes, also those with which no element of a tuple begins. */
export function changesRange({ tenant, number, version }: ProjectionPlace) {
  const begin = keys.rowChange(tenant, number, version);
  return { begin, end: keys.rowChange(tenant, number, version + 1) };
}

function afterStamp(place: ProjectionPlace, after: Bytes | undefined) {
  const { begin, end } = changesRange(place);
  if (after === undefined) return { begin, end };
  const key = new Uint8Array(begin.length + after.length);
  key.set(begin);
  key.set(after, begin.length);
  return { begin: keyAfter(key), end };
}

function decodeChange(place: ProjectionPlace, key: Bytes): RowChange {
  const stamp = key.slice(changesRange(place).begin.length);
  const [row] = unpack(stamp.slice(STAMP_BYTES)) as [string];
  return { key: row, stamp };
}
