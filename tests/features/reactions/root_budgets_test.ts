/** Claims of a root's budget: exact to one event, whoever claims at the same moment. */

import assert from "node:assert/strict";
import { makeNamedErrorRecord } from "../../../src/features/base/record_error.ts";
import { claimSaga, noteDropped } from "../../../src/features/writes/root_claims.ts";
import { limits } from "../../../src/domain/limits.ts";
import { rootOf } from "../../../src/domain/reaction/root.ts";
import type { Engine, Transaction } from "../../../src/kv/engine.ts";
import { readRoot, sweepRoots } from "../../../src/store/reactions/roots.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const HOUR_MS = 3_600_000;
const ROOT = rootOf(undefined, "loop:a", "000000000000");

/** Claims a saga with this many steps on its own. */
function claimOf(tx: Transaction, steps: number, nowMs = 0) {
  const start = { nowMs, name: "s", steps, requestId: "r", eventKey: "loop:a", eventType: "e" };
  return claimSaga(tx, 1, ROOT, start);
}

function countOf(engine: Engine): Promise<number | undefined> {
  return engine.snapshot(async (tx) => (await readRoot(tx, 1, ROOT.of))?.count);
}

Deno.test("what is claimed goes a day later, also where the claim was the first of its root", async () => {
  await withTemporaryEngine(async (engine) => {
    assert.equal((await engine.transact((tx) => claimOf(tx, 7))).isGranted, true);
    assert.equal(await countOf(engine), 8);
    await engine.transact((tx) => sweepRoots(tx, 23 * HOUR_MS, 10));
    assert.equal(await countOf(engine), 8);
    await engine.transact((tx) => sweepRoots(tx, 26 * HOUR_MS, 10));
    assert.equal(await countOf(engine), undefined);
  });
});

Deno.test("a saga that needs just what its root has left begins, and one that needs more does not", async () => {
  await withTemporaryEngine(async (engine) => {
    const left = limits.rootEventsMax - 1;
    const isGranted = (steps: number) =>
      engine.transact(async (tx) => (await claimOf(tx, steps)).isGranted);
    assert.equal(await isGranted(left + 1), false);
    assert.equal(await isGranted(left), true);
    assert.equal(await countOf(engine), limits.rootEventsMax);
    assert.equal(await isGranted(1), false);
    assert.equal(await countOf(engine), limits.rootEventsMax);
  });
});

Deno.test("claims of one root at the same moment are both counted", async () => {
  await withTemporaryEngine(async (engine) => {
    let runs = 0;
    await engine.transact(async (tx) => {
      await claimOf(tx, 5);
      if (++runs === 1) await engine.transact((other) => claimOf(other, 3));
    });
    assert.deepEqual([runs, await countOf(engine)], [2, 1 + 5 + 3]);
  });
});

Deno.test("a root that has had something dropped has used up what it had before", async () => {
  await withTemporaryEngine(async (engine) => {
    await engine.transact((tx) => claimOf(tx, 7));
    const error = makeNamedErrorRecord(0, "dropped", {
      error_type: "implication_dropped",
      message: "dropped",
      context: {},
      request_id: "r",
    });
    const isNoted = await engine.transact((tx) => noteDropped(tx, 1, ROOT, "spec", 0, error));
    assert.deepEqual([isNoted, await countOf(engine)], [true, 8]);
  });
});
