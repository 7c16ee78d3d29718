/** Calls without an answer: detected in time, and only if the other side is at fault. */

import assert from "node:assert/strict";
import { EngineUnavailable } from "../../../src/kv/engine.ts";
import { openStalls, type Tracked } from "../../../src/kv/foundationdb/stalls.ts";

function never(): Promise<never> {
  return new Promise(() => {});
}

function wait(milliseconds: number): Promise<void> {
  return new Promise((end) => setTimeout(end, milliseconds));
}

async function withTracked(
  body: (tracked: Tracked, cancels: () => number) => Promise<void>,
): Promise<void> {
  const stalls = openStalls({ turnMs: 10, turnsMax: 5 });
  let cancels = 0;
  const tracked = stalls.track(() => cancels++);
  try {
    await body(tracked, () => cancels);
  } finally {
    stalls.close();
  }
}

Deno.test("a call without an answer is cancelled once and rejects, as do later ones", async () => {
  await withTracked(async (tracked, cancels) => {
    await assert.rejects(tracked.answer(never()), EngineUnavailable);
    await assert.rejects(tracked.answer(never()), EngineUnavailable);
    assert.equal(cancels(), 1);
  });
});

Deno.test("calls that are answered in time go on for as long as they like", async () => {
  await withTracked(async (tracked, cancels) => {
    for (let i = 0; i < 6; i++) assert.equal(await tracked.answer(wait(15).then(() => i)), i);
    await wait(80);
    await assert.rejects(tracked.answer(Promise.reject(new Error("refused"))), /refused/);
    assert.equal(await tracked.answer(wait(15).then(() => "last")), "last");
    assert.equal(cancels(), 0);
  });
});

Deno.test("waiting for others first counts into the same four seconds", async () => {
  await withTracked(async (tracked) => {
    await tracked.wait(wait(35));
    const startedMs = performance.now();
    await assert.rejects(tracked.answer(never()), EngineUnavailable);
    assert.ok(performance.now() - startedMs < 40);
  });
});

Deno.test("time in which this process was held up is not the cluster's", async () => {
  await withTracked(async (tracked, cancels) => {
    const call = tracked.answer(wait(20).then(() => "answered"));
    const end = performance.now() + 100;
    while (performance.now() < end);
    assert.equal(await call, "answered");
    assert.equal(cancels(), 0);
  });
});
