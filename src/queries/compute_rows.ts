/**
 * Computes rows of projections from the states of their sources. Rows of one batch read each state
 * once, from one moment on: no state is older than the batch.
 */

import { BudgetSpent } from "../domain/budget.ts";
import { assert } from "../domain/assert.ts";
import { limits } from "../domain/limits.ts";
import type { JsonObject, JsonValue } from "../domain/json.ts";
import { beginRow, bindStep, selectRow, streamsOfStep } from "../domain/projection/row.ts";
import type { CompiledProjection } from "../domain/projection/definition.ts";
import { accept, type Outcome, type Refusal, refuse } from "../domain/refusal.ts";
import type { CompiledAggregateType, CompiledSpec } from "../domain/spec/compiled.ts";
import { splitStreamKey, type StreamKey, streamKey } from "../domain/stream_key.ts";
import type { ReadTransaction } from "../kv/engine.ts";
import type { StreamHead } from "../store/stream_head.ts";
import type { EncodedRow, SourceMark, StoredRow } from "../store/view_rows.ts";
import { encodeRow } from "../store/view_rows.ts";
import type { AggregateReader } from "./read_aggregate.ts";

/** A row as its sources say it is; without `row`, its aggregate has no events. */
export interface ComputedRow {
  readonly key: string;
  readonly row?: Omit<StoredRow, "bytes">;
  readonly encoded?: EncodedRow;
}

/** Why a row could not be computed, and what had been found until then. */
export interface FailedRow {
  readonly key: string;
  readonly failure: Refusal;
  readonly sources: readonly StreamKey[];
}

export type RowOutcome = ComputedRow | FailedRow;

export interface RowBatch {
  compute(projection: CompiledProjection, key: string): Promise<RowOutcome>;
}

/** Rows that are computed within one read. */
export interface SmallRowBatch {
  /** Undefined where a state would take long: then the row is for a {@link RowBatch}. */
  compute(projection: CompiledProjection, key: string): Promise<RowOutcome | undefined>;
}

export interface RowBatchOptions {
  readonly tenant: number;
  readonly spec: CompiledSpec;
  /** From the events alone, without what is remembered. */
  readonly synchronous: boolean;
}

interface SourceState {
  readonly head: StreamHead;
  readonly state: JsonValue;
}

/** For rows that are computed together. */
export function openRowBatch(reader: AggregateReader, options: RowBatchOptions): RowBatch {
  const { tenant, spec, synchronous } = options;
  const read = once(async (stream): Promise<Outcome<SourceState>> => {
    const type = typeOf(spec, stream);
    const bytesMax = limits.foldBytesMax;
    const folded = await reader.readFolded(tenant, stream, type, { synchronous, bytesMax });
    if (!folded.ok) return folded;
    const { head, stateJson } = folded.value;
    const state = head.length === 0 ? null : JSON.parse(stateJson) as JsonObject;
    return accept({ head, state });
  });
  return {
    async compute(projection, key) {
      const row = await computeRow(projection, key, read);
      assert(row !== undefined, "a state that may take its time is read");
      return row;
    },
  };
}

export interface SmallRowBatchOptions extends Omit<RowBatchOptions, "synchronous"> {
  /** Whether states of the rows' own streams are kept in memory: not where each is read once. */
  readonly remembersOwn: boolean;
}

/** For rows that are computed from the states of one moment: that of `tx`. */
export function openSmallRowBatch(
  reader: AggregateReader,
  tx: ReadTransaction,
  { tenant, spec, remembersOwn }: SmallRowBatchOptions,
): SmallRowBatch {
  const read = once(async (stream, isOwn): Promise<Outcome<SourceState> | undefined> => {
    const options = { remembers: remembersOwn || !isOwn };
    const found = await reader.readSmall(tx, tenant, stream, typeOf(spec, stream), options);
    return found && accept(found);
  });
  return { compute: (projection, key) => computeRow(projection, key, read) };
}

/** `isOwn`: whether it is the stream of the row itself. */
type ReadSource<T> = (stream: StreamKey, isOwn: boolean) => Promise<T>;

/** Reads each stream once. */
function once<T>(readNow: ReadSource<T>): ReadSource<T> {
  const reads = new Map<StreamKey, Promise<T>>();
  return (stream, isOwn) => {
    const known = reads.get(stream);
    if (known !== undefined) return known;
    const started = readNow(stream, isOwn);
    reads.set(stream, started);
    return started;
  };
}

function typeOf({ aggregateTypes }: CompiledSpec, stream: StreamKey): CompiledAggregateType {
  return aggregateTypes.get(splitStreamKey(stream).type)!;
}

/** Undefined where a state that it takes was not read. */
async function computeRow(
  projection: CompiledProjection,
  key: string,
  read: ReadSource<Outcome<SourceState> | undefined>,
): Promise<RowOutcome | undefined> {
  const own = streamKey(projection.forEach, key);
  const draft = beginRow(projection, key);
  const found = new Map<StreamKey, SourceState>();
  const asked = new Set<StreamKey>();
  try {
    for (const [index, step] of projection.steps.entries()) {
      const streams = new Set(streamsOfStep(draft, step));
      if (index === 0) streams.add(own);
      const missing = [...streams].filter((stream) => !found.has(stream));
      for (const stream of missing) asked.add(stream);
      const outcomes = await Promise.all(missing.map((stream) => read(stream, stream === own)));
      for (const [at, outcome] of outcomes.entries()) {
        if (outcome === undefined) return undefined;
        if (!outcome.ok) return fail(key, own, asked, projection, outcome.refusal);
        found.set(missing[at]!, outcome.value);
      }
      bindStep(draft, step, (stream) => found.get(stream)?.state ?? null);
    }
    return finish(projection, key, found, selectRow(draft));
  } catch (error) {
    if (!(error instanceof BudgetSpent)) throw error;
    return fail(key, own, asked, projection, tooLarge(error.message));
  }
}

function finish(
  projection: CompiledProjection,
  key: string,
  found: ReadonlyMap<StreamKey, SourceState>,
  data: JsonObject,
): RowOutcome {
  const ownKey = streamKey(projection.forEach, key);
  const { head } = found.get(ownKey)!;
  if (head.length === 0) return { key };
  const { length: position, generation } = head;
  const marks = [...found].filter(([stream]) => stream !== ownKey).map(markOf)
    .sort(([a], [b]) => a < b ? -1 : 1);
  const isIncluded = ([stream]: SourceMark) => projection.includes.has(stream);
  const includes = marks.filter(isIncluded);
  const sources = marks.filter((mark) => !isIncluded(mark));
  const updatedAt = newest(found.values());
  const row = { key, position, generation, updatedAt, sources, includes, data };
  const encoded = encodeRow(row);
  if (encoded.value.length <= limits.rowBytesMax) return { key, row, encoded };
  const message = `The row has ${encoded.value.length} bytes, more than the ` +
    `${limits.rowBytesMax} that a row may have`;
  return { key, failure: tooLarge(message), sources: sources.map(([stream]) => stream) };
}

function fail(
  key: string,
  own: StreamKey,
  asked: ReadonlySet<StreamKey>,
  { includes }: CompiledProjection,
  failure: Refusal,
): FailedRow {
  const sources = [...asked].filter((stream) => stream !== own && !includes.has(stream)).sort();
  return { key, failure, sources };
}

function markOf([stream, { head }]: readonly [StreamKey, SourceState]): SourceMark {
  return [stream, head.generation, head.length];
}

/** Sources without events have no time. */
function newest(found: Iterable<SourceState>): number | null {
  let time: number | null = null;
  for (const { head: { length, updatedAt } } of found) {
    if (length > 0 && updatedAt > (time ?? -1)) time = updatedAt;
  }
  return time;
}

function tooLarge(message: string): Refusal {
  const { rowBytesMax: limit } = limits;
  return refuse({ kind: "fold_budget_exceeded", message, bytes: limit, limit }).refusal;
}
