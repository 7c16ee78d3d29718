/**
 * Computes rows of projections from the states of their sources.
 *
 * The rows of one batch share states: each is read once, unless it is too large to keep. No state
 * is older than the batch.
 */

import { assert } from "../../domain/assert.ts";
import { BudgetSpent, type Clock, newPieceBudget } from "../../domain/budget.ts";
import type { Pieces } from "../../domain/fairness/pieces.ts";
import { StateTooLarge } from "../../domain/handler/handler.ts";
import { limits } from "../../domain/limits.ts";
import type { JsonValue } from "../../domain/json.ts";
import { parseJsonInTime } from "../../domain/parse_json_steps.ts";
import { advanceRow, refuseRow } from "../../domain/projection/row.ts";
import type { CompiledProjection } from "../../domain/projection/definition.ts";
import { accept, type Outcome, type Refusal } from "../../domain/refusal.ts";
import type { CompiledAggregateType, CompiledSpec } from "../../domain/spec/compiled.ts";
import { splitStreamKey, type StreamKey, streamKey } from "../../domain/identifier.ts";
import type { ReadTransaction } from "../../kv/engine.ts";
import { readHead } from "../../store/streams/streams.ts";
import type { StreamHead } from "../../store/streams/stream_head.ts";
import {
  type EncodedRow,
  encodeRow,
  type SourceMark,
  type StoredRow,
} from "../../store/projections/projection_rows.ts";
import type { AggregateReader } from "../states/read_aggregate.ts";
import type { ComputeRunner, RowTextStep } from "../states/run_compute.ts";
import { TextMap, type Texts, TextSet } from "../../domain/lookup/text_map.ts";

/**
 * A row computed from its sources; only `encoded` has its data, which take many times as much as
 * objects. Without `row`, its aggregate has no events.
 */
export interface ComputedRow {
  readonly key: string;
  readonly row?: Omit<StoredRow, "bytes" | "dataJson">;
  readonly encoded?: EncodedRow;
}

/** Why a row could not be computed, and the sources found until then. */
export interface FailedRow {
  readonly key: string;
  readonly failure: Refusal;
  readonly sources: readonly StreamKey[];
}

export type RowOutcome = ComputedRow | FailedRow;

export interface RowBatch {
  compute(projection: CompiledProjection, key: string): Promise<RowOutcome>;
}

/** Rows that are computed within one store transaction. */
export interface SmallRowBatch {
  /** Undefined if a state would take long; the row then needs a {@link RowBatch}. */
  compute(projection: CompiledProjection, key: string): Promise<RowOutcome | undefined>;
  /** Whether its states take so much memory that further rows belong in another batch. */
  isFull(): boolean;
}

export interface RowBatchOptions {
  readonly tenant: number;
  readonly spec: CompiledSpec;
  /** Whether to fold from the events alone, without cached states. */
  readonly synchronous: boolean;
  /** A row with many sources takes milliseconds. */
  readonly pieces: Pieces;
  readonly host: Clock;
}

interface SourceState {
  readonly head: StreamHead;
  /** The state, if it was small enough to be read here; null without events. */
  readonly state?: JsonValue;
  /** The state as JSON text, if it was read as text. */
  readonly text?: string;
}

/** The total size of the states of a row that is computed in this process. */
const ROW_CHARACTERS_HERE_MAX = 256 * 1024;
/** Small sources of a row that are read together; a networked store answers in one round trip. */
const SMALL_SOURCES_TOGETHER = 16;
/** The same for sources whose states may have tens of megabytes, all of which are then held. */
const SOURCES_TOGETHER = 8;
/** Stored bytes of a stream from which on reading its small state takes a part of a slice. */
const LONG_BYTES_MIN = 4 * 1024;
/** A batch of small rows ends with this many characters of parsed states, and is never beyond. */
const SMALL_BATCH_CHARACTERS = 8 * 1024 * 1024;
const SMALL_BATCH_CHARACTERS_MAX = 12 * 1024 * 1024;
/** The size up to which a state is shared by the rows of a batch. */
const SHARED_CHARACTERS_MAX = 64 * 1024;
/** States read after this many characters are not shared. */
const SHARED_CHARACTERS_MAX_OF_BATCH = 16 * 1024 * 1024;

/** For rows that are computed together. */
export function openRowBatch(
  reader: AggregateReader,
  options: RowBatchOptions,
): RowBatch {
  const { tenant, spec, synchronous, pieces, host } = options;
  let shared = 0;
  const reads = once(async (stream): Promise<() => Outcome<SourceState>> => {
    const type = typeOf(spec, stream);
    const bytesMax = limits.foldBytesMax;
    const folded = await reader.readFolded(tenant, stream, type, { synchronous, bytesMax });
    if (!folded.ok) return () => folded;
    const { head, stateJson } = folded.value;
    if (head.length === 0) return () => accept({ head, state: null });
    shared += stateJson.length;
    const isLarge = stateJson.length > SHARED_CHARACTERS_MAX;
    if (isLarge || shared > SHARED_CHARACTERS_MAX_OF_BATCH) reads.forget(stream);
    return () => accept({ head, text: stateJson });
  });
  return {
    async compute(projection, key) {
      const advance: Advance = async (found) =>
        advanceHere(host, projection, key, found) ??
          await advanceElsewhere(reader.compute, { tenant, projection, key, found });
      const asked = { projection, key, pieces, together: SOURCES_TOGETHER };
      const row = await computeRow(asked, reads.read, advance);
      assert(row !== undefined, "a state that may take its time is read");
      return row;
    },
  };
}

export interface SmallRowBatchOptions extends Omit<RowBatchOptions, "synchronous"> {
  /** Whether states of the rows' own streams are cached; false if each is read only once. */
  readonly remembersOwn: boolean;
}

/** For rows computed from the states at one moment, the one of `tx`. */
export function openSmallRowBatch(
  reader: AggregateReader,
  tx: ReadTransaction,
  { tenant, spec, remembersOwn, pieces, host }: SmallRowBatchOptions,
): SmallRowBatch {
  let characters = 0;
  const reads = once(async (stream, isOwn) => {
    const head = await readHead(tx, tenant, stream);
    if (head.length === 0) return () => accept<SourceState>({ head, state: null });
    const rest = head.bytes < LONG_BYTES_MIN ? undefined : pieces.rest();
    if (rest !== undefined) await rest;
    const request = { stream, type: typeOf(spec, stream), remembers: remembersOwn || !isOwn };
    const fold = await reader.readSmallAt(tx, tenant, request, { head });
    return makeOnce((): Outcome<SourceState> | undefined => {
      const made = characters > SMALL_BATCH_CHARACTERS_MAX ? undefined : fold?.();
      if (made === undefined) return undefined;
      characters += made.characters;
      return accept({ head, state: made.state });
    });
  });
  return {
    compute(projection, key) {
      const advance: Advance = (found) => advanceHere(host, projection, key, found);
      const asked = { projection, key, pieces, together: SMALL_SOURCES_TOGETHER };
      return computeRow(asked, reads.read, advance);
    },
    isFull: () => characters > SMALL_BATCH_CHARACTERS,
  };
}

/** Calls `make` the first time, and returns the same from then on. */
function makeOnce<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/**
 * Reads what a state is made from; the result makes it, which takes up to a slice. `isOwn`: whether
 * the stream is the row's own.
 */
type ReadSource<T> = (stream: StreamKey, isOwn: boolean) => Promise<() => T>;

/** Reads each stream once. */
function once<T>(readNow: ReadSource<T>) {
  const reads = new TextMap<ReturnType<ReadSource<T>>, StreamKey>();
  const read: ReadSource<T> = (stream, isOwn) => {
    const known = reads.get(stream);
    if (known !== undefined) return known;
    const started = readNow(stream, isOwn);
    reads.set(stream, started);
    return started;
  };
  return { read, forget: (stream: StreamKey) => void reads.delete(stream) };
}

type Found = ReadonlyMap<StreamKey, SourceState>;

/** The next step of a row; undefined if it exceeds what may be done here. */
type Advance = (found: Found) => Awaitable<Outcome<RowTextStep> | undefined>;
type Awaitable<T> = T | Promise<T>;

function advanceHere(
  clock: Clock,
  projection: CompiledProjection,
  key: string,
  found: Found,
): Outcome<RowTextStep> | undefined {
  if (charactersOf(found) > ROW_CHARACTERS_HERE_MAX) return undefined;
  const states = new TextMap<JsonValue, StreamKey>();
  const budget = newPieceBudget(clock);
  for (const [stream, { state, text }] of found) {
    const known = text === undefined ? state ?? null : parseJsonInTime(text, budget.time.isLate);
    if (known === undefined) return undefined;
    states.set(stream, known);
  }
  try {
    const step = advanceRow(projection, key, (stream) => states.get(stream), budget);
    if (step.kind === "wanted") return accept(step);
    return accept({ kind: "data", dataJson: JSON.stringify(step.data) });
  } catch (error) {
    if (error instanceof StateTooLarge) return { ok: false, refusal: refuseRow(error.message) };
    if (error instanceof BudgetSpent) return undefined;
    throw error;
  }
}

interface RowToAdvance {
  readonly tenant: number;
  readonly projection: CompiledProjection;
  readonly key: string;
  readonly found: Found;
}

async function advanceElsewhere(
  compute: ComputeRunner,
  { tenant, projection, key, found }: RowToAdvance,
): Promise<Outcome<RowTextStep>> {
  const states = new TextMap<string | null, StreamKey>();
  for (const [stream, { head, text }] of found) {
    states.set(stream, head.length === 0 ? null : text!);
  }
  return await compute.advanceRow(tenant, { projection, key, states });
}

function charactersOf(found: Found): number {
  let characters = 0;
  for (const { text } of found.values()) characters += text?.length ?? 0;
  return characters;
}

function typeOf({ aggregateTypes }: CompiledSpec, stream: StreamKey): CompiledAggregateType {
  return aggregateTypes.get(splitStreamKey(stream).type)!;
}

interface RowToCompute {
  readonly projection: CompiledProjection;
  readonly key: string;
  readonly pieces: Pieces;
  /** Sources that are read together. */
  readonly together: number;
}

/** Undefined if a needed state was not read, or if computing the row exceeds a slice. */
async function computeRow(
  { projection, key, pieces, together }: RowToCompute,
  read: ReadSource<Outcome<SourceState> | undefined>,
  advance: Advance,
): Promise<RowOutcome | undefined> {
  const own = streamKey(projection.forEach, key);
  const found = new TextMap<SourceState, StreamKey>();
  const asked = new TextSet<StreamKey>();
  const { rowSourcesBytesMax: limit } = limits;
  let characters = 0;
  for (;;) {
    const rest = pieces.rest();
    if (rest !== undefined) await rest;
    const step = await advance(found);
    if (step === undefined) return undefined;
    if (!step.ok) return fail({ key, own, asked, projection }, step.refusal);
    if (step.value.kind === "data") return finish(projection, key, found, step.value.dataJson);
    const missing = step.value.streams.filter((stream) => !found.has(stream));
    for (const stream of missing) asked.add(stream);
    for (let from = 0; from < missing.length; from += together) {
      const rest = pieces.rest();
      if (rest !== undefined) await rest;
      const some = missing.slice(from, from + together);
      const made = await Promise.all(some.map((stream) => read(stream, stream === own)));
      for (const [at, make] of made.entries()) {
        const rest = pieces.rest();
        if (rest !== undefined) await rest;
        const outcome = make();
        if (outcome === undefined) return undefined;
        if (!outcome.ok) return fail({ key, own, asked, projection }, outcome.refusal);
        found.set(some[at]!, outcome.value);
        characters += outcome.value.text?.length ?? 0;
      }
      if (characters > limit) {
        const message = `The row would read states of more than ${limit} characters`;
        return fail({ key, own, asked, projection }, refuseRow(message));
      }
    }
  }
}

function finish(
  projection: CompiledProjection,
  key: string,
  found: ReadonlyMap<StreamKey, SourceState>,
  dataJson: string,
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
  const row = { key, position, generation, updatedAt, sources, includes };
  const encoded = encodeRow({ ...row, dataJson });
  if (encoded.value.length <= limits.rowBytesMax) return { key, row, encoded };
  const message = `The row has ${encoded.value.length} bytes, more than the ` +
    `${limits.rowBytesMax} that a row may have`;
  return { key, failure: refuseRow(message), sources: sources.map(([stream]) => stream) };
}

interface AskedRow {
  readonly key: string;
  readonly own: StreamKey;
  readonly asked: Texts<StreamKey>;
  readonly projection: CompiledProjection;
}

function fail(
  { key, own, asked, projection: { includes } }: AskedRow,
  failure: Refusal,
): FailedRow {
  const sources = [...asked].filter((stream) => stream !== own && !includes.has(stream)).sort();
  return { key, failure, sources };
}

function markOf([stream, { head }]: readonly [StreamKey, SourceState]): SourceMark {
  return [stream, head.generation, head.length];
}

/** The newest time of the sources; sources without events have none. */
function newest(found: Iterable<SourceState>): number | null {
  let time: number | null = null;
  for (const { head: { length, updatedAt } } of found) {
    if (length > 0 && updatedAt > (time ?? -1)) time = updatedAt;
  }
  return time;
}
