/** Ended sagas are kept for their retention; running ones are never touched. */

import assert from "node:assert/strict";
import { limits } from "../../../src/domain/limits.ts";
import {
  isEndState,
  SAGA_STATES,
  type SagaInstance,
  type SagaState,
} from "../../../src/domain/saga/instance.ts";
import { sagaIdsFrom } from "../../../src/domain/saga/saga_id.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import {
  type EndedSagaPlace,
  listSagas,
  readSaga,
  removeSaga,
  type SagaRecord,
  saveSaga,
  sweepEndedSagas,
} from "../../../src/store/sagas/sagas.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const TENANT = 4;
const NOW = 1_800_000_000;
const OVER = NOW - limits.sagaRetentionSeconds;

function record(state: SagaState, startedAt: number, updatedAt: number, reason = "r"): SagaRecord {
  const instance: SagaInstance = {
    id: `${sagaIdsFrom(startedAt)}${state}`,
    name: "a",
    definition: "d",
    state,
    startedAt,
    updatedAt,
    trigger: { key: "order:global", event_type: "was_placed", stream_id: "000000000000" },
    completed: [],
    history: [{ at: updatedAt, step: "s", outcome: "failed", reason }],
  };
  return { instance, depth: 1, requestId: "r" };
}

async function saveAll(engine: Engine, records: readonly SagaRecord[]): Promise<void> {
  await engine.transact((tx) => {
    for (const each of records) saveSaga(tx, TENANT, undefined, each);
    return Promise.resolve();
  });
}

/** A whole round in steps of `limit`; returns how many were removed, and in how many steps. */
async function sweepRound(engine: Engine, limit: number) {
  let removed = 0;
  let after: EndedSagaPlace | undefined;
  for (let steps = 1; steps < 200; steps++) {
    const step = await engine.transact((tx) =>
      sweepEndedSagas(tx, TENANT, { after, now: NOW, limit })
    );
    removed += step.removed;
    after = step.next;
    if (after === undefined) return { removed, steps };
  }
  throw new Error("the round does not end");
}

async function idsLeft(engine: Engine): Promise<string[]> {
  const lists = await engine.snapshot((tx) =>
    Promise.all([{}, { name: "a" }].map((filter) => listSagas(tx, TENANT, filter, { limit: 100 })))
  );
  const [all, named] = lists.map((list) => list.map(({ saga_id }) => saga_id).sort());
  assert.deepEqual(all, named, "both lists tell the same");
  return all!;
}

Deno.test("sweepEndedSagas() removes what ended 30 days ago, from both lists, and nothing else", async () => {
  const starts = [OVER - 5_000, OVER - 5, OVER, OVER + 1, NOW];
  const records = SAGA_STATES.flatMap((state) =>
    starts.flatMap((start) =>
      [OVER - 1, OVER, OVER + 1, NOW].filter((end) => end >= start).map((end, at) => {
        const made = record(state, start, end);
        return { ...made, instance: { ...made.instance, id: `${made.instance.id}${at}` } };
      })
    )
  );
  const kept = records.filter(({ instance }) =>
    !isEndState(instance.state) || instance.updatedAt > OVER
  );
  assert.equal(limits.sagaRetentionSeconds, 30 * 24 * 3600);
  for (const limit of [1, 3, 1_000]) {
    await withTemporaryEngine(async (engine) => {
      await saveAll(engine, records);
      const { removed, steps } = await sweepRound(engine, limit);
      assert.equal(removed, records.length - kept.length);
      assert.ok(limit < 1_000 || steps === 1);
      assert.deepEqual(await idsLeft(engine), kept.map(({ instance }) => instance.id).sort());
      for (const { instance } of records) {
        const found = await engine.snapshot((tx) => readSaga(tx, TENANT, instance.id));
        assert.equal(found !== undefined, kept.some((each) => each.instance.id === instance.id));
      }
    });
  }
});

Deno.test("sweepEndedSagas() looks at no saga that was started too late to be over", async () => {
  await withTemporaryEngine(async (engine) => {
    const records = Array.from({ length: 50 }, (_, n) => record("completed", OVER + 1 + n, NOW));
    await saveAll(engine, records);
    assert.deepEqual(await sweepRound(engine, 1), { removed: 0, steps: 1 });
  });
});

Deno.test("a large saga goes with its pieces", async () => {
  await withTemporaryEngine(async (engine) => {
    const everything = { begin: new Uint8Array([0x15]), end: new Uint8Array([0x16]) };
    const isEmpty = async () =>
      (await engine.snapshot((tx) => tx.getRange(everything))).length === 0;
    await saveAll(engine, [record("failed", OVER - 9, OVER - 8, "x".repeat(300_000))]);
    assert.equal(await isEmpty(), false);
    assert.equal((await sweepRound(engine, 10)).removed, 1);
    assert.equal(await isEmpty(), true);
  });
});

Deno.test("removeSaga() is a fault for a saga that runs", async () => {
  await withTemporaryEngine(async (engine) => {
    const running = record("running", OVER, OVER);
    await assert.rejects(
      engine.transact((tx) => Promise.resolve(removeSaga(tx, TENANT, running))),
      /a saga that runs is not removed/,
    );
  });
});
