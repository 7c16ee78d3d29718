/** Where strings of a JSON text end, and which characters numbers are made of. */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  closingQuote,
  isDigit,
  isNumberCharacter,
  nextQuote,
} from "../../../src/http/decode/json_characters.ts";

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

Deno.test("nextQuote() agrees with closingQuote() where nothing is escaped", () => {
  const plain = fc.string({ unit: fc.constantFrom('"', "a", ",") });
  fc.assert(fc.property(plain, (text) => {
    assert.equal(nextQuote(`"${text}`, 0), closingQuote(`"${text}`, 0));
  }));
});

Deno.test("isDigit() and isNumberCharacter() take the digits, and the latter the point too", () => {
  for (let code = 0; code < 0x100; code++) {
    const character = String.fromCharCode(code);
    assert.equal(isDigit(code), /^[0-9]$/.test(character), character);
    assert.equal(isNumberCharacter(code), /^[0-9.]$/.test(character), character);
  }
});
