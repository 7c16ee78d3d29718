/** `enum`, `const` and `uniqueItems` compare by content, and are charged for it. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { newBudget } from "../../../../src/domain/budget.ts";
import type { JsonObject, JsonValue } from "../../../../src/domain/json.ts";
import { openCompiler } from "../../../support/compile_schema.ts";

const PLENTY = 4_000_000;

function check(schema: JsonValue, v: JsonValue) {
  const validate = openCompiler().compile({ properties: { v: schema } });
  assert(validate);
  const work = newBudget(PLENTY);
  return { isValid: validate({ v }, work).length === 0, units: PLENTY - work.left };
}

/** Equality of JSON: the order of keys does not matter, and nothing is converted. */
function equal(a: JsonValue, b: JsonValue): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length &&
      a.every((each, index) => equal(each, b[index]!));
  }
  const names = Object.keys(a);
  return names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && equal(a[name]!, (b as JsonObject)[name]!));
}

/** Few different values, so that many of them are equal. */
const { json } = fc.letrec<{ json: JsonValue }>((tie) => ({
  json: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom<JsonValue>(null, true, false, 0, -0, 1, 1.5, "", "0", "1", "a", "[0]", "{}"),
    fc.integer({ min: -30, max: 30 }),
    fc.integer({ min: -30, max: 30 }).map((number) => `${"long".repeat(40)}${number}`),
    fc.array(tie("json"), { maxLength: 2 }),
    fc.uniqueArray(fc.tuple(fc.constantFrom("a", "b", "__proto__"), tie("json")), {
      maxLength: 2,
      selector: ([name]) => name,
    }).map((fields): JsonValue => Object.fromEntries(fields)),
  ),
}));

const lists = fc.integer({ min: 1, max: 90 }).chain((count) =>
  fc.array(json, { minLength: count, maxLength: count })
);

Deno.test("enum and const take what is equal to a listed value, and nothing else", () => {
  fc.assert(fc.property(lists, fc.array(json, { maxLength: 20 }), (listed, others) => {
    const compiler = openCompiler();
    const anyOf = compiler.compile({ properties: { v: { enum: listed } } })!;
    const only = compiler.compile({ properties: { v: { const: listed[0]! } } })!;
    for (const v of [...listed.slice(0, 20), ...others]) {
      assert.equal(anyOf({ v }).length === 0, listed.some((each) => equal(each, v)));
      assert.equal(only({ v }).length === 0, equal(listed[0]!, v));
    }
  }));
});

Deno.test("uniqueItems refuses items of which two are equal, and no others", () => {
  const validate = openCompiler().compile({ properties: { v: { uniqueItems: true } } })!;
  fc.assert(fc.property(lists, fc.boolean(), (drawn, isUnique) => {
    // Random items are hardly ever distinct, so half of the lists are made so.
    const v = isUnique ? drawn.filter((each, at) => !isBefore(each, drawn, at)) : drawn;
    assert.equal(validate({ v }).length === 0, v.every((each, at) => !isBefore(each, v, at)));
  }));
});

function isBefore(value: JsonValue, values: readonly JsonValue[], end: number): boolean {
  return values.slice(0, end).some((each) => equal(each, value));
}

/** Quotes, separators of lines and names of code are only text. */
const ODD_TEXTS = ["\"'`", "\\", "\u2028\u2029", "${data}", "</script>", "\ud800", "__proto__"];

Deno.test("enum compares odd texts as they are, in short lists and in long ones", () => {
  const more = Array.from({ length: 20 }, (_, index) => `more${index}`);
  for (const text of ODD_TEXTS) {
    for (const listed of [[text], [text, ...more]]) {
      assert(check({ enum: listed }, text).isValid, text);
      for (const other of ODD_TEXTS.filter((each) => each !== text)) {
        assert(!check({ enum: listed }, other).isValid, other);
      }
    }
  }
});

Deno.test("enum of many values is charged for a search in each item, const of a text for it", () => {
  const numbers = Array.from({ length: 9_000 }, (_, index) => index);
  const items = Array.from({ length: 10_000 }, () => 7);
  const all = check({ items: { enum: numbers } }, items);
  const few = check({ items: { enum: [7] } }, items);
  assert(all.isValid && few.isValid);
  assert.equal(all.units - few.units, 2 * 14 * items.length);
  const text = "a".repeat(20_000);
  assert(check({ const: text }, text).units >= text.length);
});

Deno.test("uniqueItems is charged for sorting many items", () => {
  const items = Array.from({ length: 10_000 }, (_, index) => index);
  const plain = check({ minItems: 1 }, items).units;
  for (const each of [items, items.map((item) => `t${item}`), items.map((item) => [item])]) {
    const { isValid, units } = check({ uniqueItems: true }, each);
    assert(isValid);
    assert(units - plain >= (16 + 2 * 14) * items.length, `${units}`);
  }
});
