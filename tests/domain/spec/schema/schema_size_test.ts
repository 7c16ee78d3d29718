/** Counting the parts of a schema, and the messages of the limits on them. */

import assert from "node:assert/strict";
import type { JsonValue } from "../../../../src/domain/json.ts";
import { openCompiler } from "../../../support/compile_schema.ts";
import { createFaultList } from "../../../../src/domain/spec/fault_list.ts";
import { findReferences, type Place } from "../../../../src/domain/spec/schema/references.ts";
import { countParts } from "../../../../src/domain/spec/schema/schema_size.ts";

function parts(schema: JsonValue): number {
  return countParts(findReferences(schema));
}

Deno.test("countParts() counts schemas, keywords, listed names and targets of references", () => {
  assert.equal(parts(true), 1);
  assert.equal(parts({ type: "string", maxLength: 3 }), 3);
  assert.equal(parts({ required: ["a", "b"] }), 4);
  assert.equal(parts({ dependentRequired: { a: ["b", "c"] } }), 5);
  assert.equal(parts({ properties: { a: true, b: { minimum: 1 } } }), 5);
  assert.equal(parts({ $ref: "#/$defs/a", $defs: { a: true } }), 14);
});

Deno.test("countParts() looks at the schemas of a dynamic anchor once, not for each reference", () => {
  const anchors = Array.from({ length: 300 }, () => ({ $dynamicAnchor: "n" }));
  const allOf: JsonValue[] = [...anchors, ...anchors.map(() => ({ $dynamicRef: "#n" }))];
  const references = findReferences({ allOf });
  const { several } = references.targetsOf(references.places.get("/allOf/300")!);
  let reads = 0;
  const get = (list: readonly Place[], key: string | symbol) => {
    if (typeof key === "string" && /^\d+$/.test(key)) reads++;
    return Reflect.get(list, key);
  };
  const counted = { anchor: "n", places: new Proxy(several!.places, { get }) };
  const targetsOf = (place: Place) => {
    return references.targetsOf(place).several === undefined ? {} : { several: counted };
  };
  assert.equal(countParts({ ...references, targetsOf }), 2 + 600 * 2 + 300 * 10);
  assert.equal(reads, 300);
});

Deno.test("a reference beside a $dynamicRef to a known anchor still counts as a target", () => {
  const anchors: JsonValue[] = [{ $dynamicAnchor: "n" }, { $id: "b", $dynamicAnchor: "n" }];
  const both = (name: string) => ({ $dynamicRef: "#n", $ref: `#/$defs/${name}` });
  const $defs = { a: true, b: true };
  assert.equal(parts({ allOf: [...anchors, both("a"), both("b")], $defs }), 16 + 4 * 10);
});

Deno.test("a schema of more than 10,000 schemas is refused by their number alone", () => {
  const faults = createFaultList();
  const schema = { allOf: Array.from({ length: 10_001 }, () => true) };
  assert.equal(openCompiler().compile(schema, "s", faults), undefined);
  assert.match(faults.faults[0]!.message, /at least 10001 parts.*at most 10000/);
});

function wide(count: number, title: string): JsonValue {
  const names = Array.from({ length: count }, (_, index) => [`p${index}`, { type: "string" }]);
  return { title, properties: Object.fromEntries(names) };
}

Deno.test("an event schema beyond 10,000 parts is refused, and the text says the limit", () => {
  const faults = createFaultList();
  assert.equal(openCompiler().compile(wide(5_000, "x"), "s", faults), undefined);
  assert.equal(faults.faults[0]?.rule, "schema_too_large");
  assert.match(faults.faults[0].message, /10003 parts.*at most 10000/);
});

Deno.test("the event schemas of a spec beyond 20,000 parts are refused together", () => {
  const faults = createFaultList();
  const compiler = openCompiler();
  for (const title of ["a", "b"]) assert(compiler.compile(wide(4_900, title), "s", faults));
  assert(compiler.compile(wide(4_900, "a"), "s", faults), "the same schema counts once");
  assert.equal(compiler.compile(wide(4_900, "c"), "s", faults), undefined);
  assert.equal(faults.faults[0]?.rule, "schema_too_large");
  assert.match(faults.faults[0].message, /more than 20000 parts/);
});
