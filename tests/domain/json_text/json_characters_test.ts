/** Where strings of a JSON text end, which characters numbers are made of, and its names. */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { JsonValue } from "../../../src/domain/json.ts";
import {
  closingQuote,
  fieldNamesIn,
  isDigit,
  isNumberCharacter,
} from "../../../src/domain/json_text/json_characters.ts";

Deno.test("closingQuote() finds the end of any string, whatever follows, and the end where it has none", () => {
  const any = fc.string({ unit: fc.constantFrom('"', "\\", "a", "\n", "\u00e9") });
  fc.assert(fc.property(any, any, (content, behind) => {
    const string = JSON.stringify(content);
    assert.equal(closingQuote(string + behind, 0), string.length - 1);
    assert.equal(closingQuote(` ${string}${behind}`, 1), string.length);
    assert.ok(closingQuote(string.slice(0, -1), 0) >= string.length - 1);
    assert.equal(closingQuote(string, 0, 1), 1);
  }));
});

Deno.test("isDigit() and isNumberCharacter() take the digits, and the latter the point too", () => {
  for (let code = 0; code < 0x100; code++) {
    const character = String.fromCharCode(code);
    assert.equal(isDigit(code), /^[0-9]$/.test(character), character);
    assert.equal(isNumberCharacter(code), /^[0-9.]$/.test(character), character);
  }
});

type Named = [name: string, depth: number];

/** By a walk through the parsed value. */
function namesOf(value: JsonValue, depth = 1): Named[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((element) => namesOf(element, depth + 1));
  return Object.entries(value).flatMap(([name, member]): Named[] => [
    [name, depth],
    ...namesOf(member, depth + 1),
  ]);
}

function read(text: string): Named[] {
  return [...fieldNamesIn(text)].map(({ name, depth }) => [name, depth]);
}

Deno.test("fieldNamesIn() finds each name of any JSON text, in order and with its depth", () => {
  fc.assert(
    fc.property(fc.object({ maxDepth: 4 }), fc.boolean(), (sent, isSpaced) => {
      const text = JSON.stringify(sent, undefined, isSpaced ? 2 : undefined);
      assert.deepEqual(read(text), namesOf(JSON.parse(text)));
    }),
    { numRuns: 500 },
  );
});

Deno.test("fieldNamesIn() reads names that are written with escapes, and no text that is a value", () => {
  assert.deepEqual(read('{"em\\u0061il":"a\\":1","b\\"" : 2}'), [["email", 1], ['b"', 1]]);
  assert.deepEqual(read('["a:", {"b": ":"}]'), [["b", 2]]);
});

Deno.test("fieldNamesIn() ends on texts that are not JSON, and finds what stands before the fault", () => {
  assert.deepEqual(read('{"a":1,"b'), [["a", 1]]);
  assert.deepEqual(read('{"\\x":1}'), [["\\x", 1]]);
  assert.deepEqual(read('}{"a":"'), [["a", 0]]);
  assert.deepEqual(read(""), []);
});
