/** Roots of pending work, as they are stored and shown. */

import assert from "node:assert/strict";
import {
  hourOf,
  keptRoot,
  keptTimerRoot,
  momentOfNextHour,
  rootKey,
  rootName,
  rootOf,
} from "../../../src/domain/reaction/root.ts";

Deno.test("work without a root belongs to the event that it follows from", () => {
  const root = rootOf(undefined, "order:1", "000000000007");
  assert.deepEqual(root, {
    of: "order:1/000000000007",
    first: 1,
    timers: [],
    isRecurring: false,
  });
});

Deno.test("what is kept of a root tells all of it again", () => {
  const root = { of: "order:1/7", first: 3, timers: ["order.was_reminded"], isRecurring: true };
  assert.deepEqual(rootOf(keptRoot(root), "other:1", "000000000000"), root);
});

Deno.test("the key of a root is all before its last slash", () => {
  assert.equal(rootKey(rootName("order:a/b", "000000000001")), "order:a/b");
});

Deno.test("a timer recurs when its type is on the way already", () => {
  const once = keptTimerRoot({ first: 2 }, "order.was_reminded");
  assert.deepEqual(once, { first: 2, timers: ["order.was_reminded"] });
  const other = keptTimerRoot(once, "order.was_closed");
  assert.equal(other.isRecurring, undefined);
  assert.equal(keptTimerRoot(other, "order.was_reminded").isRecurring, true);
  const recurring = keptTimerRoot(other, "order.was_closed");
  assert.deepEqual(keptTimerRoot(recurring, "order.was_new"), recurring, "and stays so");
});

Deno.test("a way with more than 16 different timers counts as recurring", () => {
  let kept = keptTimerRoot(undefined, "timer.number_0");
  for (let number = 1; number < 16; number++) kept = keptTimerRoot(kept, `timer.number_${number}`);
  assert.equal(kept.isRecurring, undefined);
  assert.equal(keptTimerRoot(kept, "timer.number_16").isRecurring, true);
});

Deno.test("a moment of the next hour is in the next hour", () => {
  const nowMs = Date.UTC(2026, 0, 1, 10, 59, 59);
  assert.equal(momentOfNextHour(nowMs, 0), Date.UTC(2026, 0, 1, 11));
  assert.equal(momentOfNextHour(nowMs, 0.5), Date.UTC(2026, 0, 1, 11, 30));
  assert.equal(hourOf(momentOfNextHour(nowMs, 0.999)), hourOf(nowMs) + 1);
});
