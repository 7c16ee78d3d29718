/** The parameters of a statement, and what was typed for them. */

import assert from "node:assert/strict";
import {
  PARAMETERS_MAX,
  parametersOf,
  valuesOf,
} from "../../../console/src/projections/sql_parameters.ts";

Deno.test("Question marks are numbered as SQLite numbers them", () => {
  const cases: [string, readonly string[]][] = [
    ["SELECT ?", ["1"]],
    ["SELECT ?, ?", ["1", "2"]],
    // A bare one is one more than the largest before it.
    ["SELECT ?3, ?", ["1", "2", "3", "4"]],
    ["SELECT ?2, ?1", ["1", "2"]],
  ];
  for (const [sql, names] of cases) {
    assert.deepEqual(parametersOf(sql), { names, kind: "by_place" }, sql);
  }
});

Deno.test("A name stands for one parameter, whatever its sign and however often", () => {
  assert.deepEqual(parametersOf("SELECT :a, @b, $c, :a WHERE x > $a"), {
    names: ["a", "b", "c"],
    kind: "by_name",
  });
});

Deno.test("What stands in texts, quoted names and comments is no parameter", () => {
  const sql = `SELECT '? '':a', "? "":b", \`:c\`, [:d] -- ? :e
    /* ? :f
    */ FROM t`;
  assert.deepEqual(parametersOf(sql), { names: [], kind: "none" });
});

Deno.test("A text, name or comment without an end hides all that follows", () => {
  for (const begin of ["'it''s", '"', "`", "[", "/* *"]) {
    assert.deepEqual(parametersOf(`SELECT ${begin} ? :a`), { names: [], kind: "none" }, begin);
  }
});

Deno.test("Names together with question marks are told apart", () => {
  assert.equal(parametersOf("SELECT ?, :a").kind, "mixed");
});

Deno.test("A statement with very many parameters makes no fields", () => {
  for (const sql of ["?,".repeat(PARAMETERS_MAX + 1), "?999999999", "?".repeat(100_000)]) {
    assert.deepEqual(parametersOf(sql), { names: [], kind: "too_many" });
  }
  const names = Array.from({ length: PARAMETERS_MAX + 1 }, (_, at) => `:p${at}`).join();
  assert.equal(parametersOf(names).kind, "too_many");
});

Deno.test("Values are sent in a list or by name, as the statement has them", () => {
  assert.deepEqual(valuesOf(parametersOf("?2 ?1"), { 1: "a", 2: "2" }), ["a", 2]);
  assert.deepEqual(valuesOf(parametersOf(":n :t"), { n: "1", t: "null", other: "1" }), {
    n: 1,
    t: null,
  });
  assert.equal(valuesOf(parametersOf("SELECT 1"), {}), undefined);
});

Deno.test("A parameter may have any name, and an untouched field is an empty text", () => {
  const values = valuesOf(parametersOf(":__proto__ :toString"), {});
  assert.deepEqual(Object.entries(values!), [["__proto__", ""], ["toString", ""]]);
});
