/** What engines do that differ from another one in a method. */

import assert from "node:assert/strict";
import { type Engine, EngineUnavailable } from "../../src/kv/engine.ts";
import { inBackground, measureEngine, wrapEngine } from "../../src/kv/calls.ts";
import { bytes } from "../contract/engine_fixture.ts";
import { type FaultPlan, faultyEngine } from "../support/faulty_engine.ts";
import { withTemporaryEngine } from "../support/temporary_engine.ts";

/** `[isCommitted, runs, seconds]` of each transaction; each look at the clock takes a second. */
async function heard(plan: FaultPlan, body: (engine: Engine) => Promise<void>) {
  const calls: unknown[][] = [];
  await withTemporaryEngine(async (inner) => {
    let nowMs = 0;
    const clock = () => nowMs += 1_000;
    await body(measureEngine(faultyEngine(inner, plan), clock, (...call) => calls.push(call)));
  });
  return calls;
}

function write(engine: Engine): Promise<void> {
  return engine.transact((tx) => Promise.resolve(tx.set(bytes("a"), bytes("1"))));
}

Deno.test("measureEngine() tells of a commit after one run, and how long it took", async () => {
  assert.deepEqual(await heard([], write), [[true, 1, 1]]);
});

Deno.test("measureEngine() counts the runs after conflicts", async () => {
  assert.deepEqual(await heard([{ kind: "conflict", times: 3 }], write), [[true, 4, 1]]);
});

for (const landed of [false, true]) {
  Deno.test(`measureEngine() counts one commit when a reply is lost (landed: ${landed})`, async () => {
    // A commit that landed is recognized by its marker, so its body does not run again.
    const runs = landed ? 1 : 2;
    assert.deepEqual(await heard([{ kind: "lose_reply", landed }], write), [[true, runs, 1]]);
  });

  Deno.test(`measureEngine() tells of an outage as a failure (landed: ${landed})`, async () => {
    const calls = await heard([{ kind: "unavailable", landed }], async (engine) => {
      await assert.rejects(write(engine), EngineUnavailable);
    });
    assert.deepEqual(calls, [[false, 1, 1]]);
  });
}

Deno.test("measureEngine() tells of what a body throws, and throws it on", async () => {
  const calls = await heard([], async (engine) => {
    await assert.rejects(engine.transact(() => Promise.reject(new RangeError("mine"))), RangeError);
  });
  assert.deepEqual(calls, [[false, 1, 1]]);
});

Deno.test("measureEngine() passes on what the engine tells of itself", async () => {
  await withTemporaryEngine(async (inner) => {
    const told = { conflicts: 7 };
    const capabilities = { isShared: true };
    const failure = new EngineUnavailable("broken");
    const tells: Partial<Engine> = {
      capabilities,
      measure: () => Promise.resolve(told),
      durableVersion: () => 9,
      forget: () => Promise.reject(failure),
      failure: () => failure,
      untilBroken: () => Promise.resolve(failure),
    };
    const measured = measureEngine(wrapEngine(inner, tells), () => 0, () => {});
    assert.equal(measured.capabilities, capabilities);
    assert.equal(await measured.measure(), told);
    assert.equal(measured.durableVersion(), 9);
    await assert.rejects(measured.forget(), failure);
    assert.equal(measured.failure(), failure);
    assert.equal(await measured.untilBroken(), failure);
  });
});

Deno.test("inBackground() says of each transaction that nobody waits for it", async () => {
  await withTemporaryEngine(async (inner) => {
    const heard: unknown[] = [];
    const engine = inBackground(wrapEngine(inner, {
      transact(body, options) {
        heard.push(options);
        return inner.transact(body, options);
      },
    }));
    await write(engine);
    await engine.transact(() => Promise.resolve(), { owner: 7, isBackground: false });
    assert.deepEqual(heard, [{ isBackground: true }, { owner: 7, isBackground: true }]);
  });
});
