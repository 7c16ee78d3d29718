/** Properties of the tick language over random valid handlers, states and events. */

import { ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import type { StoredEvent } from "../../../src/domain/event.ts";
import { newFoldBudget } from "../../../src/domain/handler/budget.ts";
import {
  compileHandler,
  compilePredicate,
  compileTemplate,
} from "../../../src/domain/handler/compile_handler.ts";
import { HANDLER_SCOPE } from "../../../src/domain/handler/evaluation.ts";
import { fold } from "../../../src/domain/handler/fold.ts";
import type { Handler } from "../../../src/domain/handler/handler.ts";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import { event, handlerDefinition, json, state } from "./random_handler.ts";

const story = fc.record({
  handlers: fc.record({ first: handlerDefinition, second: handlerDefinition }),
  state,
  events: fc.array(event, { minLength: 1, maxLength: 6 }),
});

function compiled(definitions: { first: JsonValue; second: JsonValue }): Map<string, Handler> {
  const handlers = new Map<string, Handler>();
  for (const [type, definition] of Object.entries(definitions)) {
    const result = compileHandler(definition, "handler");
    ok(result.ok, JSON.stringify(result));
    handlers.set(type, result.handler);
  }
  return handlers;
}

function foldText(handlers: Map<string, Handler>, text: string, events: StoredEvent[]): string {
  const outcome = fold(handlers, JSON.parse(text) as JsonObject, events, newFoldBudget());
  ok(outcome.ok, JSON.stringify(outcome));
  return JSON.stringify(outcome.value);
}

/** Text that distinguishes -0, NaN and Infinity, which JSON text does not. */
function exactText(value: unknown): string {
  return JSON.stringify(value, (_name, each) => {
    return typeof each === "number" && (Object.is(each, -0) || !Number.isFinite(each))
      ? `number ${Object.is(each, -0) ? "-0" : each}`
      : each;
  });
}

function freeze(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  Object.freeze(value);
  for (const each of Object.values(value)) freeze(each);
}

Deno.test("fold() in one go gives what any split with the state as JSON text gives", () => {
  fc.assert(
    fc.property(story, ({ handlers, state, events }) => {
      const run = compiled(handlers);
      const start = JSON.stringify(state);
      const whole = foldText(run, start, events);
      for (let cut = 0; cut <= events.length; cut++) {
        const before = foldText(run, start, events.slice(0, cut));
        strictEqual(foldText(run, before, events.slice(cut)), whole);
      }
      const single = events.reduce((text, each) => foldText(run, text, [each]), start);
      strictEqual(single, whole);
    }),
    { numRuns: 1_500 },
  );
});

Deno.test("fold() never throws, leaves frozen events alone and shares nothing with them", () => {
  fc.assert(
    fc.property(story, ({ handlers, state, events }) => {
      const before = exactText(events);
      freeze(events);
      const outcome = fold(compiled(handlers), state, events, newFoldBudget());
      ok(outcome.ok);
      // A frozen part of the state is shared with an event; a part seen twice is shared within
      // the state.
      checkOwned(outcome.value, new Set());
      strictEqual(exactText(events), before);
    }),
    { numRuns: 1_500 },
  );
});

function checkOwned(value: JsonValue, seen: Set<JsonValue>): void {
  if (typeof value === "number") ok(Number.isFinite(value) && !Object.is(value, -0), `${value}`);
  ok(value !== undefined);
  if (typeof value !== "object" || value === null) return;
  ok(!Object.isFrozen(value), "shared with an event");
  ok(!seen.has(value), "shared with another place");
  seen.add(value);
  for (const each of Object.values(value)) checkOwned(each, seen);
}

Deno.test("fold() leaves the prototypes of the language as they are", () => {
  function prototypes(): string {
    const owners = [Object.prototype, Array.prototype, Function.prototype, Object];
    return JSON.stringify(owners.map((owner) => Object.getOwnPropertyNames(owner)));
  }
  const before = prototypes();
  fc.assert(
    fc.property(story, ({ handlers, state, events }) => {
      fold(compiled(handlers), state, events, newFoldBudget());
      strictEqual(prototypes(), before);
      strictEqual(({} as Record<string, unknown>)["a"], undefined);
    }),
    { numRuns: 500 },
  );
});

Deno.test("fold() gives the same handler the same result twice: handlers keep nothing", () => {
  fc.assert(
    fc.property(story, ({ handlers, state, events }) => {
      const run = compiled(handlers);
      const start = JSON.stringify(state);
      const first = foldText(run, start, events);
      strictEqual(foldText(run, start, events), first);
      strictEqual(foldText(compiled(handlers), start, events), first);
    }),
    { numRuns: 300 },
  );
});

Deno.test("compileHandler() does not look at the definition again, nor change it", () => {
  fc.assert(
    fc.property(story, ({ handlers, state, events }) => {
      const before = JSON.stringify(handlers);
      const start = JSON.stringify(state);
      const mine = JSON.parse(before);
      const run = compiled(mine);
      const first = foldText(run, start, events);
      strictEqual(JSON.stringify(mine), before);
      for (const list of Object.values(mine) as JsonValue[][]) list.length = 0;
      strictEqual(foldText(run, start, events), first);
    }),
    { numRuns: 300 },
  );
});

Deno.test("compileHandler() and its siblings never throw, whatever they get", () => {
  const definition = fc.oneof(json, fc.jsonValue() as fc.Arbitrary<JsonValue>, mutilated());
  fc.assert(
    fc.property(definition, (each) => {
      for (const compile of [compilePredicate, compileTemplate]) compile(each, "p", HANDLER_SCOPE);
      const result = compileHandler(each, "handler");
      if (result.ok) return;
      ok(result.violations.length > 0);
      for (const violation of result.violations) ok(violation.path.startsWith("handler"));
    }),
    { numRuns: 3_000 },
  );
});

/** Valid handlers with one text of the definition replaced, so that faults are deep inside. */
function mutilated(): fc.Arbitrary<JsonValue> {
  const parts = fc.tuple(handlerDefinition, fc.nat(), fc.string({ maxLength: 6 }));
  return parts.map(([definition, place, text]) => {
    const words = JSON.stringify(definition).split(/("(?:[^"\\]|\\.)*")/);
    const chosen = Math.floor(place % Math.max(1, words.length) / 2) * 2 + 1;
    if (chosen < words.length) words[chosen] = JSON.stringify(text);
    return JSON.parse(words.join("")) as JsonValue;
  });
}
