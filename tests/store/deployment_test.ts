/** The note about the first start. */

import assert from "node:assert/strict";
import { deepEqual, equal } from "node:assert/strict";
import {
  readFirstStart,
  readSecret,
  storeFirstStart,
  storeSecret,
} from "../../src/store/deployment.ts";
import { withTemporaryEngine } from "../support/temporary_engine.ts";

Deno.test("readFirstStart() gives back what was noted, and nothing before", async () => {
  await withTemporaryEngine(async (engine) => {
    assert.equal(await engine.snapshot(readFirstStart), undefined);
    const record = { instance_id: "i", place: "/data/x on host", made_at: "2026-01-01T00:00:00Z" };
    await engine.transact((tx) => Promise.resolve(storeFirstStart(tx, record)));
    assert.deepEqual(await engine.snapshot(readFirstStart), record);
  });
});

Deno.test("readSecret() gives the bytes that storeSecret() kept, by name", async () => {
  await withTemporaryEngine(async (engine) => {
    await engine.transact((tx) => Promise.resolve(storeSecret(tx, "jwt", Uint8Array.of(1, 0, 2))));
    await engine.snapshot(async (tx) => {
      deepEqual(await readSecret(tx, "jwt"), Uint8Array.of(1, 0, 2));
      equal(await readSecret(tx, "other"), undefined);
    });
  });
});
