/** The rows of an answer as CSV, as RFC 4180 has it. */

import assert from "node:assert/strict";
import { csvOf } from "../../../console/src/projections/csv_text.ts";

Deno.test("Null is empty, an empty text is quoted, quotation marks are doubled", () => {
  const row = { a: null, b: "", c: 'say "yes", now', d: 1.5, e: "two\nlines" };
  assert.equal(
    csvOf(Object.keys(row), [row]),
    'a,b,c,d,e\r\n,"","say ""yes"", now",1.5,"two\nlines"\r\n',
  );
});

Deno.test("A text that a spreadsheet takes for a formula is marked, and a number is not", () => {
  const rows = [{ a: "=1+1" }, { a: "@x" }, { a: "-1" }, { a: -1 }, { a: "a=1" }];
  assert.equal(csvOf(["a"], rows), "a\r\n'=1+1\r\n'@x\r\n'-1\r\n-1\r\na=1\r\n");
});
