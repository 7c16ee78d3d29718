/** Each key is the one that was written, whatever anybody has sent before. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { parseJson } from "../../../src/domain/json_text/parse_json.ts";

/** Some of these, parsed as they are, make others of them lose their keys. */
const KEYS = ["\\", '"', "\n", "\b", "a\\", "a\n", 'a"', "gr\\u0", "größe", "a", "", "__proto__"];

const key = fc.oneof(fc.constantFrom(...KEYS), fc.string({ maxLength: 4 }));
const scalar = fc.oneof(fc.constantFrom("", '"', "\\", "a: b", null, true, false, -0), fc.double());
const { value } = fc.letrec((tie) => ({
  value: fc.oneof({ depthSize: "small" }, scalar, fc.array(tie("value")), tie("object")),
  object: fc.array(fc.tuple(key, tie("value")), { maxLength: 6 }),
}));

/** A value as pairs of keys and values, so that no object is needed to tell what it holds. */
type Pairs = unknown;

/** As a client may write it: with any character of a key as an escape, and spaces anywhere. */
function textOf(value: Pairs, escaped: number): string {
  if (!Array.isArray(value)) return Object.is(value, -0) ? "-0" : JSON.stringify(value);
  if (!value.every(isPair)) return `[ ${value.map((each) => textOf(each, escaped)).join(" ,")} ]`;
  const members = membersOf(value).map(([name, member], index) =>
    `${keyText(name, escaped >> index)} : ${textOf(member, escaped)}`
  );
  return `{${members.join(", ")}}`;
}

function isPair(value: unknown): value is [string, Pairs] {
  return Array.isArray(value) && value.length === 2 && typeof value[0] === "string";
}

/** Of two members with one name the last one counts, at the place of the first. */
function membersOf(pairs: readonly [string, Pairs][]): [string, Pairs][] {
  return [...new Map(pairs)];
}

function keyText(name: string, escaped: number): string {
  if (escaped % 2 === 0) return JSON.stringify(name);
  const units = [...name.split("")].map((unit) =>
    `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`
  );
  return `"${units.join("")}"`;
}

function assertHolds(parsed: unknown, value: Pairs): void {
  if (!Array.isArray(value)) return assert.ok(Object.is(parsed, asJson(value)));
  if (!value.every(isPair)) {
    assert.ok(Array.isArray(parsed) && parsed.length === value.length);
    value.forEach((each, index) => assertHolds(parsed[index], each));
    return;
  }
  const members = membersOf(value);
  assert.equal(Object.getPrototypeOf(parsed), Object.prototype);
  assert.deepEqual(new Set(Object.keys(parsed as object)), new Set(members.map(([name]) => name)));
  for (const [name, member] of members) {
    assertHolds(Object.getOwnPropertyDescriptor(parsed, name)!.value, member);
  }
}

/** JSON has no infinities. */
function asJson(value: unknown): unknown {
  return typeof value === "number" && !Number.isFinite(value) ? null : value;
}

Deno.test("parseJson() gives the keys and values that were written, however they were written", () => {
  fc.assert(
    fc.property(value, fc.nat(), (value, escaped) => {
      const text = textOf(value, escaped);
      assertHolds(parseJson(text), value);
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("parseJson() keeps a key that shares a beginning with one of an earlier object", () => {
  // Kept, because the runtime forgets the shape of an object that nobody holds.
  const earlier = ['{"id":0,"\\\\":0}', '{"name":0,"gr\\\\u0":1}'].map((text) => parseJson(text));
  assert.deepEqual(Object.keys(parseJson<object>('{"id":1,"\\n":2}')), ["id", "\n"]);
  assert.deepEqual(Object.keys(parseJson<object>('{"name":1,"gr\\u00f6":2}')), ["name", "grö"]);
  assert.deepEqual(earlier.map((each) => Object.keys(each as object)[1]), ["\\", "gr\\u0"]);
});

Deno.test("parseJson() refuses exactly what JSON.parse refuses, also beside keys with escapes", () => {
  const piece = fc.constantFrom(...'{}[]:,"\\ 019-.eEtfn\u0001', '"\\n":', '"\\":');
  const change = fc.record({ at: fc.nat(), cut: fc.nat({ max: 3 }), piece });
  fc.assert(
    fc.property(
      value,
      fc.nat(),
      change,
      (value, escaped, { at, cut, piece }) => {
        const text = textOf(value, escaped);
        const place = at % (text.length + 1);
        const changed = text.slice(0, place) + piece + text.slice(place + cut);
        const refused = isRefused(() => JSON.parse(changed));
        assert.equal(isRefused(() => parseJson(changed)), refused, changed);
      },
    ),
    { numRuns: 1_500 },
  );
});

function isRefused(parse: () => unknown): boolean {
  try {
    parse();
    return false;
  } catch (error) {
    assert.ok(error instanceof SyntaxError);
    return true;
  }
}

Deno.test("parseJson() reads any depth and any length beside keys with escapes", () => {
  const depth = 100_000;
  let value = parseJson<{ "\n"?: unknown }>(`${'{"\\n":'.repeat(depth)}{}${"}".repeat(depth)}`);
  let levels = 0;
  for (; value["\n"] !== undefined; levels++) value = value["\n"] as typeof value;
  assert.equal(levels, depth);
  const long = parseJson<unknown[][]>(`[{"\\t":1},[${"1.5,".repeat(200_000)}true]]`);
  assert.equal(long[1]!.length, 200_001);
});
