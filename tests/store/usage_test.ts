/** Counters of stored events, by `src/store/usage.ts`. */

import assert from "node:assert/strict";
import { keys } from "../../src/store/keys.ts";
import { countUsage, monthEnd, monthOf, readUsage } from "../../src/store/usage.ts";
import { withTemporaryEngine } from "../support/temporary_engine.ts";

Deno.test("events of a month are summed up over all counters, for each environment and month apart", async () => {
  await withTemporaryEngine(async (engine) => {
    for (let number = 0; number < 100; number++) {
      await engine.transact((tx) => {
        countUsage(tx, 1, { month: "2026-01", events: number, subject: `stream ${number}` });
        countUsage(tx, 1, { month: "2026-02", events: 1, subject: `stream ${number}` });
        countUsage(tx, 2, { month: "2026-01", events: 2, subject: `stream ${number}` });
        return Promise.resolve();
      });
    }
    const read = (tenant: number, month: string) =>
      engine.snapshot((tx) => readUsage(tx, tenant, month));
    assert.equal(await read(1, "2026-01"), 4_950);
    assert.equal(await read(1, "2026-02"), 100);
    assert.equal(await read(2, "2026-01"), 200);
    assert.equal(await read(2, "2025-12"), 0);
    const used = await engine.snapshot((tx) => tx.getRange(keys.usages(1, "2026-01")));
    assert.equal(used.length, 8, "all counters are used");
  });
});

Deno.test("transactions that count at the same time do not conflict, and none is lost", async () => {
  await withTemporaryEngine(async (engine) => {
    let runs = 0;
    await Promise.all(Array.from({ length: 50 }, () =>
      engine.transact((tx) => {
        runs++;
        countUsage(tx, 1, { month: "2026-01", events: 3, subject: "one stream" });
        return Promise.resolve();
      })));
    assert.equal(runs, 50);
    assert.equal(await engine.snapshot((tx) => readUsage(tx, 1, "2026-01")), 150);
  });
});

Deno.test("months are those of UTC, with their last and first milliseconds", () => {
  assert.equal(monthOf(Date.UTC(2026, 1, 1) - 1), "2026-01");
  assert.equal(monthOf(Date.UTC(2026, 1, 1)), "2026-02");
  assert.equal(monthEnd("2026-01"), "2026-02-01T00:00:00.000Z");
  assert.equal(monthEnd("2026-12"), "2027-01-01T00:00:00.000Z");
});
