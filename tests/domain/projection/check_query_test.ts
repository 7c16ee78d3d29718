/**
 * What is no query is refused before SQLite sees it; golden cases are in `hostile.json`. Each
 * parameter has a value and each value a parameter.
 */

import assert from "node:assert/strict";
import { limits } from "../../../src/domain/limits.ts";
import {
  bindArguments,
  checkQuery,
  type SqlArguments,
} from "../../../src/domain/projection/check_query.ts";

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

function bind(parameters: readonly string[], given: SqlArguments): unknown {
  const binding = bindArguments(parameters, given);
  return binding.ok ? binding.bound : binding.reason;
}

Deno.test("bindArguments() gives ? and ?7 their values by place", () => {
  assert.deepEqual(bind([], []), { byPlace: [], byName: {} });
  assert.deepEqual(bind(["?", "?"], [1, "a"]), { byPlace: [1, "a"], byName: {} });
  // SQLite's rule: ? is one more than the largest number before it.
  assert.deepEqual(bind(["?2", "?"], [1, 2, 3]), { byPlace: [1, 2, 3], byName: {} });
  assert.deepEqual(bind(["?1", "?1"], [null]), { byPlace: [null], byName: {} });
});

Deno.test("bindArguments() gives named parameters their values, by the name without its sign", () => {
  const byName = { ":a": 1, "@b": "x", "$c": false };
  assert.deepEqual(bind([":a", "@b", "$c"], { a: 1, b: "x", c: false }), { byPlace: [], byName });
  assert.deepEqual(bind([":a", "@a"], { a: 1 }), { byPlace: [], byName: { ":a": 1, "@a": 1 } });
});

Deno.test("bindArguments() refuses values that are missing, too many or of the other kind", () => {
  const reasons: [string[], SqlArguments, string][] = [
    [["?"], [], "The statement has 1 parameters, and params has 0 values"],
    [["?"], [1, 2], "The statement has 1 parameters, and params has 2 values"],
    [["?9"], [1], "The statement has 9 parameters, and params has 1 values"],
    [["?"], {}, "? takes its value from an array, but params is an object"],
    [[":a"], [], ':a takes its value from an object: {"a": ...} in params'],
    [[":a"], [1], ':a takes its value from an object: {"a": ...}, but params is an array'],
    [[":a"], {}, "params has no value for :a"],
    [[":a"], { a: 1, b: 2 }, "The statement has no parameter :b"],
    [[":toString"], {}, "params has no value for :toString"],
  ];
  for (const [parameters, given, reason] of reasons) assert.equal(bind(parameters, given), reason);
});

Deno.test("bindArguments() takes as many parameters and characters as the limits say, no more", () => {
  const { sqlParametersMax, sqlParameterCharactersMax } = limits;
  const many = Array.from({ length: sqlParametersMax }, () => "?");
  const byPlace = many.map(() => "x");
  assert.deepEqual(bind(many, byPlace), { byPlace, byName: {} });
  assert.match(String(bind([...many, "?"], [...byPlace, "x"])), /at most 1000 parameters/);
  // A text need not write out this many parameters to be refused.
  assert.match(String(bind(["?1001"], [...byPlace, "x"])), /at most 1000 parameters/);
  const longest = "x".repeat(sqlParameterCharactersMax - 1);
  assert.deepEqual(bind([":a", ":b"], { a: longest, b: "y" }), {
    byPlace: [],
    byName: { ":a": longest, ":b": "y" },
  });
  assert.match(String(bind(["?", "?"], [longest, "yz"])), /longer than 1048576 characters/);
});
