/**
 * One row of a projection, from the states of its sources. Pure: the same states, the same row,
 * byte for byte. What it reads is found step by step: the state of one source may name the next.
 */

import { spend } from "../budget.ts";
import { newFoldBudget } from "../handler/budget.ts";
import type { Evaluation } from "../handler/evaluation.ts";
import { StateTooLarge } from "../handler/handler.ts";
import { putField } from "../handler/value.ts";
import { parseIdentifier } from "../identifier.ts";
import type { StoredEvent } from "../event.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { limits } from "../limits.ts";
import { splitStreamKey, type StreamKey, streamKey } from "../stream_key.ts";
import type { CompiledProjection, CompiledSource } from "./definition.ts";

/** What is known of a row so far. */
export interface RowDraft {
  readonly projection: CompiledProjection;
  readonly key: string;
  readonly evaluation: Evaluation;
}

/** The states that were asked for; null for a stream without events. */
export type StatesOf = (stream: StreamKey) => JsonValue;

/** Paths of projections begin with sources; none reads an event. */
const NO_EVENT = {} as StoredEvent;

export function beginRow(projection: CompiledProjection, key: string): RowDraft {
  const bindings = [key, key];
  const evaluation = { state: {}, event: NO_EVENT, bindings, budget: newFoldBudget() };
  return { projection, key, evaluation };
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
    steps.some((step) => step.some((source) => "type" in source && source.type === type));
}

/** The streams of one step. Throws `StateTooLarge` where they are too many. */
export function streamsOfStep(draft: RowDraft, step: readonly CompiledSource[]): StreamKey[] {
  const streams = step.flatMap((source) => streamsOf(draft, source).filter(isStream));
  if (streams.length <= limits.rowSourcesMax) return streams;
  throw new StateTooLarge(`The row would show more than ${limits.rowSourcesMax} aggregates`);
}

/** Binds what a step has found. */
export function bindStep(draft: RowDraft, step: readonly CompiledSource[], states: StatesOf): void {
  const { bindings, budget } = draft.evaluation;
  for (const source of step) {
    const values = streamsOf(draft, source).map((stream) => stream ? states(stream) : null);
    spend(budget, values.length);
    bindings[source.slot] = source.kind === "array" ? values : values[0] ?? null;
  }
}

/** The columns; what is missing is null. Throws `StateTooLarge`. */
export function selectRow({ projection, evaluation }: RowDraft): JsonObject {
  const data: JsonObject = {};
  for (const { name, read } of projection.columns) putField(data, name, read(evaluation) ?? null);
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
  return ids.map((id) => {
    const identifier = typeof id === "string" && parseIdentifier(id, projection.singletons);
    return identifier ? streamKey(source.type, identifier.value) : undefined;
  });
}

function isStream(stream: StreamKey | undefined): stream is StreamKey {
  return stream !== undefined;
}
