/** Golden cases of `src/http/data/aggregate.ts`: requests and their exact answers. */

import assert from "node:assert/strict";
import { testGoldenCases } from "../golden_cases.ts";
import { scriptApp, TOKENS } from "../scripted_service.ts";

testGoldenCases("aggregate");

Deno.test("a listing prefers start to its older name cursor, and takes an empty one for none", async () => {
  const page = { entries: [], limit: 50, limitClamped: false, truncated: false };
  const rows = [
    ["cursor=a&start=b", "b"],
    ["cursor=a", "a"],
    ["cursor=a&start=", "a"],
    ["start=", undefined],
    ["cursor=", undefined],
    ["start=&cursor=", undefined],
  ] as const;
  for (const [query, start] of rows) {
    const { app, calls } = scriptApp({ listAggregates: { ok: true, value: page } });
    const headers = { authorization: `Bearer ${TOKENS.read}` };
    const response = await app.fetch(new Request(`http://127.0.0.1/order?${query}`, { headers }));
    assert.equal(response.status, 200, await response.text());
    assert.equal((calls[0]![2] as { start?: string }).start, start, query);
  }
});
