/** A statement runs once: what ensures that its rows are complete must not run it twice. */

import assert from "node:assert/strict";
import { DatabaseSync, StatementSync } from "node:sqlite";
import { limits } from "../../src/domain/limits.ts";
import { COPY_FORMAT, COPY_SCHEMA, createTable } from "../../src/sql/copy_file.ts";
import type { QueryRequest } from "../../src/sql/query_messages.ts";
import { renderRows, runQuery } from "../../src/sql/run_query.ts";

const SALES = { name: "sales", number: 1, version: 1, stamp: "" };

async function withCopy(body: (path: string) => void): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_query_" });
  try {
    const path = `${folder}/1.db`;
    const database = new DatabaseSync(path);
    database.exec(COPY_SCHEMA);
    database.exec(createTable("sales", [{ name: "n", type: "integer" }]));
    database.exec(`INSERT INTO _views VALUES ('sales', 1, 1, '')`);
    database.exec(`INSERT INTO sales VALUES ('a', 1), ('b', 2), ('c', 2)`);
    assert.equal(database.prepare("PRAGMA user_version").get()?.user_version, COPY_FORMAT);
    database.close();
    body(path);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

type Values = Parameters<StatementSync["all"]>;

/** Runs it, and counts how often rows were fetched one by one and all at once. */
function runCounted(path: string, sql: string) {
  const counts = { iterate: 0, all: 0 };
  const { iterate, all } = StatementSync.prototype;
  const isOwn = (statement: StatementSync) => statement.sourceSQL.includes("FROM sales");
  StatementSync.prototype.iterate = function (this: StatementSync, ...values: Values) {
    if (isOwn(this)) counts.iterate++;
    return iterate.apply(this, values);
  } as typeof iterate;
  StatementSync.prototype.all = function (this: StatementSync, ...values: Values) {
    if (isOwn(this)) counts.all++;
    return all.apply(this, values);
  } as typeof all;
  try {
    const bound = { byPlace: [], byName: {} };
    const asked = { kind: "query", path, tables: [SALES], sql, bound } as const;
    const request: QueryRequest = { ...asked, spills: false };
    return { ...runQuery(request), counts };
  } finally {
    StatementSync.prototype.iterate = iterate;
    StatementSync.prototype.all = all;
  }
}

for (
  const sql of [
    "SELECT n, count(*) AS rows FROM sales GROUP BY n",
    "SELECT n FROM sales ORDER BY key LIMIT 2",
    "SELECT key FROM sales -- all of them",
    "WITH two AS (SELECT * FROM sales WHERE n = 2) SELECT count(*) AS n FROM two;",
  ]
) {
  Deno.test(`runQuery() runs a statement once: ${sql}`, async () => {
    await withCopy((path) => {
      const { result, text, counts } = runCounted(path, sql);
      assert.deepEqual(result, { kind: "rows" });
      assert.deepEqual(counts, { iterate: 1, all: 0 });
      const database = new DatabaseSync(path, { readOnly: true });
      const rows = database.prepare(sql).all();
      database.close();
      assert.deepEqual(JSON.parse(`{${text}}`).rows, rows.map((row) => ({ ...row })));
    });
  });
}

Deno.test("runQuery() tells the failure of a statement that fails in the middle of its rows", async () => {
  await withCopy((path) => {
    const sql = "SELECT CASE n WHEN 2 THEN json_extract('{', '$') ELSE n END AS n FROM sales";
    const { result, text, counts } = runCounted(path, sql);
    assert.deepEqual([result, text], [{ kind: "refused", reason: "malformed JSON" }, ""]);
    assert.deepEqual(counts, { iterate: 1, all: 1 });
  });
});

Deno.test("runQuery() makes sure of rows where no last one can be put behind them", async () => {
  await withCopy((path) => {
    // As many columns as SQLite allows: there is no room for another one.
    const columns = Array.from({ length: 2_000 }, (_, n) => `n AS c${n}`);
    const { result, text, counts } = runCounted(path, `SELECT ${columns} FROM sales`);
    assert.deepEqual(result, { kind: "rows" });
    assert.equal(JSON.parse(`{${text}}`).row_count, 3);
    assert.deepEqual(counts, { iterate: 1, all: 1 });
  });
});

Deno.test("runQuery() has no more rows than are shown, and one to know that there are more", async () => {
  await withCopy((path) => {
    const numbers = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) " +
      "SELECT r.n FROM r JOIN (SELECT count(*) FROM sales)";
    const { text, counts } = runCounted(path, numbers);
    assert.deepEqual(counts, { iterate: 1, all: 0 });
    const reply = JSON.parse(`{${text}}`);
    assert.deepEqual([reply.row_count, reply.truncated], [limits.sqlRowsMax, true]);
  });
});

Deno.test("runQuery() reads no table that is behind the stamp it was promised, and any that is not", async () => {
  await withCopy((path) => {
    const database = new DatabaseSync(path);
    database.exec("UPDATE _views SET stamp = '05'");
    database.close();
    const resultAt = (stamp: string) => {
      const tables = [{ ...SALES, stamp }];
      const bound = { byPlace: [], byName: {} };
      const sql = "SELECT n FROM sales";
      return runQuery({ kind: "query", path, tables, sql, bound, spills: false }).result;
    };
    for (const stamp of ["", "04", "05"]) assert.equal(resultAt(stamp).kind, "rows", stamp);
    assert.deepEqual(resultAt("06"), {
      kind: "copy_unfit",
      isDamaged: false,
      reason: "sales is behind",
    });
  });
});

/** Rows as JSON text: whole rows, within the limits, nothing changed on the way. */
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
