/** What is no query is refused before SQLite sees it; golden cases are in `hostile.json`. */

import assert from "node:assert/strict";
import { limits } from "../../../src/domain/limits.ts";
import { checkQuery } from "../../../src/domain/projection/check_query.ts";

function reasonOf(sql: string): string {
  const checked = checkQuery({ sql, params: [] });
  return checked.ok ? "ok" : checked.reason;
}

Deno.test("checkQuery() passes one SELECT or WITH, with the names and values in it", () => {
  const checked = checkQuery({ sql: "select * from Orders where key = ?;", params: ["x"] });
  assert.ok(checked.ok);
  assert.ok(checked.names.has("orders"));
  assert.deepEqual(checked.bound, { byPlace: ["x"], byName: {} });
  assert.equal(reasonOf("WITH a AS (SELECT 1) SELECT * FROM a"), "ok");
});

Deno.test("checkQuery() says what the text begins with, and no more than its beginning", () => {
  assert.equal(
    reasonOf("DROP TABLE orders"),
    'A query is one SELECT, or one WITH ... SELECT; this one begins with "DROP TABLE orders"',
  );
  assert.equal(reasonOf(" "), "A query is one SELECT, or one WITH ... SELECT; there is none");
  assert.ok(reasonOf("x".repeat(1_000)).length < 200);
});

Deno.test("checkQuery() refuses what is too long by one character", () => {
  const longest = `SELECT '${"x".repeat(limits.sqlTextCharactersMax - 9)}'`;
  assert.equal(reasonOf(longest), "ok");
  assert.match(reasonOf(`${longest} `), /longer than 100000 characters/);
});
