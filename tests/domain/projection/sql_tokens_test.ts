/** Tokens are cut by SQLite's own description of them; statements are tested against SQLite. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { openSqlCursor, readToken, tokenText } from "../../../src/domain/projection/sql_tokens.ts";

function tokensOf(sql: string): [kind: string, text: string][] {
  const tokens: [string, string][] = [];
  for (const cursor = openSqlCursor(sql); readToken(cursor);) {
    tokens.push([cursor.kind, tokenText(cursor)]);
  }
  return tokens;
}

/** By https://sqlite.org/lang_expr.html and the tokenizer of SQLite 3. */
const ONE_TOKEN: Readonly<Record<string, readonly string[]>> = {
  word: ["a", "_a1", "a$b", "\u00e9t\u00e9", "x", "X1"],
  quoted: ["'a'", "'it''s'", '"a b"', '"a""b"', "`a``b`", "[a b]", "'", "'a", "[a", "''''"],
  parameter: ["?", "?12", ":a", "@a", "$a", "#a", ":1", "$a::b", "$a::b(c)", ":a(b)", ":a(b"],
  end: [";"],
  other: ["x'00'", "X'", "1", "1.5e+3", "1e-", "0x1F", "(", ",", "-", "/", ":", ":::", "*"],
};

for (const [kind, texts] of Object.entries(ONE_TOKEN)) {
  Deno.test(`each of these is one token of the kind ${kind}: ${texts.join(" ")}`, () => {
    for (const text of texts) assert.deepEqual(tokensOf(text), [[kind, text]], text);
  });
}

Deno.test("blanks and comments stand between tokens and are none", () => {
  const sql = "a\t\n\f\r \ufeffb--c\nd/* e */f/**/g -- h";
  assert.deepEqual(tokensOf(sql).map(([, text]) => text), ["a", "b", "d", "f", "g"]);
  for (const blank of ["", " ", "--", "-- a", "/* a", "/*/", "/**"]) {
    assert.deepEqual(tokensOf(blank), [], blank);
  }
  // Nothing follows what would otherwise open a comment.
  assert.deepEqual(tokensOf("/*").map(([, text]) => text), ["/", "*"]);
});

Deno.test("a sign is a part of a number in its exponent alone, and of no other token", () => {
  assert.deepEqual(tokensOf("1+2e-3-x").map(([, text]) => text), ["1", "+", "2e-3", "-", "x"]);
});

Deno.test("tokens never overlap, and what is between them is blank", () => {
  const piece = fc.constantFrom(..."'\"`[]:@$#?()-*/;,.+ \n\ta1eXx\u00e9\ufeff");
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const sql = pieces.join("");
      let end = 0;
      for (const cursor = openSqlCursor(sql); readToken(cursor); end = cursor.end) {
        assert.ok(cursor.start >= end && cursor.end > cursor.start, JSON.stringify(sql));
        assert.equal(isBlank(sql.slice(end, cursor.start)), true, JSON.stringify(sql));
      }
      assert.equal(isBlank(sql.slice(end)), true, JSON.stringify(sql));
    }),
    { numRuns: 5_000 },
  );
});

function isBlank(text: string): boolean {
  return text.replace(/--[^\n]*|\/\*[^]*?(\*\/|$)|[\t\n\f\r \ufeff]/g, "") === "";
}
