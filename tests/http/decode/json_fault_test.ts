/** The exact reader agrees with JSON.parse about what is JSON at all. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { findJsonFault } from "../../../src/http/decode/json_fault.ts";

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

Deno.test("findJsonFault() passes JSON with white space of every kind between its tokens", () => {
  const text = ' {\t"a" : [ 1 , true,false ,null,"\\u00e9\\n" ] ,\r\n"b":{} , "c":[] } ';
  assert.equal(findJsonFault(text), undefined);
});

Deno.test("findJsonFault() finds a fault in every text that JSON.parse refuses, and in no other", () => {
  const pieces = fc.constantFrom(
    ...[
      "{",
      "}",
      "[",
      "]",
      ":",
      ",",
      '"a"',
      '"b',
      '"',
      "1",
      "-",
      "0",
      ".5",
      "e1",
      "true",
      "nul",
      " ",
    ],
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 9 }), (tokens) => {
      const text = tokens.join("");
      const fault = findJsonFault(text);
      const syntax = fault?.message.startsWith("Malformed") ?? false;
      // A repeated key is a separate fault, found before the text ends.
      if (fault !== undefined && !syntax) return;
      assert.equal(syntax, !isJson(text), text);
    }),
    { numRuns: 3_000 },
  );
});

Deno.test("findJsonFault() passes everything that JSON.stringify makes of small numbers", () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false, maxDepth: 5 }), (value) => {
      const fault = findJsonFault(JSON.stringify(value));
      assert.ok(fault === undefined || /Integer/.test(fault.message), fault?.message);
    }),
  );
});
