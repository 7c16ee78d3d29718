/**
 * Writes computed rows in a transaction and keeps them right under concurrent writers. A row
 * never shows less of a stream than it did before, and a stream that it shows for the first
 * time must be shown up to its head. From then on, the index leads from the stream to the row,
 * so the next change finds it.
 */

import { errorTypeOfRow, makeRowError } from "./row_error.ts";
import type { ErrorRecord } from "../../domain/error_record.ts";
import type { RowError } from "../../domain/projection/ready_projection.ts";
import type { Pieces } from "../../domain/fairness/pieces.ts";
import type { Refusal } from "../../domain/refusal.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { Transaction } from "../../kv/engine.ts";
import type { FailedRow, RowOutcome } from "./compute_rows.ts";
import type { KeptProjection } from "./projection_sets.ts";
import { storeErrorRecord } from "../../store/error_records.ts";
import { readHead } from "../../store/streams/streams.ts";
import { noteRowChange } from "../../store/projections/row_changes.ts";
import {
  clearProjectionRow,
  encodeRow,
  readProjectionRow,
  setProjectionRow,
  type SourceMark,
  type StoredRow,
} from "../../store/projections/projection_rows.ts";
import { addRetry, clearRetry } from "../../store/projections/projection_work.ts";

/** A row of one version, computed or failed. */
export interface RowWork {
  readonly kept: KeptProjection;
  readonly row: RowOutcome;
}

/** The inputs that do not come from the rows themselves. */
export interface WriteMoment {
  readonly nowMs: number;
  /** From 0 to 1; spreads the next tries of rows. */
  readonly random: number;
  /** Makes the record of a failure. It is called in the transaction body, so it must not write. */
  readonly makeRecord: (kept: KeptProjection, key: string, failure: Refusal) => ErrorRecord;
}

export interface WrittenRows {
  /** Rows to compute again: others have shown more of a source, or a source has grown. */
  readonly moved: readonly RowWork[];
  /** Error records that the transaction stores. */
  readonly errors: readonly ErrorRecord[];
}

/** Writes the rows that may be written. All reads come before all writes. */
export async function writeRows(
  tx: Transaction,
  works: readonly RowWork[],
  moment: WriteMoment,
  pieces: Pieces,
): Promise<WrittenRows> {
  const heads = new Map<StreamKey, Promise<SourceMark>>();
  const checked = await Promise.all(works.map(async (work) => {
    const before = await readProjectionRow(tx, work.kept.place, work.row.key);
    const rest = pieces.rest();
    if (rest !== undefined) await rest;
    return { work, before, isMoved: await isMoved(tx, work, before, heads) };
  }));
  const errors: ErrorRecord[] = [];
  for (const { work, before, isMoved } of checked) {
    const rest = pieces.rest();
    if (rest !== undefined) await rest;
    if (isMoved) continue;
    const record = writeRow(tx, work, before, moment);
    if (record !== undefined) errors.push(record);
  }
  const moved = checked.filter(({ isMoved }) => isMoved).map(({ work }) => work);
  return { moved, errors };
}

async function isMoved(
  tx: Transaction,
  { kept, row: computed }: RowWork,
  before: StoredRow | undefined,
  heads: Map<StreamKey, Promise<SourceMark>>,
): Promise<boolean> {
  if ("failure" in computed) return false;
  const { row } = computed;
  // Without events there was never a row; only an erased environment gets here.
  if (row === undefined) return false;
  if (before !== undefined) {
    const own = [before.generation, before.position] as const;
    if (isLess([row.generation, row.position], own)) return true;
  }
  const known = new Map(
    [...before?.sources ?? [], ...before?.includes ?? []].map((mark) => [mark[0], mark]),
  );
  for (const [stream, generation, length] of [...row.sources, ...row.includes]) {
    const shown = known.get(stream);
    if (shown !== undefined) {
      if (isLess([generation, length], [shown[1], shown[2]])) return true;
      continue;
    }
    const head = heads.get(stream) ?? readMark(tx, kept.place.tenant, stream);
    heads.set(stream, head);
    const [, nowGeneration, nowLength] = await head;
    if (nowGeneration !== generation || nowLength !== length) return true;
  }
  return false;
}

async function readMark(tx: Transaction, tenant: number, stream: StreamKey): Promise<SourceMark> {
  const { generation, length } = await readHead(tx, tenant, stream);
  return [stream, generation, length];
}

type Place = readonly [generation: number, length: number];

function isLess(a: Place, b: Place): boolean {
  return a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]);
}

function writeRow(
  tx: Transaction,
  { kept, row: computed }: RowWork,
  before: StoredRow | undefined,
  moment: WriteMoment,
): ErrorRecord | undefined {
  const { place, isReady } = kept;
  if ("failure" in computed) return writeFailure(tx, kept, { row: computed, before, moment });
  if (before?.error !== undefined) {
    clearRetry(tx, place, { dueMs: before.error.nextTryMs, row: computed.key });
  }
  const { row, encoded } = computed;
  if (row === undefined || encoded === undefined) {
    if (before === undefined) return undefined;
    clearProjectionRow(tx, place, before);
  } else {
    if (before !== undefined && isSame(before, row)) return undefined;
    setProjectionRow(tx, place, before, encoded);
  }
  if (isReady) noteRowChange(tx, place, computed.key, moment.nowMs);
  return undefined;
}

/** Whether writing the row would change nothing. Compares data last, because it is the longest. */
function isSame(before: StoredRow, row: Omit<StoredRow, "bytes">): boolean {
  const { error, position, generation, updatedAt, sources, includes, data } = before;
  return error === undefined && position === row.position && generation === row.generation &&
    updatedAt === row.updatedAt && isSameJson(sources, row.sources) &&
    isSameJson(includes, row.includes) && isSameJson(data, row.data);
}

function isSameJson(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

interface FailureToWrite {
  readonly row: FailedRow;
  readonly before: StoredRow | undefined;
  readonly moment: WriteMoment;
}

/** Keeps what the row shows, adds why it is outdated, and schedules the next try. */
function writeFailure(
  tx: Transaction,
  kept: KeptProjection,
  { row: { key, failure, sources }, before, moment }: FailureToWrite,
): ErrorRecord | undefined {
  const { place } = kept;
  const known = before?.error;
  // A failure that stays the same keeps one error record instead of one per try.
  const isKnown = known !== undefined && known.error_type === errorTypeOfRow(failure);
  const record = isKnown ? undefined : moment.makeRecord(kept, key, failure);
  const error: RowError = makeRowError(known, record, moment);
  const listed = new Map((before?.sources ?? []).map((mark) => [mark[0], mark]));
  // Nothing of these sources is shown, so any change of them counts as news.
  for (const stream of sources) if (!listed.has(stream)) listed.set(stream, [stream, 0, 0]);
  const row = {
    key,
    position: before?.position ?? 0,
    generation: before?.generation ?? 0,
    updatedAt: before?.updatedAt ?? null,
    sources: [...listed.values()].sort(([a], [b]) => a < b ? -1 : 1),
    includes: before?.includes ?? [],
    data: before?.data ?? null,
    error,
  };
  if (known !== undefined) clearRetry(tx, place, { dueMs: known.nextTryMs, row: key });
  setProjectionRow(tx, place, before, encodeRow(row));
  addRetry(tx, place, { dueMs: error.nextTryMs, row: key });
  if (before === undefined && kept.isReady) noteRowChange(tx, place, key, moment.nowMs);
  if (record !== undefined) storeErrorRecord(tx, place.tenant, record);
  return record;
}
