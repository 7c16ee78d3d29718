/**
 * Sagas for tests: compiles definitions, takes inputs in a short form, prints effects as lines.
 */

import assert from "node:assert/strict";
import type { StoredEvent } from "../../src/domain/event.ts";
import { runAtOnce } from "../../src/domain/fairness/pieces.ts";
import type { JsonObject } from "../../src/domain/json.ts";
import type { Emission } from "../../src/domain/reaction/action.ts";
import type { CompiledSaga } from "../../src/domain/saga/definition.ts";
import type {
  PlacedEvent,
  SagaEffect,
  SagaHistoryEntry,
  SagaNews,
  SagaTransition,
} from "../../src/domain/saga/instance.ts";
import { stepSaga } from "../../src/domain/saga/step.ts";
import { createFaultList } from "../../src/domain/spec/fault_list.ts";
import { declaredTypesSteps } from "../../src/domain/spec/implications.ts";
import { compileSagas } from "../../src/domain/spec/sagas/saga.ts";

/** Ids that the stories use. */
export const STORY_SINGLETONS: ReadonlySet<string> = new Set(["global", "stock", "o1", "c1", "p2"]);

const ACTOR = { type: "user", id: "global" };

/** Compiles one saga under the name `story` and declares every type that it names. */
export function compileStory(saga: JsonObject): CompiledSaga {
  const faults = createFaultList();
  const document = { aggregate_types: declareTypes(saga), modules: { sagas: { story: saga } } };
  const declared = runAtOnce(declaredTypesSteps(document));
  const vocabulary = { ...declared, singletons: STORY_SINGLETONS };
  const reports = { origin: "deploy", faults, warnings: createFaultList() } as const;
  const sagas = runAtOnce(compileSagas(document, vocabulary, reports));
  assert.deepEqual(faults.faults, []);
  return sagas.get("story")!;
}

/** `aggregate_types` for every type that `saga` names; handlers and schemas take anything. */
export function declareTypes(saga: JsonObject): JsonObject {
  const types: Record<string, { events: JsonObject }> = {};
  const steps = saga.steps as JsonObject[];
  const places = steps.flatMap((step) => [step.emit, step.compensate, step.await]);
  for (const place of [saga.trigger, ...places] as (JsonObject | undefined)[]) {
    if (place === undefined) continue;
    const { aggregate_type, event_type = [], event_types = [], failure_types = [] } = place;
    types[aggregate_type as string] ??= { events: {} };
    for (const name of [event_type, event_types, failure_types].flat() as string[]) {
      types[aggregate_type as string]!.events[name] = { schema: true, handler: [] };
    }
  }
  return types as unknown as JsonObject;
}

export function placed(
  key: string,
  type: string,
  data: JsonObject = {},
  index = 0,
): PlacedEvent {
  const event: StoredEvent = { key, type, data, metadata: { actor: ACTOR, timestamp: 0 } };
  return { event, streamId: String(index).padStart(12, "0") };
}

export function placedEmission({ key, eventType, data }: Emission): PlacedEvent {
  return placed(key, eventType, data);
}

/** An effect as one line; times are milliseconds since `startMs`. */
export function describeEffect(effect: SagaEffect, startMs: number): string {
  switch (effect.kind) {
    case "emit": {
      const { key, eventType, data } = effect.emission;
      return `${effect.phase} ${effect.step}: ${key} ${eventType} ${JSON.stringify(data)}`;
    }
    case "await":
      return `await ${effect.key} ${effect.eventTypes.join(", ")}`;
    case "clear_waits":
      return `stop awaiting ${effect.key} ${effect.eventTypes.join(", ")}`;
    case "set_timer":
      return `timer at ${effect.dueMs - startMs}`;
    case "clear_timer":
      return `stop timer at ${effect.dueMs - startMs}`;
    case "report":
      return `report ${effect.step}: ${effect.reason}`;
    case "done":
      return `done: ${effect.state}`;
  }
}

/** A line of the history; times are seconds since `startMs`. */
export function describeHistory(entry: SagaHistoryEntry, startMs: number): string {
  const line = `${entry.at - startMs / 1000} ${entry.step} ${entry.outcome}`;
  return entry.reason === undefined ? line : `${line}: ${entry.reason}`;
}

/** One input of a story, and the saga's effects in response. */
export interface StoryLine {
  /** Milliseconds since the start. */
  readonly at: number;
  readonly written?: true;
  readonly postponed?: true;
  readonly unwritten?: string;
  readonly timeout?: true;
  /** `<key> <type>`. */
  readonly event?: string;
  readonly data?: JsonObject;
  readonly effects: readonly string[];
}

/** Feeds the lines of a story to a saga that has begun and checks the effects of each. */
export function tellStory(
  saga: CompiledSaga,
  begun: SagaTransition,
  story: readonly StoryLine[],
  startMs: number,
): SagaTransition {
  let told = begun;
  for (const [index, line] of story.entries()) {
    told = runAtOnce(stepSaga(saga, told.instance, newsOf(line, told.effects, startMs + line.at)));
    const effects = told.effects.map((effect) => describeEffect(effect, startMs));
    assert.deepEqual(effects, line.effects, `line ${index} of the story`);
  }
  return told;
}

function newsOf(line: StoryLine, effects: readonly SagaEffect[], nowMs: number): SagaNews {
  if (line.unwritten !== undefined) return { kind: "unwritten", reason: line.unwritten, nowMs };
  if (line.timeout) return { kind: "timeout", nowMs };
  if (line.postponed) return { kind: "postponed", nowMs };
  if (line.event !== undefined) {
    const [key, type] = line.event.split(" ");
    return { kind: "event", arrived: placed(key!, type!, line.data), nowMs };
  }
  const emit = effects.find((effect) => effect.kind === "emit");
  const written = emit ? placedEmission(emit.emission) : placed("order:o1", "was_placed");
  return { kind: "written", written, nowMs };
}
