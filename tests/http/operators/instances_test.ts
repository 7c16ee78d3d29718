/** `src/http/operators/instances.ts`: golden cases, and pages that many ask for at once. */

import assert from "node:assert/strict";
import { createApp } from "../../../src/http/app.ts";
import { testGoldenCases } from "../golden_cases.ts";
import { quietHost, scriptService, TEST_LISTENER, TOKENS } from "../scripted_service.ts";

testGoldenCases("instances");

Deno.test("100 pages of instances that are asked for at once are read in a turn each", async () => {
  let turns = 0;
  const yieldTurn = () => {
    turns++;
    return new Promise<void>((resolve) => setImmediate(resolve));
  };
  const listInstances = { ok: true, value: { data: [], limit: 200, truncated: false } };
  const { service } = scriptService({ listInstances });
  const app = createApp(service, { ...quietHost(), yieldTurn }, TEST_LISTENER);
  const headers = { authorization: `Bearer ${TOKENS.operator}` };
  const statuses = await Promise.all(Array.from({ length: 100 }, async () => {
    const response = await app.fetch(new Request("http://127.0.0.1/api/instances", { headers }));
    await response.body?.cancel();
    return response.status;
  }));
  assert.deepEqual(statuses, Array(100).fill(200));
  assert.ok(turns >= 100, `${turns} turns`);
});
