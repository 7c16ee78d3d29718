/** Rows as JSON text: whole rows, within the limits, nothing changed on the way. */

import assert from "node:assert/strict";
import { limits } from "../../src/domain/limits.ts";
import { renderRows } from "../../src/sql/render_rows.ts";

function parse(columns: string[], rows: unknown[][]): unknown {
  const rendered = renderRows(columns, rows);
  return rendered.ok ? JSON.parse(`{${rendered.text}}`) : rendered.reason;
}

Deno.test("renderRows() gives objects by column, with numbers and texts as they are", () => {
  const rows = [[1n, 0.1, 'a"\u2028é', null], [-9007199254740991n, -0, "", "__proto__"]];
  assert.deepEqual(parse(["a", "b", "c d", "__e"], rows), {
    columns: ["a", "b", "c d", "__e"],
    rows: [
      { a: 1, b: 0.1, "c d": 'a"\u2028é', __e: null },
      { a: -9007199254740991, b: 0, "c d": "", __e: "__proto__" },
    ],
    row_count: 2,
    truncated: false,
  });
});

Deno.test("renderRows() keeps a column whose name is special to the language", () => {
  const rendered = renderRows(["__proto__"], [["x"]]);
  assert.ok(rendered.ok && rendered.text.includes('"rows":[{"__proto__":"x"}]'));
});

Deno.test("renderRows() refuses what JSON would change", () => {
  for (const value of [2n ** 53n, -(2n ** 62n), Infinity, -Infinity, NaN, new Uint8Array(1)]) {
    assert.equal(typeof parse(["a"], [[value]]), "string", String(value));
  }
});

Deno.test("renderRows() reads no further than the limits", () => {
  let read = 0;
  function* endless(text: string): Generator<unknown[]> {
    for (;;) {
      read++;
      yield [text];
    }
  }
  const many = renderRows(["a"], endless("x"));
  assert.ok(many.ok && many.text.endsWith(`"row_count":${limits.sqlRowsMax},"truncated":true`));
  assert.equal(read, limits.sqlRowsMax + 1);
  read = 0;
  const wide = renderRows(["a"], endless("é".repeat(1_000_000)));
  assert.ok(wide.ok && wide.text.endsWith(`"row_count":4,"truncated":true`));
  assert.equal(read, 5);
});
