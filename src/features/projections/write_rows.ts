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
  decodeRow,
  encodeRow,
  findProjectionRow,
  type FoundRow,
  isStoredAs,
  setProjectionRow,
  type SourceMark,
  type StoredRow,
} from "../../store/projections/projection_rows.ts";
import { addRetry, clearRetry } from "../../store/projections/projection_work.ts";
import { TextMap } from "../../domain/lookup/text_map.ts";

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
  /** Rows for a further transaction: the stored rows before them were many bytes. */
  readonly unwritten: readonly RowWork[];
  /** Error records that the transaction stores. */
  readonly errors: readonly ErrorRecord[];
}

/** Stored rows that are looked for together, so that a networked store answers in one trip. */
const ROWS_FOUND_TOGETHER = 64;
/** Bytes of stored rows that are kept as text at the same time; a larger row is alone. */
const BYTES_KEPT_TOGETHER = 64 * 1024;
/** A transaction ends with the row with which the stored rows reach this many bytes. */
const STORED_BYTES_MAX = 512 * 1024;

/** Writes the first rows, as many as one transaction takes. */
export async function writeRows(
  tx: Transaction,
  works: readonly RowWork[],
  moment: WriteMoment,
  pieces: Pieces,
): Promise<WrittenRows> {
  const errors: ErrorRecord[] = [];
  const moved: RowWork[] = [];
  const checks = { heads: new TextMap<Promise<SourceMark>, StreamKey>(), pieces };
  let bytes = 0;
  let written = 0;
  while (written < works.length && bytes < STORED_BYTES_MAX) {
    const found = await findRows(tx, works.slice(written, written + ROWS_FOUND_TOGETHER), pieces);
    for (let at = 0; at < found.length && bytes < STORED_BYTES_MAX;) {
      const some = firstOf(found, at);
      at += some.length;
      written += some.length;
      for (const row of await Promise.all(some.map((each) => checkRow(tx, each, checks)))) {
        const rest = pieces.rest();
        if (rest !== undefined) await rest;
        bytes += row.before?.bytes ?? 0;
        if (row.isMoved) moved.push(row.work);
        if (row.isMoved || row.isSame) continue;
        const record = writeRow(tx, row.work, row.before, moment);
        if (record !== undefined) errors.push(record);
      }
    }
  }
  return { moved, unwritten: works.slice(written), errors };
}

interface FoundWork {
  readonly work: RowWork;
  readonly found: FoundRow | undefined;
}

async function findRows(
  tx: Transaction,
  works: readonly RowWork[],
  pieces: Pieces,
): Promise<FoundWork[]> {
  return await Promise.all(works.map(async (work) => {
    const rest = pieces.rest();
    if (rest !== undefined) await rest;
    return { work, found: await findProjectionRow(tx, work.kept.place, work.row.key) };
  }));
}

/** The rows from `at` on that may be in memory at the same time; at least one. */
function firstOf(works: readonly FoundWork[], at: number): readonly FoundWork[] {
  let bytes = works[at]!.found?.bytes ?? 0;
  let end = at + 1;
  // Bounded: by ROWS_FOUND_TOGETHER.
  for (; end < works.length; end++) {
    bytes += works[end]!.found?.bytes ?? 0;
    if (bytes > BYTES_KEPT_TOGETHER) break;
  }
  return works.slice(at, end);
}

interface CheckedRow {
  readonly work: RowWork;
  /** Undefined if there is none, or if it need not be parsed. */
  readonly before?: StoredRow;
  readonly isMoved?: boolean;
  /** Whether writing the row would change nothing. */
  readonly isSame?: boolean;
}

interface Checks {
  readonly heads: TextMap<Promise<SourceMark>, StreamKey>;
  readonly pieces: Pieces;
}

async function checkRow(
  tx: Transaction,
  { work, found }: FoundWork,
  { heads, pieces }: Checks,
): Promise<CheckedRow> {
  const value = await found?.whole();
  const { row } = work;
  const encoded = "failure" in row ? undefined : row.encoded;
  if (isStoredAs(encoded, value)) return { work, isSame: true };
  const rest = pieces.rest();
  if (rest !== undefined) await rest;
  const before = value && decodeRow(row.key, value);
  return { work, before, isMoved: await isMoved(tx, work, before, heads) };
}

async function isMoved(
  tx: Transaction,
  { kept, row: computed }: RowWork,
  before: StoredRow | undefined,
  heads: TextMap<Promise<SourceMark>, StreamKey>,
): Promise<boolean> {
  if ("failure" in computed) return false;
  const { row } = computed;
  // Without events there was never a row; only an erased environment gets here.
  if (row === undefined) return false;
  if (before !== undefined) {
    const own = [before.generation, before.position] as const;
    if (isLess([row.generation, row.position], own)) return true;
  }
  const known = new TextMap(
    [...before?.sources ?? [], ...before?.includes ?? []].map((mark) => [mark[0], mark] as const),
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
  const { encoded } = computed;
  if (encoded === undefined) {
    if (before === undefined) return undefined;
    clearProjectionRow(tx, place, before);
  } else {
    setProjectionRow(tx, place, before, encoded);
  }
  if (isReady) noteRowChange(tx, place, computed.key, moment.nowMs);
  return undefined;
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
  const listed = new TextMap((before?.sources ?? []).map((mark) => [mark[0], mark] as const));
  // Nothing of these sources is shown, so any change of them counts as news.
  for (const stream of sources) if (!listed.has(stream)) listed.set(stream, [stream, 0, 0]);
  const row = {
    key,
    position: before?.position ?? 0,
    generation: before?.generation ?? 0,
    updatedAt: before?.updatedAt ?? null,
    sources: [...listed.values()].sort(([a], [b]) => a < b ? -1 : 1),
    includes: before?.includes ?? [],
    dataJson: before?.dataJson ?? "null",
    error,
  };
  if (known !== undefined) clearRetry(tx, place, { dueMs: known.nextTryMs, row: key });
  setProjectionRow(tx, place, before, encodeRow(row));
  addRetry(tx, place, { dueMs: error.nextTryMs, row: key }, error.message);
  if (before === undefined && kept.isReady) noteRowChange(tx, place, key, moment.nowMs);
  if (record !== undefined) storeErrorRecord(tx, place.tenant, record);
  return record;
}
