/** How a table is looked at, as an address and as SQL. */

import assert from "node:assert/strict";
import {
  FILTERS_MAX,
  formatFilters,
  parseFilters,
  quoted,
  scalarOf,
  statementOf,
} from "../../../console/src/projections/table_query.ts";

Deno.test("Without a wish, the rows come in the order of their keys", () => {
  assert.deepEqual(statementOf("orders", { filters: [] }), {
    sql: 'SELECT * FROM "orders" ORDER BY "key"',
    params: [],
  });
});

Deno.test("Filters are joined, and their values are parameters, never part of the text", () => {
  const statement = statementOf("orders", {
    sort: { column: "total", isDescending: true },
    filters: [
      { column: "total", test: "ge", value: "10.5" },
      { column: "name", test: "has", value: "10" },
      { column: "status", test: "some", value: "" },
      { column: "status", test: "not", value: "x' OR 1" },
    ],
  });
  assert.equal(
    statement.sql,
    'SELECT * FROM "orders" WHERE "total" >= ? AND instr("name", ?) > 0 AND "status" IS NOT NULL ' +
      'AND "status" <> ? ORDER BY "total" DESC, "key"',
  );
  assert.deepEqual(statement.params, [10.5, "10", "x' OR 1"]);
});

Deno.test("A name with a quotation mark stays one name", () => {
  assert.equal(quoted('a" UNION SELECT "b'), '"a"" UNION SELECT ""b"');
});

Deno.test("A typed value is a number, true, false or null where JSON has one, else a text", () => {
  const values: [string, unknown][] = [
    ["10", 10],
    ["-1.5e3", -1500],
    ["true", true],
    ["null", null],
    ['"10"', "10"],
    ["placed", "placed"],
    ["", ""],
    ["[1]", "[1]"],
    ['{"a":1}', '{"a":1}'],
    ["007", "007"],
  ];
  for (const [text, value] of values) assert.equal(scalarOf(text), value, text);
});

Deno.test("Filters survive their way through an address", () => {
  const filters = [
    { column: "a", test: "is", value: "1" },
    { column: "b", test: "null", value: "" },
  ] as const;
  assert.deepEqual(parseFilters(formatFilters(filters)), filters);
  assert.equal(formatFilters([]), undefined);
});

Deno.test("An address that somebody has changed gives the filters that are left", () => {
  for (const text of [undefined, "", "{", "{}", "null", "[1, null, []]"]) {
    assert.deepEqual(parseFilters(text), [], String(text));
  }
  assert.deepEqual(parseFilters('[["a","toString","1"],["a","is",7],["a","is"]]'), [
    { column: "a", test: "is", value: "" },
  ]);
  const many = JSON.stringify(Array(FILTERS_MAX + 5).fill(["a", "is", "1"]));
  assert.equal(parseFilters(many).length, FILTERS_MAX);
});
