/** How examples of a data check are cut, and when two states are the same. */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import { limits } from "../../../src/domain/limits.ts";
import { clipExample, isSameState, openDataCheck } from "../../../src/domain/spec/data_check.ts";
import type { StreamKey } from "../../../src/domain/identifier.ts";

const KEY = "order:a" as StreamKey;
const MAX = limits.dataCheckExampleCharactersMax;

Deno.test("isSameState() holds for states that differ in the order of their keys alone", () => {
  const state = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }));
  fc.assert(fc.property(state, state, (one, other) => {
    const reversed = Object.fromEntries(Object.entries(one).reverse());
    assert.equal(isSameState(JSON.stringify(one), JSON.stringify(reversed), JSON.parse), true);
    const [left, right] = [JSON.parse(JSON.stringify(one)), JSON.parse(JSON.stringify(other))];
    let isEqual = true;
    try {
      assert.deepEqual(left, right);
    } catch {
      isEqual = false;
    }
    assert.equal(isSameState(JSON.stringify(one), JSON.stringify(other), JSON.parse), isEqual);
  }));
});

Deno.test("isSameState() does not parse long states to tell what their lengths do not", () => {
  const long = "x".repeat(limits.dataCheckStateCharactersMax);
  const [one, other] = [`{"a":"${long}","b":1}`, `{"b":1,"a":"${long}"}`];
  assert.equal(isSameState(one, one, JSON.parse), true);
  assert.equal(isSameState(one, other, JSON.parse), undefined);
  assert.equal(isSameState(one, `${other} `, JSON.parse), false);
});

Deno.test("isSameState() cannot tell where a state takes too long to parse", () => {
  const [one, other] = ['{"a":1,"b":2}', '{"b":2,"a":1}'];
  for (const slow of [one, other]) {
    const parse = (text: string) => text === slow ? undefined : JSON.parse(text);
    assert.equal(isSameState(one, other, parse), undefined);
  }
});

Deno.test("clipExample() leaves short states as they are, and makes every other one short", () => {
  const state = fc.jsonValue({ maxDepth: 6, noUnicodeString: false }) as fc.Arbitrary<JsonValue>;
  const long = fc.array(fc.tuple(state, fc.nat(3_000)), { maxLength: 12 }).map((parts) =>
    Object.fromEntries(parts.map(([part, n], at) => [`${at}`, [part, "y".repeat(n)]]))
  );
  fc.assert(fc.property(fc.oneof(state, long), fc.oneof(state, long), (before, after) => {
    const [left, right] = [JSON.parse(JSON.stringify(before)), JSON.parse(JSON.stringify(after))];
    const clipped = clipExample({ key: KEY, before: left, after: right });
    const isShort = [left, right].every((one) => JSON.stringify(one).length <= MAX);
    if (isShort) assert.deepEqual(clipped, { key: KEY, before: left, after: right });
    assert.ok(JSON.stringify(clipped).length <= 8 * MAX);
  }));
});

Deno.test("clipExample() leaves out what is the same, then the ends of lists, objects and texts", () => {
  const same = "s".repeat(2 * MAX);
  const numbers = Array.from({ length: 2 * MAX }, (_, n) => n % 10);
  const before: JsonObject = { same, list: numbers, gone: 1 };
  const clipped = clipExample({ key: KEY, before, after: { same, list: numbers, come: "x" } });
  assert.deepEqual([clipped.before, clipped.after], [{ gone: 1 }, { come: "x" }]);
  const other = clipExample({ key: KEY, before: { list: numbers }, after: { text: same } });
  const { list } = other.before as { list: JsonValue[] };
  const kept = list.length - 1;
  assert.ok(kept > MAX / 4 && kept < MAX);
  assert.equal(list.at(-1), `... ${numbers.length - kept} more`);
  const { text } = other.after as { text: string };
  assert.ok(text.endsWith("s...") && text.length <= MAX + 3 && text.length > MAX / 2);
});

Deno.test("openDataCheck() tells the types with the most first, and counts what it leaves out", () => {
  const draft = openDataCheck();
  const faults = [{ path: "data", message: "m".repeat(1_000) }];
  const types = limits.violationsMax + 3;
  for (let type = 0; type < types; type++) {
    for (let n = 0; n <= type; n++) draft.addEvent(KEY, `was_${type}`, `${n}`, faults);
  }
  draft.addEvent(KEY, "was_fine", "1", []);
  const check = draft.end();
  assert.equal(check.events, types * (types + 1) / 2 + 1);
  assert.equal(check.complete, false, "not all types are listed");
  assert.equal(check.refused.length, limits.violationsMax);
  assert.deepEqual(check.refused[0]!.event_type, `order.was_${types - 1}`);
  assert.equal(check.refused[0]!.count, types);
  assert.equal(check.refused[0]!.examples.length, limits.dataCheckExamplesMax);
  assert.ok(check.refused[0]!.examples[0]!.details[0]!.message.length < 400);
});
