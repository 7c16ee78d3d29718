/** How JSON appears in SQL: as SQLite's own `json_extract` returns it. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import type { JsonValue } from "../../../src/domain/json.ts";
import { sqlTypeOf, sqlValue } from "../../../src/domain/projection/sql_value.ts";
import type { ColumnType } from "../../../src/domain/projection/ready_projection.ts";

Deno.test("sqlValue() gives what json_extract gives of the same JSON", () => {
  const database = new DatabaseSync(":memory:");
  const extract = database.prepare("SELECT json_extract(?, '$.v') AS v, typeof(?) AS ours");
  extract.setReadBigInts(true);
  fc.assert(fc.property(fc.jsonValue(), (value) => {
    // Larger whole numbers are INTEGER there and REAL here: another test covers them.
    fc.pre(!Number.isInteger(value) || Number.isSafeInteger(value));
    const text = JSON.stringify({ v: value });
    const ours = sqlValue(value as JsonValue);
    // JavaScript writes such numbers as 1e+21 or -0; only one of the two sides takes those as
    // whole numbers.
    fc.pre(typeof value !== "number" || !/e|^-0$/.test(JSON.stringify(value)));
    fc.pre(!text.includes("\\u"));
    const found = extract.get(text, ours)!;
    if (typeof value === "object" && value !== null) {
      assert.deepEqual(JSON.parse(String(found.v)), JSON.parse(String(ours)));
    } else assert.equal(found.v, ours);
    database.prepare("SELECT 1").get();
  }));
  database.close();
});

Deno.test('sqlValue() keeps a json column as JSON text, so that 1 and "1" differ', () => {
  assert.equal(sqlValue("1", "json"), '"1"');
  assert.equal(sqlValue(1, "json"), "1");
  assert.equal(sqlValue({ a: [true] }, "json"), '{"a":[true]}');
  assert.equal(sqlValue(null, "json"), null);
});

Deno.test("sqlValue() has whole numbers as INTEGER, but not in a column of numbers or beyond a double", () => {
  assert.equal(sqlValue(3), 3n);
  assert.equal(sqlValue(3, "integer"), 3n);
  assert.equal(sqlValue(3, "number"), 3);
  assert.equal(sqlValue(3.5), 3.5);
  for (const sign of [1, -1]) {
    assert.equal(sqlValue(sign * (2 ** 53 - 1)), BigInt(sign) * (2n ** 53n - 1n));
    assert.equal(sqlValue(sign * 2 ** 53), sign * 2 ** 53);
    assert.equal(sqlValue(sign * 2 ** 62), sign * 2 ** 62);
  }
  assert.equal(sqlValue(true, "boolean"), 1n);
});

Deno.test("sqlValue() has another character for NUL, at which SQLite would end the text", () => {
  assert.equal(sqlValue("a\0b\0"), "a\ufffdb\ufffd");
});

Deno.test("sqlTypeOf() names types of strict tables", () => {
  const database = new DatabaseSync(":memory:");
  const types: ColumnType[] = [
    "string",
    "integer",
    "number",
    "boolean",
    "timestamp",
    "json",
    "any",
  ];
  const columns = types.map((type) => `c_${type} ${sqlTypeOf(type)}`).join(", ");
  database.exec(`CREATE TABLE t (${columns}) STRICT`);
  database.close();
});
