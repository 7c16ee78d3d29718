/** The note about the first start. */

import assert from "node:assert/strict";
import { readFirstStart, storeFirstStart } from "../../src/store/first_start.ts";
import { withTemporaryEngine } from "../support/temporary_engine.ts";

Deno.test("readFirstStart() gives back what was noted, and nothing before", async () => {
  await withTemporaryEngine(async (engine) => {
    assert.equal(await engine.snapshot(readFirstStart), undefined);
    const record = { instance_id: "i", place: "/data/x on host", made_at: "2026-01-01T00:00:00Z" };
    await engine.transact((tx) => Promise.resolve(storeFirstStart(tx, record)));
    assert.deepEqual(await engine.snapshot(readFirstStart), record);
  });
});
