/** Parked work is kept for people to look at, but not forever. */

import assert from "node:assert/strict";
import type { OutboxWork } from "../../../src/domain/reaction/outbox_entry.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import { limits } from "../../../src/domain/limits.ts";
import type { Bytes, Engine } from "../../../src/kv/engine.ts";
import { keys } from "../../../src/store/keys.ts";
import { parkEntry } from "../../../src/store/reactions/outbox.ts";
import { sweepParked } from "../../../src/store/reactions/parked_work.ts";
import { parkSchedule, type ScheduleRecord } from "../../../src/store/reactions/schedules.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";
import { charactersParsedIn } from "../../support/parsed_json.ts";

const TENANT = 3;
const NOW_MS = 1_800_000_000_000;
const OVER_MS = NOW_MS - limits.parkedRetentionSeconds * 1000;
const EMISSION = {
  key: streamKey("ledger", "global"),
  aggregateType: "ledger",
  id: "global",
  eventType: "was_noted",
};

function work(index: number, sinceMs: number, text = ""): OutboxWork {
  const entry = {
    kind: "emit",
    emission: { ...EMISSION, data: { text } },
    actor: { type: "user", id: "global" },
    eventType: "was_placed",
    depth: 1,
    requestId: "r",
  } as const;
  const place = { tenant: TENANT, stream: streamKey("order", "global"), index, number: 0 };
  return { place, entry, sinceMs, waitMs: 60_000, tries: 8, bytes: text.length };
}

function schedule(id: string, timerMs: number, text = ""): ScheduleRecord {
  return {
    id,
    emission: { ...EMISSION, data: { text } },
    cancelOn: [],
    createdMs: 0,
    fireAtMs: 1_000,
    by: { key: "order:global", eventType: "was_placed", streamId: "000000000000" },
    requestId: "r",
    tries: 7,
    timerMs,
  };
}

async function parkAll(engine: Engine): Promise<void> {
  const large = "x".repeat(250_000);
  await engine.transact((tx) => {
    for (const [at, ms] of [OVER_MS - 1, OVER_MS, OVER_MS + 1].entries()) {
      parkEntry(tx, work(at, ms, at === 0 ? large : ""));
      parkSchedule(tx, TENANT, schedule(`s${at}`, ms, at === 0 ? large : ""));
    }
    return Promise.resolve();
  });
}

for (const limit of [1, 2, 100]) {
  Deno.test(`sweepParked() removes what was tried last 30 days ago, ${limit} at a time, with its pieces`, async () => {
    await withTemporaryEngine(async (engine) => {
      await parkAll(engine);
      let removed = 0;
      let after: Bytes | undefined;
      for (let steps = 0; steps < 20; steps++) {
        const step = await engine.transact((tx) => sweepParked(tx, after, NOW_MS, limit));
        removed += step.removed;
        after = step.next;
        if (after === undefined) break;
      }
      assert.equal(after, undefined, "the round ends");
      assert.equal(removed, 4);
      const [parked, own] = await engine.snapshot((tx) =>
        Promise.all([tx.getRange(keys.parkeds()), tx.getRange(keys.tenant(TENANT))])
      );
      assert.equal(parked!.length, 2, "one of each kind is left");
      assert.deepEqual(own, [], "and no pieces");
    });
  });
}

Deno.test("sweepParked() reads large entries a few at a time, and decodes none to learn its time", async () => {
  await withTemporaryEngine(async (engine) => {
    for (const text of ["x".repeat(95_000), "x".repeat(150_000)]) {
      for (let index = 0; index < 12; index++) {
        const parked = { ...work(index, OVER_MS + index % 2, text) };
        const place = { ...parked.place, number: text.length };
        await engine.transact((tx) => Promise.resolve(parkEntry(tx, { ...parked, place })));
      }
    }
    let removed = 0;
    let steps = 0;
    const parsed = await charactersParsedIn(async () => {
      let after: Bytes | undefined;
      do {
        const step = await engine.transact((tx) => sweepParked(tx, after, NOW_MS, 50));
        removed += step.removed;
        after = step.next;
        steps++;
      } while (after !== undefined);
    });
    assert.equal(removed, 12);
    assert.ok(steps >= 6, `${steps} steps`);
    assert.equal(parsed, 0);
  });
});
