/** Copy on write: with owned containers a fold gives the same state and leaves the old one. */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import type { StoredEvent } from "../../../src/domain/event.ts";
import { newFoldBudget } from "../../../src/domain/handler/budget.ts";
import { compileHandler } from "../../../src/domain/handler/compile_handler.ts";
import { fold } from "../../../src/domain/handler/fold.ts";
import type { Handler } from "../../../src/domain/handler/handler.ts";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import { event, handlerDefinition, state } from "./random_handler.ts";

function compiled(definitions: Record<string, JsonValue>): Map<string, Handler> {
  return new Map(
    Object.entries(definitions).map(([type, definition]) => {
      const result = compileHandler(definition, "handler");
      ok(result.ok, JSON.stringify(result));
      return [type, result.handler];
    }),
  );
}

/** Whatever changes a frozen object throws. */
function freeze<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null) return value;
  for (const each of Object.values(value)) freeze(each);
  return Object.freeze(value);
}

function folded(
  handlers: ReadonlyMap<string, Handler>,
  start: JsonObject,
  events: readonly StoredEvent[],
): JsonObject {
  const outcome = fold(handlers, start, events, newFoldBudget());
  ok(outcome.ok, JSON.stringify(outcome));
  return outcome.value;
}

/** The handlers, which change only containers that they have copied. */
function copying(handlers: ReadonlyMap<string, Handler>): Map<string, Handler> {
  const owned = new WeakSet();
  return new Map(
    [...handlers].map((
      [type, handler],
    ) => [type, (state, event, budget) => handler(state, event, budget, owned)]),
  );
}

Deno.test("fold() with owned containers gives what the plain fold gives, and changes nothing old", () => {
  const story = fc.record({
    handlers: fc.record({ first: handlerDefinition, second: handlerDefinition }),
    state,
    events: fc.array(event, { minLength: 1, maxLength: 6 }),
  });
  fc.assert(
    fc.property(story, ({ handlers, state, events }) => {
      const run = compiled(handlers);
      const plain = JSON.stringify(folded(run, structuredClone(state), structuredClone(events)));
      const states = [freeze(state)];
      for (const each of events) {
        states.push(freeze(folded(copying(run), states.at(-1)!, [each])));
      }
      strictEqual(JSON.stringify(states.at(-1)), plain);
      strictEqual(JSON.stringify(folded(copying(run), state, events)), plain);
    }),
    { numRuns: 1_500 },
  );
});

Deno.test("what no event has changed is the same object in both states", () => {
  const handlers = compiled({
    was_moved: { set: { target: "address.city", value: "$.data.city" } },
    was_counted: { update_where: { target: "lines", where: { sku: "B" }, value: { qty: 2 } } },
    was_added: { upsert: { target: "lines", key: "sku", value: "$.data" } },
  });
  const old = freeze({
    address: { city: "Oslo", street: { name: "Storgata" } },
    lines: [{ sku: "A", size: {} }, { sku: "B", size: {} }],
  });
  const at = (type: string, data: JsonObject) =>
    folded(copying(handlers), old, [{ ...PLAIN, type, data }]) as typeof old;

  const moved = at("was_moved", { city: "Bergen" });
  deepStrictEqual(moved, { ...old, address: { ...old.address, city: "Bergen" } });
  strictEqual(moved.lines, old.lines);
  strictEqual(moved.address.street, old.address.street);

  const counted = at("was_counted", {});
  deepStrictEqual(counted.lines, [old.lines[0], { ...old.lines[1], qty: 2 }]);
  strictEqual(counted.address, old.address);
  strictEqual(counted.lines[0], old.lines[0]);
  strictEqual(counted.lines[1]!.size, old.lines[1]!.size);

  const added = at("was_added", { sku: "A", qty: 1 });
  deepStrictEqual(added.lines, [{ ...old.lines[0], qty: 1 }, old.lines[1]]);
  strictEqual(added.lines[1], old.lines[1]);
});

const PLAIN: StoredEvent = {
  key: "order:7KD2M9QXA",
  type: "",
  data: {},
  metadata: { actor: { type: "user", id: "global" }, timestamp: 1_767_225_600 },
} as StoredEvent;
