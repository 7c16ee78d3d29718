/** Error records are retained for 24 hours. See docs/reference/errors.md. */

import assert from "node:assert/strict";
import {
  listErrorRecords,
  readErrorRecord,
  storeErrorRecord,
  sweepErrorRecords,
} from "../../src/store/error_records.ts";
import { keys } from "../../src/store/keys.ts";
import { withTemporaryEngine } from "../support/temporary_engine.ts";

const START_MS = Date.UTC(2026, 0, 1, 12, 30);
const DAY_MS = 24 * 3600 * 1000;
const record = {
  error_id: "err_1",
  error_type: "internal",
  message: "What failed",
  context: { event_key: "order:global" },
  request_id: "request-1",
  occurred_at: new Date(START_MS).toISOString(),
};

Deno.test("readErrorRecord() gives the record for 24 hours to the millisecond", async () => {
  await withTemporaryEngine(async (engine) => {
    await engine.transact((tx) => Promise.resolve(storeErrorRecord(tx, 1, record)));
    const read = (nowMs: number, tenant = 1) =>
      engine.snapshot((tx) => readErrorRecord(tx, tenant, "err_1", nowMs));
    assert.deepEqual(await read(START_MS), record);
    assert.deepEqual(await read(START_MS + DAY_MS - 1), record);
    assert.equal(await read(START_MS + DAY_MS), undefined);
    assert.equal(await read(START_MS, 2), undefined, "another tenant does not see it");
  });
});

Deno.test("listErrorRecords() gives the newest before a record, of one tenant", async () => {
  await withTemporaryEngine(async (engine) => {
    await engine.transact((tx) => {
      for (const tenant of [1, 2]) {
        for (const id of ["err_a", "err_c", "err_b"]) {
          storeErrorRecord(tx, tenant, { ...record, error_id: id });
        }
      }
      return Promise.resolve();
    });
    const list = async (page: { start?: string; limit: number }) => {
      const records = await engine.snapshot((tx) => listErrorRecords(tx, 1, page));
      return records.map(({ error_id }) => error_id);
    };
    assert.deepEqual(await list({ limit: 2 }), ["err_c", "err_b"]);
    assert.deepEqual(await list({ limit: 9, start: "err_b" }), ["err_a"]);
    assert.deepEqual(await list({ limit: 9, start: "err_a" }), []);
  });
});

Deno.test("sweepErrorRecords() removes ended records and nothing before their end", async () => {
  await withTemporaryEngine(async (engine) => {
    await engine.transact((tx) => Promise.resolve(storeErrorRecord(tx, 1, record)));
    const sweep = (nowMs: number) => engine.transact((tx) => sweepErrorRecords(tx, nowMs, 10));
    assert.equal(await sweep(START_MS + DAY_MS - 1), 0);
    assert.equal(await sweep(START_MS + DAY_MS + 2 * 3600 * 1000), 1);
    assert.equal(await engine.snapshot((tx) => tx.get(keys.errorRecord(1, "err_1"))), undefined);
    assert.equal(await sweep(START_MS + 2 * DAY_MS), 0);
  });
});
