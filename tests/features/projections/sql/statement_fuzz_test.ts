/**
 * Random statements. Those from the grammar give what another SQLite gives (Python's, on tables
 * that the test makes itself). A soup of words is always answered, and changes nothing.
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../../../../src/domain/json.ts";
import { uuid } from "../../../support/service_fixture.ts";
import { soup, type Statement, statement } from "../../../support/sql_statements.ts";
import { askSqlite, missingSqlite } from "../../../support/sqlite_oracle.ts";
import { parseReply, refusalText, withQueries } from "../../../support/projection_queries.ts";

const RUNS = Number(Deno.env.get("SQL_FUZZ_RUNS") ?? 400);
const SEED = Number(Deno.env.get("SQL_FUZZ_SEED") ?? Math.floor(Math.random() * 2 ** 31));
const TIMEOUT_MS = 4_000;
/** Older versions round sums differently. */
const TOLERANCE = 1e-9;

/** Numbers whose sums are exact. */
const ORDERS: readonly JsonObject[] = [
  { status: "open", total: 10, lines: 1, paid: true, placed_at: 0, tags: ["a", 1], note: "x" },
  { status: "open", total: 2.5, lines: 2, paid: false, tags: {}, note: 7 },
  { status: "paid", total: -4, lines: 2, note: 7.5 },
  { status: "", lines: 0, tags: "text", note: true },
  { total: 0.25, paid: true, tags: 5, note: { a: [null] } },
  { status: "é%_", total: 1e6, lines: -3, note: "12" },
  {},
];

const TYPES = [
  ["key", "TEXT"],
  ["status", "TEXT"],
  ["total", "REAL"],
  ["lines", "INTEGER"],
  ["paid", "INTEGER"],
  ["placed_at", "TEXT"],
  ["tags", "TEXT"],
  ["note", ""],
] as const;

/** The row of an order as a reader of the reference would insert it. */
function inserted(order: JsonObject, index: number): JsonValue[] {
  const { status, total, lines, paid, placed_at: placed, tags, note } = order;
  return [
    uuid(index),
    status ?? null,
    total ?? null,
    lines ?? null,
    paid === undefined ? null : Number(paid),
    placed === undefined ? null : new Date(Number(placed) * 1000).toISOString(),
    tags === undefined ? null : JSON.stringify(tags),
    note === undefined
      ? null
      : typeof note === "object"
      ? JSON.stringify(note)
      : typeof note === "boolean"
      ? Number(note)
      : note,
  ];
}

function isSame(one: JsonValue, other: JsonValue): boolean {
  if (typeof one !== "number" || typeof other !== "number") return one === other;
  return one === other || Math.abs(one - other) <= TOLERANCE * Math.max(1, Math.abs(other));
}

Deno.test({
  name: "statements give what they give on SQLite elsewhere",
  ignore: await missingSqlite(),
  async fn() {
    const asked: Statement[] = fc.sample(statement, { numRuns: RUNS, seed: SEED });
    const table = { columns: TYPES, rows: ORDERS.map(inserted) };
    const answers = await askSqlite({ orders: table }, asked);
    let answered = 0;
    await withQueries(async ({ place, query }) => {
      await place(ORDERS.map((order, index) => [index, order] as const));
      for (const [index, { sql, params }] of asked.entries()) {
        const right = answers[index]!;
        const what = `seed ${SEED}: ${sql} ${JSON.stringify(params)}`;
        const outcome = await query(sql, params);
        if ("error" in right || right.isBeyondJson) {
          assert.match(refusalText(outcome), /^sql_not_allowed: ./, what);
          continue;
        }
        assert.ok(outcome.ok, `${what}\n${JSON.stringify(outcome)}`);
        answered++;
        const { columns, rows, truncated, row_count } = parseReply(outcome.value);
        assert.deepEqual(columns, right.columns, what);
        assert.equal(truncated, false);
        assert.equal(row_count, right.rows.length, what);
        for (const [place, row] of (rows as JsonObject[]).entries()) {
          const values = right.columns.map((name) => row[name]!);
          const wanted = right.rows[place]!;
          const shown = `${what}\n${JSON.stringify(values)}\n${JSON.stringify(wanted)}`;
          assert.ok(values.every((value, at) => isSame(value, wanted[at]!)), shown);
        }
      }
    }, { timeoutMs: TIMEOUT_MS });
    assert.ok(answered > RUNS / 2, `of ${RUNS} statements ${answered} were answered`);
  },
});

Deno.test("whatever is sent is answered or refused, and changes nothing", async () => {
  const texts = fc.sample(soup, { numRuns: RUNS, seed: SEED });
  await withQueries(async ({ place, query, rows }) => {
    await place(ORDERS.map((order, index) => [index, order] as const));
    const before = await rows("SELECT * FROM orders");
    let answered = 0;
    for (const sql of texts) {
      const outcome = await query(sql);
      if (outcome.ok) {
        answered++;
        parseReply(outcome.value);
      } else {
        assert.match(refusalText(outcome), /^sql_(not_allowed|timeout): ./, `seed ${SEED}: ${sql}`);
      }
    }
    assert.ok(answered > 0);
    assert.deepEqual(await rows("SELECT * FROM orders"), before);
  }, { timeoutMs: TIMEOUT_MS });
});
