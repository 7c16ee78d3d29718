/** What is refused of a query before the SQL is looked at. */

import assert from "node:assert/strict";
import { limits } from "../../../src/domain/limits.ts";
import { scriptApp, TOKENS } from "../scripted_service.ts";

Deno.test("params are counted before any of them is looked at", async () => {
  const count = limits.sqlParametersMax + 1;
  const named = Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, {}]));
  for (const params of [Array(count).fill({}), named]) {
    const response = await scriptApp().app.fetch(
      new Request("http://127.0.0.1/_projections/query", {
        method: "POST",
        headers: { authorization: `Bearer ${TOKENS.read}`, "content-type": "application/json" },
        body: JSON.stringify({ sql: "SELECT 1", params }),
      }),
    );
    const { error, error_type } = await response.json();
    assert.equal(error_type, "sql_not_allowed");
    assert.match(error, /^A query has at most 1000 parameters/);
  }
});
