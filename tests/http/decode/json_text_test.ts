/** Bodies as JSON: nothing may silently differ from what was sent. */

import assert from "node:assert/strict";
import process from "node:process";
import fc from "fast-check";
import { countKeys, type JsonObject } from "../../../src/domain/json.ts";
import { parseJsonObject, parseJsonText, surveyText } from "../../../src/http/decode/json_text.ts";
import { fakeHost } from "../../support/fake_host.ts";

function refusalOf(text: string) {
  const outcome = parseJsonObject(text);
  assert.ok(!outcome.ok, `refused: ${text.slice(0, 60)}`);
  assert.equal(outcome.refusal.kind, "bad_request");
  return outcome.refusal as { message: string; path?: string };
}

function nested(depth: number): string {
  return '{"a":'.repeat(depth - 1) + "{}" + "}".repeat(depth - 1);
}

const REFUSED: readonly (readonly [text: string, message: string, path?: string])[] = [
  ["", "Request body is empty"],
  ["\ufeff{}", "Request body must not begin with a byte order mark"],
  ["[]", "Request body must be a JSON object"],
  ["null", "Request body must be a JSON object"],
  ['"text"', "Request body must be a JSON object"],
  ["12", "Request body must be a JSON object"],
  [" ", "Malformed JSON at position 1: unexpected end"],
  ['{"a":1', "Malformed JSON at position 6: ',' or '}' expected"],
  ['{"a" 1}', "Malformed JSON at position 5: ':' expected"],
  ['{"a":1,}', "Malformed JSON at position 7: a key in double quotes expected"],
  ['{"a":[1 2]}', "Malformed JSON at position 8: ',' or ']' expected"],
  ['{"a":01}', "Malformed JSON at position 6: ',' or '}' expected"],
  ['{"a":1.}', "Malformed JSON at position 7: a digit expected"],
  ['{"a":1e', "Malformed JSON at position 7: a digit expected"],
  ['{"a":NaN}', "Malformed JSON at position 5: a value expected"],
  ['{"a":"x', "Malformed JSON at position 7: unterminated string"],
  ['{"a":"\n"}', "Malformed JSON at position 6: a control character must be escaped"],
  ['{"a":"\\x"}', "Malformed JSON at position 6: unknown escape sequence"],
  ["{} {}", "Malformed JSON at position 3: end of the text expected"],
  ['{"a":1e400}', "Number is beyond the range of a double", "a"],
  ['{"a":{"b":[0,-1e999]}}', "Number is beyond the range of a double", "a.b.1"],
  [
    '{"data":{"n":9007199254740993}}',
    "Number cannot be held by a double, the nearest is 9007199254740992: send that, or a string",
    "data.n",
  ],
  [
    '{"n":[1.5,12345678901234567890.5]}',
    "Number cannot be held by a double, the nearest is 12345678901234567000: send that, or a string",
    "n.1",
  ],
  ['{"a":1,"a":2}', "Duplicate key in JSON object: a", "a"],
  ['{"a":1,"\\u0061":1}', "Duplicate key in JSON object: a", "a"],
  ['{"x":[{"b":{"c":1}},{"b":1,"b":1}]}', "Duplicate key in JSON object: b", "x.1.b"],
  ['{"a":{"b":1},"a":1}', "Duplicate key in JSON object: a", "a"],
  ['{"__proto__":1,"__proto__":2}', "Duplicate key in JSON object: __proto__", "__proto__"],
];

for (const [text, message, path] of REFUSED) {
  Deno.test(`parseJsonObject() refuses ${JSON.stringify(text)}: ${message}`, () => {
    const refusal = refusalOf(text);
    assert.deepEqual([refusal.message, refusal.path], [message, path]);
  });
}

Deno.test("parseJsonObject() takes 64 levels of nesting and refuses 65", () => {
  assert.ok(parseJsonObject(nested(64)).ok);
  assert.match(refusalOf(nested(65)).message, /nested deeper than 64 levels/);
  assert.match(refusalOf('{"a":' + "[".repeat(65)).message, /nested deeper than 64 levels/);
});

Deno.test("parseJsonObject() counts brackets inside strings as text", () => {
  assert.ok(parseJsonObject(`{"a":"${"[{:".repeat(100)}"}`).ok);
});

Deno.test("parseJsonObject() keeps __proto__ and constructor as ordinary data", () => {
  const outcome = parseJsonObject('{"__proto__":{"x":1},"constructor":2}');
  assert.ok(outcome.ok);
  assert.deepEqual(Object.keys(outcome.value), ["__proto__", "constructor"]);
  assert.equal(Object.getPrototypeOf(outcome.value), Object.prototype);
  assert.equal(({} as { x?: number }).x, undefined);
});

Deno.test("parseJsonObject() ends soon on every hostile text of 4 MB", () => {
  const size = 4_000_000;
  const hostile = [
    '{"a":' + "[".repeat(size),
    '{"a":"' + "\\".repeat(size),
    '{"a":0.' + "0".repeat(size) + "1}",
    '{"a":1' + "0".repeat(size) + "}",
    '{"a":' + "1".repeat(size) + "e-4000000}",
    '{"a":"' + "\\u0061".repeat(size / 6) + '","a":1}',
    " ".repeat(size),
  ];
  for (const text of hostile) {
    const before = process.cpuUsage();
    parseJsonObject(text);
    // The time of others who have the processor does not count.
    const { user, system } = process.cpuUsage(before);
    assert.ok(user + system < 5_000_000, text.slice(0, 20));
  }
});

Deno.test("parseJsonObject() gives what JSON.parse gives for every object made by JSON.stringify", () => {
  fc.assert(
    fc.property(fc.object({ maxDepth: 6, withNullPrototype: false }), (object) => {
      const text = JSON.stringify(object);
      const outcome = parseJsonObject(text);
      assert.ok(outcome.ok, JSON.stringify(outcome));
      assert.deepEqual(outcome.value, JSON.parse(text));
    }),
  );
});

Deno.test("parseJsonText() reads short texts at once and long ones in turns, with the same answer", async () => {
  const host = fakeHost();
  const events = Array.from({ length: 4_000 }, (_, index) => ({ type: "a", data: { index } }));
  for (const value of [{ events: [] }, { events }]) {
    const outcome = parseJsonText([JSON.stringify(value)], { turns: host });
    assert.deepEqual(await outcome, { ok: true, value });
  }
  assert.ok(!(await parseJsonText(["\ufeff" + JSON.stringify({ events })], { turns: host })).ok);
});

Deno.test("parseJsonText() asks for memory as values come, and stops where there is none", async () => {
  const text = `{"a":[${"{},".repeat(200_000)}0]}`;
  let held = 0;
  const hold = (nodes: number) => (held += nodes) < 150_000;
  const outcome = await parseJsonText([text], { turns: fakeHost(), hold });
  assert.ok(!outcome.ok && outcome.refusal.kind === "no_room");
  assert.ok(held < 300_000, `${held} of 400,000 values were asked for`);
});

Deno.test("surveyText() counts the keys and the depth of any JSON that countKeys() and a walk find", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 8 }), (json) => {
      const value = { a: JSON.parse(json) };
      const survey = surveyText(JSON.stringify(value));
      assert.equal(survey.keys, countKeys(value));
      assert.equal(survey.depth, depthOf(value));
    }),
  );
});

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const inner = Object.values(value as JsonObject).map(depthOf);
  return 1 + Math.max(0, ...inner);
}
