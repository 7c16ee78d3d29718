/** The walk that finds all schemas within one: its order, and how far it goes at once. */

import assert from "node:assert/strict";
import type { JsonObject } from "../../../../src/domain/json.ts";
import {
  findReferences,
  findReferencesSteps,
} from "../../../../src/domain/spec/schema/references.ts";
import { countedList } from "../../../support/counted_list.ts";
import { lookedUp } from "../../../support/looked_up.ts";

Deno.test("every schema comes before those within it, and these come in their order", () => {
  const schema = { allOf: [{ not: { not: true } }, false], $defs: { "a/b": {}, c: { items: {} } } };
  assert.deepEqual([...findReferences(schema).places.keys()], [
    "",
    "/allOf/0",
    "/allOf/0/not",
    "/allOf/0/not/not",
    "/allOf/1",
    "/$defs/a~1b",
    "/$defs/c",
    "/$defs/c/items",
  ]);
});

for (const keyword of ["allOf", "anyOf", "oneOf", "prefixItems"]) {
  Deno.test(`a million schemas under ${keyword} are taken one in a step, and no more than may be`, () => {
    const { list, reads } = countedList(true);
    const steps = findReferencesSteps({ [keyword]: list }, 1_000);
    for (;;) {
      const before = reads();
      const step = steps.next();
      assert.ok(reads() - before <= 1, `${reads() - before} reads in one step`);
      if (!step.done) continue;
      assert.equal(step.value.places.size, 1_001);
      break;
    }
    assert.ok(reads() < 1_010, `${reads()} reads`);
  });
}

Deno.test("the walk ends where its pointers are too long together", () => {
  const { list, reads } = countedList(true);
  const wide: JsonObject = {};
  for (let index = 0; index < 20; index++) wide["n".repeat(100_000) + index] = true;
  const found = findReferences({ $defs: { ...wide, z: { allOf: list } } });
  assert.equal(found.isTooLong, true);
  assert.equal(reads(), 0);
});

Deno.test("a reference by a path is followed from its resource, whose own pointer is not read again", () => {
  const long = "x".repeat(10_000);
  const resource = { $id: "r", properties: { "a/b": { items: true } }, allOf: [{}, false] };
  const paths = ["/properties/a~1b", "/properties/a%7E1b/items", "/allOf/1", ""];
  const missing = [
    "/allOf/01",
    "/allOf/2",
    "/allOf",
    "/properties",
    "/items",
    "/allOf/1/",
    "/",
    "/x",
  ];
  const many = Array.from({ length: 200 }, (_, index) => `/allOf/${index + 2}`);
  const oneOf = [...paths, ...missing, ...many].map((path) => ({ $ref: `r#${path}` }));
  const { value, total } = lookedUp(findReferencesSteps({ $defs: { [long]: resource }, oneOf }));
  const found = oneOf.map((_, index) => {
    return value.targetsOf(value.places.get(`/oneOf/${index}`)!).ref?.pointer;
  });
  const base = `/$defs/${long}`;
  assert.deepEqual(found.slice(0, paths.length), [
    `${base}/properties/a~1b`,
    `${base}/properties/a~1b/items`,
    `${base}/allOf/1`,
    base,
  ]);
  assert.ok(found.slice(paths.length).every((pointer) => pointer === undefined));
  assert.ok(total < 20 * long.length, `${total} characters`);
});
