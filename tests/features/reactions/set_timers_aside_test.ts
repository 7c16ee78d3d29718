/** Due timers of paused environments, beside those of others. */

import assert from "node:assert/strict";
import { putTimersAside, returnTimers } from "../../../src/features/reactions/set_timers_aside.ts";
import { followPauses } from "../../../src/features/reactions/follow_pauses.ts";
import { savePause } from "../../../src/store/reactions/paused_reactions.ts";
import { listDueTimers, setTimer, type Timer, type TimerKind } from "../../../src/store/timers.ts";
import { QUEUE_SHARDS } from "../../../src/domain/fairness/work_share.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const PAUSED = { state: "paused", since: "2026-01-01T00:00:00.000Z", by: "anna" } as const;

function timer(tenant: number, kind: TimerKind): Timer {
  return { dueMs: 5, tenant, kind, id: `${kind} of ${tenant}` };
}

async function idsOf(engine: Engine): Promise<string[]> {
  const shards = Array.from({ length: QUEUE_SHARDS.timer }, (_, shard) => shard);
  const found = await engine.snapshot((tx) =>
    Promise.all(shards.map((shard) => listDueTimers(tx, shard, 10, 100)))
  );
  return found.flat().map(({ id }) => id).sort();
}

Deno.test("timers that react go aside where that is paused, others stay, and all come back", async () => {
  await withTemporaryEngine(async (engine) => {
    const timers = [timer(1, "scheduled"), timer(1, "saga"), timer(1, "delivery")];
    const other = timer(2, "scheduled");
    await engine.transact((tx) => {
      for (const each of [...timers, other]) setTimer(tx, each);
      savePause(tx, 1, PAUSED);
      return Promise.resolve();
    });
    const paused = followPauses(engine, fakeHost());
    await paused.ready();
    const aside = await putTimersAside(engine, paused, [...timers, other]);
    assert.deepEqual([...aside], timers.slice(0, 2));
    assert.deepEqual(await idsOf(engine), ["delivery of 1", "scheduled of 2"]);
    assert.equal(await returnTimers(engine, paused), 0);

    await engine.transact((tx) => {
      savePause(tx, 1, { ...PAUSED, state: "resuming" });
      return Promise.resolve();
    });
    paused.forget();
    await paused.ready();
    assert.equal(await returnTimers(engine, paused), 2);
    const all = ["delivery of 1", "saga of 1", "scheduled of 1", "scheduled of 2"];
    assert.deepEqual(await idsOf(engine), all);
    await paused.close();
  });
});
