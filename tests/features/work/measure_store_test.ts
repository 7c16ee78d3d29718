/** Measurements of the store for operators: taken once a second, and never waited for in vain. */

import assert from "node:assert/strict";
import { type Engine, EngineUnavailable } from "../../../src/kv/engine.ts";
import { openStoreMeasures } from "../../../src/features/work/measure_store.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { faultyEngine } from "../../support/faulty_engine.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

/** Counts the rounds of reads: each round asks the engine for its measurements once. */
function counted(inner: Engine) {
  let rounds = 0;
  const engine: Engine = {
    transact: (body) => inner.transact(body),
    snapshot: (body) => inner.snapshot(body),
    watch: (key) => inner.watch(key),
    measure: () => Promise.resolve({ conflicts: ++rounds, bytes: { database: 5 } }),
    close: () => inner.close(),
  };
  return { engine, rounds: () => rounds };
}

const EMPTY = [
  { queue: "outbox", depth: 0, lagMs: 0 },
  { queue: "timer", depth: 0, lagMs: 0 },
  { queue: "lane", depth: 0, lagMs: 0 },
  { queue: "view", depth: 0, lagMs: 0 },
  { queue: "erasure", depth: 0, lagMs: 0 },
  { queue: "parked", depth: 0, lagMs: 0 },
];

Deno.test("the store tells its queues and what its engine knows of itself", async () => {
  await withTemporaryEngine(async (inner) => {
    const measure = openStoreMeasures(counted(inner).engine, fakeHost());
    const told = { isUp: true, queues: EMPTY, conflicts: 1, bytes: { database: 5 } };
    assert.deepEqual(await measure(), told);
  });
});

Deno.test("the store is asked once for all who ask at once, and once a second", async () => {
  await withTemporaryEngine(async (inner) => {
    const host = fakeHost();
    const { engine, rounds } = counted(inner);
    const measure = openStoreMeasures(engine, host);
    await Promise.all([measure(), measure(), measure()]);
    host.timeMs += 999;
    await measure();
    assert.equal(rounds(), 1);
    host.timeMs += 1;
    await measure();
    assert.equal(rounds(), 2);
  });
});

Deno.test("a store that is away is told so, and asked again a second later", async () => {
  await withTemporaryEngine(async (inner) => {
    const host = fakeHost();
    let isAway = true;
    const measure = openStoreMeasures(faultyEngine(inner, [], { isAway: () => isAway }), host);
    assert.deepEqual(await measure(), { isUp: false, queues: [] });
    assert.equal(host.lines.length, 1);
    isAway = false;
    host.timeMs += 1_000;
    assert.deepEqual(await measure(), { isUp: true, queues: EMPTY });
  });
});

Deno.test("a store that says nothing is given up after two seconds, and not asked twice", async () => {
  await withTemporaryEngine(async (inner) => {
    const host = fakeHost();
    const silence = Promise.withResolvers<never>();
    let asked = 0;
    const silent: Engine = {
      transact: (body) => inner.transact(body),
      snapshot: () => {
        asked++;
        return silence.promise;
      },
      watch: (key) => inner.watch(key),
      close: () => inner.close(),
    };
    const measure = openStoreMeasures(silent, host);
    for (let round = 0; round < 3; round++) {
      const answer = measure();
      host.timeMs += 2_000;
      assert.deepEqual(await answer, { isUp: false, queues: [] });
    }
    assert.equal(asked, 1);
    silence.reject(new EngineUnavailable("gone"));
    assert.deepEqual(await measure(), { isUp: false, queues: [] });
  });
});
