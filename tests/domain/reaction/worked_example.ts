/** What examples of implications are compiled with, and how they write down the actions. */

import type { StoredEvent } from "../../../src/domain/event.ts";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import type { Action, Emission } from "../../../src/domain/reaction/action.ts";
import {
  compileReactions,
  type ReactionCompilation,
  type ReactionTerms,
} from "../../../src/domain/reaction/compile_reactions.ts";

const declared = new Map([
  ["order", new Set(["was_placed", "was_paid", "was_cancelled", "was_reminded"])],
  ["stock", new Set(["was_reserved", "was_released"])],
  ["customer", new Set(["was_credited"])],
]);

/** The spec of the examples: a shop whose implications belong to `order`. */
export const TERMS: ReactionTerms = {
  triggerType: "order",
  declared,
  declaredEvents: new Set([...declared.values()].flatMap((names) => [...names])),
  singletons: new Set(["global", "main"]),
};

export function compileExample(implications: JsonValue): ReactionCompilation {
  return compileReactions(implications, "implications", TERMS);
}

/** Fills in what an example leaves out of its event. */
export function completeEvent(event: Partial<StoredEvent>): StoredEvent {
  return {
    key: "order:7KD2M9QXA",
    type: "was_placed",
    data: {},
    metadata: { actor: { type: "user", id: "global" }, timestamp: 1_700_000_000 },
    ...event,
  };
}

/** Actions in the notation of the examples. */
export function showActions(actions: readonly Action[]): JsonValue[] {
  return actions.map((action): JsonObject => {
    if (action.kind === "emit") return { emit: showEmission(action.emission) };
    const { delayMs, emission, cancelOn } = action;
    const rules = cancelOn.map(({ key, eventType }) => ({ key, event_type: eventType }));
    const waits: JsonObject = rules.length === 0 ? {} : { cancel_on: rules };
    return { schedule: { delay_ms: delayMs, emit: showEmission(emission), ...waits } };
  });
}

function showEmission({ key, eventType, data }: Emission): JsonObject {
  return { key, event_type: eventType, data };
}
