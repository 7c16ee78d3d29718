/** The event types that an event type may imply, derived from its implications. */

import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import { compileSpec } from "../../../src/domain/spec/compile.ts";

const plain = { schema: true, handler: [] };

/** Returns whether `order.was_placed` with these implications may imply a type. */
function impliedBy(implications: JsonValue) {
  const events: JsonObject = { was_placed: { ...plain, implications }, was_noted: plain };
  const document = { aggregate_types: { order: { events } }, agent_types: ["user"] };
  const compiled = compileSpec(document);
  assert.ok(compiled.ok, JSON.stringify(compiled));
  const { mayImply } = compiled.spec.aggregateTypes.get("order")!.events.get("was_placed")!;
  return (eventType: string) => mayImply?.({ aggregateType: "order", eventType }) ?? false;
}

const note = { aggregate_type: "order", id: "$.id", event_type: "was_noted" };

Deno.test("an event type implies what its entries name, whatever their kind", () => {
  const entries: JsonObject[] = [{ emit: note }, { pipeline: [{ emit: note }] }];
  for (const entry of entries) {
    const implied = impliedBy([entry]);
    assert.equal(implied("was_noted"), true);
    assert.equal(implied("was_placed"), false);
  }
  assert.equal(impliedBy([{ map: { in: "$.data.ids", emit: note } }])("was_noted"), true);
});

Deno.test("what it only schedules it does not imply", () => {
  assert.equal(impliedBy([{ schedule: { delay: "10s", emit: note } }])("was_noted"), false);
});

Deno.test("it may imply anything where its events tell the type", () => {
  const implied = impliedBy([{ emit: { ...note, event_type: "$.data.type" } }]);
  assert.equal(implied("was_noted"), true);
  assert.equal(implied("was_placed"), true);
});

Deno.test("it implies nothing where it has no implications", () => {
  assert.equal(impliedBy([])("was_noted"), false);
});
