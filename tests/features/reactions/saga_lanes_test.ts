/** Inputs of sagas: one transaction after another, and none is held up by another's failure. */

import assert from "node:assert/strict";
import type { Advanced, SagaCause } from "../../../src/features/sagas/advance_sagas.ts";
import { openSagaLanes } from "../../../src/features/reactions/reaction_lines.ts";
import type { OutboxWork } from "../../../src/domain/reaction/outbox_entry.ts";

const NO_WORK = { events: 0, states: [], errors: [] };

function timer(id: string): SagaCause {
  return { kind: "timer", timer: { dueMs: 1, tenant: 1, kind: "saga", id } };
}

function event(id: string): SagaCause {
  const place = { tenant: 1, stream: `order:${id}`, index: 0, number: 0 };
  const entry = { kind: "sagas", eventType: "was_placed", requestId: "r" };
  const work = { place, entry, sinceMs: 0, waitMs: 0, tries: 0, bytes: 1 } as OutboxWork;
  return { kind: "event", work };
}

function nameOf(cause: SagaCause): string {
  return cause.kind === "timer" ? cause.timer.id : cause.work.place.stream.slice(6);
}

function postpone(): Promise<never> {
  return Promise.reject(new Error("lanes put nothing off"));
}

/** Lanes over an advancer with scripted answers that records its calls. */
function lanesOver(answer: (names: readonly string[]) => number | Error | Partial<Advanced>) {
  const calls: string[][] = [];
  const followed: OutboxWork[] = [];
  let running = 0;
  const advancer = {
    discard: () => Promise.resolve(false),
    postpone,
    async advance(_tenant: number, causes: readonly SagaCause[]): Promise<Advanced> {
      assert.equal(++running, 1, "one transaction at a time");
      await new Promise((resolve) => setTimeout(resolve, 0));
      running--;
      const names = causes.map(nameOf);
      calls.push(names);
      const given = answer(names);
      if (given instanceof Error) throw given;
      return typeof given === "number"
        ? { done: given, outbox: [], work: NO_WORK }
        : { done: causes.length, outbox: [], work: NO_WORK, ...given };
    },
  };
  const follow = (works: readonly OutboxWork[]) => {
    followed.push(...works);
    return Promise.resolve();
  };
  const lanes = openSagaLanes(advancer, () => 1_000, follow);
  return { lanes, calls, followed };
}

Deno.test("causes that arrive together share a transaction, in their order", async () => {
  const { lanes, calls } = lanesOver((names) => names.length);
  const names = Array.from({ length: 150 }, (_, n) => `${n}`);
  const done = await Promise.all(names.map((name) => lanes.move(1, event(name))));
  assert.ok(done.every(({ isDone }) => isDone));
  assert.deepEqual(calls.map(({ length }) => length), [100, 50]);
  assert.deepEqual(calls.flat(), names);
});

Deno.test("what had no room goes first in the next transaction", async () => {
  const { lanes, calls } = lanesOver(() => 2);
  await Promise.all(["a", "b", "c", "d"].map((name) => lanes.move(1, event(name))));
  assert.deepEqual(calls, [["a", "b", "c", "d"], ["c", "d"]]);
});

Deno.test("a cause that fails is alone with it, and the others are done in order", async () => {
  const { lanes, calls } = lanesOver((names) =>
    names.includes("bad") ? new Error("a bug") : names.length
  );
  const moves = ["a", "bad", "b"].map((name) => lanes.move(1, event(name)));
  const results = await Promise.allSettled(moves);
  assert.deepEqual(results.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled"]);
  assert.deepEqual(calls, [["a", "bad", "b"], ["a"], ["bad"], ["b"]]);
});

Deno.test("an outage is told to all, without trying each", async () => {
  const away = Object.assign(new Error("away"), { name: "EngineUnavailable" });
  const { lanes, calls } = lanesOver(() => away);
  const moves = ["a", "b"].map((name) => lanes.move(1, event(name)));
  const results = await Promise.allSettled(moves);
  assert.deepEqual(results.map(({ status }) => status), ["rejected", "rejected"]);
  assert.equal(calls.length, 1);
});

Deno.test("an event that concerns very many sagas is gone on with, but not for ever", async () => {
  const { lanes, calls } = lanesOver((names) => names[0] === "huge" ? 0 : names.length);
  const [huge, next] = await Promise.all([
    lanes.move(1, event("huge")),
    lanes.move(1, event("next")),
  ]);
  assert.deepEqual([huge.isDone, next.isDone], [false, true]);
  assert.equal(calls.length, 21);
});

Deno.test("a timer that is not due by the advancer's clock is left, and blocks nobody", async () => {
  const { lanes, calls } = lanesOver((names) => names[0] === "early" ? 0 : names.length);
  const moves = ["early", "due"].map((name) => lanes.move(1, timer(name)));
  const moved = await Promise.all(moves);
  assert.deepEqual(moved.map(({ isDone }) => isDone), [false, true]);
  assert.deepEqual(calls, [["early", "due"], ["due"]]);
});

Deno.test("a cause tells when what its sagas have set off is done", async () => {
  const { work } = event("set off") as Extract<SagaCause, { readonly kind: "event" }>;
  const { lanes, followed } = lanesOver(() => ({ outbox: [work] }));
  const { isDone, following } = await lanes.move(1, event("a"));
  assert.equal(isDone, true);
  await following;
  assert.deepEqual(followed, [work]);
});

Deno.test("environments do not wait for each other", async () => {
  const started: number[] = [];
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const lanes = openSagaLanes(
    {
      discard: () => Promise.resolve(false),
      postpone,
      async advance(tenant, causes) {
        started.push(tenant);
        if (tenant === 1) await released;
        return { done: causes.length, outbox: [], work: NO_WORK };
      },
    },
    () => 0,
    () => Promise.resolve(),
  );
  const slow = lanes.move(1, event("a"));
  assert.equal((await lanes.move(2, event("b"))).isDone, true);
  release();
  await slow;
  assert.deepEqual(started.toSorted(), [1, 2]);
});
