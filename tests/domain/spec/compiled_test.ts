/** Pages of the aggregate types of a spec, which are sorted once. */

import assert from "node:assert/strict";
import { type CompiledAggregateType, typesBehind } from "../../../src/domain/spec/compiled.ts";

function typesOf(names: readonly string[]): Map<string, CompiledAggregateType> {
  return new Map(names.map((name) => [name, {} as CompiledAggregateType]));
}

Deno.test("typesBehind() gives those behind a name, by name, whether it is one of them or not", () => {
  const types = typesOf(["b", "d", "c0", "a", "c"]);
  assert.deepEqual(typesBehind(types, undefined, 2), ["a", "b"]);
  assert.deepEqual(typesBehind(types, "", 9), ["a", "b", "c", "c0", "d"]);
  assert.deepEqual(typesBehind(types, "b", 2), ["c", "c0"]);
  assert.deepEqual(typesBehind(types, "bb", 1), ["c"]);
  assert.deepEqual(typesBehind(types, "c", 9), ["c0", "d"]);
  assert.deepEqual(typesBehind(types, "d", 9), []);
  assert.deepEqual(typesBehind(typesOf([]), "a", 9), []);
});

Deno.test("pages of thousands of types go over their names once", () => {
  const types = typesOf(Array.from({ length: 5_000 }, (_, n) => `t${n}`));
  let walks = 0;
  const keys = types.keys.bind(types);
  types.keys = () => {
    walks++;
    return keys();
  };
  const found: string[] = [];
  for (let page = typesBehind(types, undefined, 99); page.length > 0;) {
    found.push(...page);
    page = typesBehind(types, page.at(-1), 99);
  }
  assert.deepEqual(found, [...keys()].sort());
  assert.equal(walks, 1);
});
