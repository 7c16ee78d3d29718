/**
 * One row of a projection, from the states of its sources. Pure: the same states, the same row,
 * byte for byte. What it reads is found step by step: the state of one source may name the next.
 */

import { type Budget, spend } from "../budget.ts";
import type { Evaluation } from "../handler/evaluation.ts";
import { StateTooLarge } from "../handler/handler.ts";
import { putField, spendValue } from "../handler/value.ts";
import { parseIdentifier } from "../identifier.ts";
import type { StoredEvent } from "../event.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { limits } from "../limits.ts";
import type { Refusal } from "../refusal.ts";
import { splitStreamKey, type StreamKey, streamKey } from "../stream_key.ts";
import type { CompiledProjection, CompiledSource } from "./definition.ts";

/** How far a row comes with the states that are known. */
export type RowStep =
  /** All streams of the next step, known or not. */
  | { readonly kind: "wanted"; readonly streams: readonly StreamKey[] }
  /** Its columns. */
  | { readonly kind: "data"; readonly data: JsonObject };

/** What is known of a row so far. */
interface RowDraft {
  readonly projection: CompiledProjection;
  readonly key: string;
  readonly evaluation: Evaluation;
}

/** Null for a stream without events; undefined where the state is not known yet. */
export type StatesOf = (stream: StreamKey) => JsonValue | undefined;

/** Paths of projections begin with sources; none reads an event. */
const NO_EVENT = {} as StoredEvent;

/** Charged for an id of a source, which is read and looked up. */
const ID_UNITS = 64;

/**
 * Computes a row from its beginning with the states that are known: either all columns, or which
 * streams it needs next. @throws {BudgetSpent} where it takes more than the budget has, and
 * `StateTooLarge` where it would show too much.
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
    const streams = new Set(streamsOfStep(draft, step));
    if (index === 0) streams.add(own);
    // Bounded: `limits.rowSourcesMax`.
    for (const stream of streams) {
      if (states(stream) === undefined) return { kind: "wanted", streams: [...streams] };
    }
    bindStep(draft, step, states);
  }
  return { kind: "data", data: selectRow(draft) };
}

/** Why there is no row, in the words of what was thrown. */
export function refuseRow(message: string): Refusal {
  const { rowBytesMax: limit } = limits;
  return { kind: "fold_budget_exceeded", message, bytes: limit, limit };
}

/** Whether an aggregate of the type has a row. */
export function hasRow({ includesSubstreams }: CompiledProjection, id: string): boolean {
  return includesSubstreams || !id.includes(":");
}

/** The rows that are about a stream itself: one at most. */
export function ownRowOf(projection: CompiledProjection, stream: StreamKey): string | undefined {
  const { type, id } = splitStreamKey(stream);
  return type === projection.forEach && hasRow(projection, id) ? id : undefined;
}

/** Whether rows may show something of a stream that is not their own. */
export function mayShow({ steps, includes }: CompiledProjection, stream: StreamKey): boolean {
  const { type } = splitStreamKey(stream);
  return includes.has(stream) ||
    // Bounded: `limits.projectionSourcesMax`.
    steps.some((step) => step.some((source) => "type" in source && source.type === type));
}

/** The streams of one step. Throws `StateTooLarge` where they are too many. */
function streamsOfStep(draft: RowDraft, step: readonly CompiledSource[]): StreamKey[] {
  // Bounded: `limits.projectionSourcesMax` sources, whose ids are charged.
  const streams = step.flatMap((source) => streamsOf(draft, source).filter(isStream));
  if (streams.length <= limits.rowSourcesMax) return streams;
  throw new StateTooLarge(`The row would show more than ${limits.rowSourcesMax} aggregates`);
}

/** Binds what a step has found. */
function bindStep(draft: RowDraft, step: readonly CompiledSource[], states: StatesOf): void {
  const { bindings, budget } = draft.evaluation;
  for (const source of step) {
    // Bounded: ids that `streamsOf` has charged.
    const values = streamsOf(draft, source).map((stream) => stream ? states(stream) ?? null : null);
    spend(budget, values.length);
    bindings[source.slot] = source.kind === "array" ? values : values[0] ?? null;
  }
}

/** The columns; what is missing is null. Throws `StateTooLarge`. */
function selectRow({ projection, evaluation }: RowDraft): JsonObject {
  const data: JsonObject = {};
  for (const { name, read } of projection.columns) {
    const value = read(evaluation) ?? null;
    // Not a copy, but it becomes text.
    spendValue(value, evaluation.budget);
    putField(data, name, value);
  }
  return data;
}

/** In the order of the ids; undefined for what is no identifier. */
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
