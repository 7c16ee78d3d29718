/** Two processes on one store, each with its own copy: the same query, the same answer. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { newCounters } from "../../../../src/domain/measures/counters.ts";
import type { JsonObject } from "../../../../src/domain/json.ts";
import { createSql } from "../../../../src/features/projections/sql/query_projections.ts";
import { statement } from "../../../support/sql_statements.ts";
import { refusalText, withQueries } from "../../../support/projection_queries.ts";

const ROUNDS = 4;
const STATEMENTS = 40;
const STATUSES = ["open", "paid", "é"];

Deno.test("two nodes give the same answer to the same query, however their copies came about", async () => {
  await withQueries(async ({ place, query, engine, host, tenant, folder }) => {
    const world = { engine, host, counters: newCounters() };
    const other = createSql(world, { runners: 2, folder: `${folder}-of-the-other` });
    try {
      for (let round = 0; round < ROUNDS; round++) {
        const orders = Array.from({ length: 30 }, (_, n): [number, JsonObject] => {
          const number = (n * 7 + round * 11) % 50;
          const status = STATUSES[(n + round) % STATUSES.length]!;
          return [number, { status, total: n / 3, lines: n % 5, note: [n, round] }];
        });
        await place(orders);
        // The other node makes its copy later, and catches up on two rounds at once.
        assert.ok((await query("SELECT count(*) FROM orders")).ok);
        if (round % 2 === 0) continue;
        for (const { sql, params } of fc.sample(statement, STATEMENTS)) {
          // Also without ORDER BY, where rows come in the table's order.
          for (const text of [sql, sql.replace(/ ORDER BY [^)]*$/, "")]) {
            const one = await query(text, params);
            const two = await other.query(tenant, { sql: text, params });
            assert.equal(one.ok, two.ok, text);
            if (!one.ok || !two.ok) assert.equal(refusalText(one), refusalText(two), text);
            else assert.deepEqual(one.value.fields, two.value.fields, text);
          }
        }
      }
    } finally {
      await other.close();
    }
  });
});
