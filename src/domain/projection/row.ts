/**
 * Computes one row of a projection from the states of its sources.
 *
 * The computation is pure: the same states give the same row, byte for byte. It finds its
 * sources step by step, because the state of one source may name the next.
 */

import { type Budget, spend } from "../budget.ts";
import type { Evaluation } from "../handler/evaluation.ts";
import { StateTooLarge } from "../handler/handler.ts";
import { putField, spendValue } from "../handler/value.ts";
import { parseIdentifier, splitStreamKey, type StreamKey, streamKey } from "../identifier.ts";
import type { StoredEvent } from "../event.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { limits } from "../limits.ts";
import type { Refusal } from "../refusal.ts";
import type { CompiledProjection, CompiledSource } from "./definition.ts";
import { TextSet } from "../lookup/text_map.ts";

/** How far a row can be computed with the states known so far. */
export type RowStep =
  /** Not complete: all streams of the next step, whether or not their states are known. */
  | { readonly kind: "wanted"; readonly streams: readonly StreamKey[] }
  /** Complete: the columns. */
  | { readonly kind: "data"; readonly data: JsonObject };

/** A row under construction. */
interface RowDraft {
  readonly projection: CompiledProjection;
  readonly key: string;
  readonly evaluation: Evaluation;
}

/** The state of a stream: null if the stream has no events, undefined if it is not known yet. */
export type StatesOf = (stream: StreamKey) => JsonValue | undefined;

/** Paths of projections begin with sources; none of them reads an event. */
const NO_EVENT = {} as StoredEvent;

/** Charged for each id of a source, which is read and looked up. */
const ID_UNITS = 64;

/**
 * Computes a row from the beginning with the states known so far. Returns either all columns or
 * the streams whose states are needed next.
 *
 * @throws {BudgetSpent} when the budget does not suffice.
 * @throws {StateTooLarge} when the row would show too much.
 */
export function advanceRow(
  projection: CompiledProjection,
  key: string,
  states: StatesOf,
  budget: Budget,
): RowStep {
  const evaluation = { state: {}, event: NO_EVENT, bindings: [key, key], budget };
  const draft: RowDraft = { projection, key, evaluation };
  const own = streamKey(projection.forEach, key);
  // Bounded: `limits.projectionSourcesMax`.
  for (const [index, step] of projection.steps.entries()) {
    const streams = new TextSet(streamsOfStep(draft, step));
    if (index === 0) streams.add(own);
    // Bounded: `limits.rowSourcesMax`.
    for (const stream of streams) {
      if (states(stream) === undefined) return { kind: "wanted", streams: [...streams] };
    }
    bindStep(draft, step, states);
  }
  return { kind: "data", data: selectRow(draft) };
}

/** The refusal for a row that could not be computed; `message` is that of the error thrown. */
export function refuseRow(message: string): Refusal {
  const { rowBytesMax: limit } = limits;
  return { kind: "fold_budget_exceeded", message, bytes: limit, limit };
}

/** Whether an aggregate of the type `forEach` with this id has a row. */
export function hasRow({ includesSubstreams }: CompiledProjection, id: string): boolean {
  return includesSubstreams || !id.includes(":");
}

/** The key of the row that is about this stream itself, if there is one. */
export function ownRowOf(projection: CompiledProjection, stream: StreamKey): string | undefined {
  const { type, id } = splitStreamKey(stream);
  return type === projection.forEach && hasRow(projection, id) ? id : undefined;
}

/** Whether rows about other streams may show something of this stream. */
export function mayShow({ steps, includes }: CompiledProjection, stream: StreamKey): boolean {
  const { type } = splitStreamKey(stream);
  return includes.has(stream) ||
    // Bounded: `limits.projectionSourcesMax`.
    steps.some((step) => step.some((source) => "type" in source && source.type === type));
}

/** The streams of one step. Throws `StateTooLarge` if there are too many. */
function streamsOfStep(draft: RowDraft, step: readonly CompiledSource[]): StreamKey[] {
  // Bounded: `limits.projectionSourcesMax` sources, whose ids are charged.
  const streams = step.flatMap((source) => streamsOf(draft, source).filter(isStream));
  if (streams.length <= limits.rowSourcesMax) return streams;
  throw new StateTooLarge(`The row would show more than ${limits.rowSourcesMax} aggregates`);
}

/** Binds the states that one step has found. */
function bindStep(draft: RowDraft, step: readonly CompiledSource[], states: StatesOf): void {
  const { bindings, budget } = draft.evaluation;
  for (const source of step) {
    // Bounded: ids that `streamsOf` has charged.
    const values = streamsOf(draft, source).map((stream) => stream ? states(stream) ?? null : null);
    spend(budget, values.length);
    bindings[source.slot] = source.kind === "array" ? values : values[0] ?? null;
  }
}

/** The columns; a missing value becomes null. Throws `BudgetSpent` or `StateTooLarge`. */
function selectRow({ projection, evaluation }: RowDraft): JsonObject {
  const data: JsonObject = {};
  for (const { name, read } of projection.columns) {
    const value = read(evaluation) ?? null;
    // The value is not copied, but it is going to be encoded as text.
    spendValue(value, evaluation.budget);
    putField(data, name, value);
  }
  return data;
}

/** One stream for each id, in order; undefined for a value that is not a valid identifier. */
function streamsOf(
  { projection, key, evaluation }: RowDraft,
  source: CompiledSource,
): (StreamKey | undefined)[] {
  if (source.kind === "key") return [streamKey(projection.forEach, key)];
  if (source.kind === "include") return [source.stream];
  const found = source.readIds(evaluation);
  const ids = source.kind === "one" ? [found] : Array.isArray(found) ? found : [];
  spend(evaluation.budget, ID_UNITS * ids.length);
  // Bounded: charged on the line above.
  return ids.map((id) => {
    const identifier = typeof id === "string" && parseIdentifier(id, projection.singletons);
    return identifier ? streamKey(source.type, identifier.value) : undefined;
  });
}

function isStream(stream: StreamKey | undefined): stream is StreamKey {
  return stream !== undefined;
}
