/** Heavy writes need one of a few places, which instances share. */

import assert from "node:assert/strict";
import { waitingHeavy } from "../../../src/domain/limits/load.ts";
import { type HeavyWrites, openHeavyWrites } from "../../../src/features/writes/write_events.ts";
import { orderWrite, refusalOf, uuid, withService } from "../../support/service_fixture.ts";

function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/**
 * Lets `count` writes of an instance ask for a place; returns the releases of those that got
 * one.
 */
function ask(heavy: HeavyWrites, instance: string, count: number): (() => void)[] {
  const places: (() => void)[] = [];
  for (let asked = 0; asked < count; asked++) {
    void heavy.enter(instance).then((leave) => leave && places.push(leave));
  }
  return places;
}

Deno.test("an instance alone has half of the places", async () => {
  const places = ask(openHeavyWrites(8), "one", 10);
  await settle();
  assert.equal(places.length, 4);
});

Deno.test("another instance has a place at once, however many of the first one wait", async () => {
  const heavy = openHeavyWrites(8);
  ask(heavy, "one", 100);
  const others = ask(heavy, "two", 1);
  await settle();
  assert.equal(others.length, 1);
});

Deno.test("who leaves makes room for whoever waits", async () => {
  const heavy = openHeavyWrites(8);
  const places = ask(heavy, "one", 6);
  await settle();
  places.shift()!();
  await settle();
  assert.equal(places.length, 4);
  places.shift()!();
  await settle();
  assert.equal(places.length, 4);
  for (const leave of places.splice(0)) leave();
  const again = ask(heavy, "one", 5);
  await settle();
  assert.equal(again.length, 4, "all places were given back");
});

Deno.test("an instance whose neighbours leave has more places at once", async () => {
  const heavy = openHeavyWrites(8);
  const others = ask(heavy, "two", 4);
  const own = ask(heavy, "one", 4);
  await settle();
  assert.equal(own.length, 2);
  for (const leave of others) leave();
  await settle();
  assert.equal(own.length, 4);
});

Deno.test("of an instance 64 heavy writes wait, and one more is turned away at once", async () => {
  const heavy = openHeavyWrites(8);
  const before = waitingHeavy.count;
  const places = ask(heavy, "one", 4 + 64);
  await settle();
  assert.deepEqual([places.length, waitingHeavy.count - before], [4, 64]);
  assert.equal(heavy.isFull("one"), true);
  assert.equal(await heavy.enter("one"), undefined);
  assert.equal(heavy.isFull("two"), false, "another instance has its own 64");
  places.shift()!();
  assert.equal(heavy.isFull("one"), false);
  for (let left = 64 + 3; left > 0; left--) {
    await settle();
    places.shift()!();
  }
  assert.equal(waitingHeavy.count, before);
});

Deno.test("of a thousand heavy writes at once those that find no place to wait are refused", async () => {
  let nowMs = 0;
  const before = waitingHeavy.count;
  // Each look at the clock takes longer than a slice, so a write of many events is heavy.
  const realHost = { monotonicMs: () => nowMs += 5 };
  await withService(async ({ service, host, tenants: { test } }) => {
    const events = Array.from({ length: 20 }, () => ({ type: "was_noted", data: { text: "a" } }));
    const ticking = setInterval(() => host.timeMs += 1_000, 1);
    const outcomes = await Promise.all(
      Array.from(
        { length: 1_000 },
        (_, n) => service.data.writeEvents(test, orderWrite(uuid(n), events)),
      ),
    );
    clearInterval(ticking);
    const refused = outcomes.filter(({ ok }) => !ok);
    assert.ok(refused.length >= 800, `${refused.length} of 1,000 are refused`);
    assert.ok(refused.length <= 1_000 - 68, `${refused.length} of 1,000 are refused`);
    for (const outcome of refused) assert.equal(refusalOf(outcome).kind, "no_room");
    assert.equal(waitingHeavy.count, before);
    const later = await service.data.writeEvents(test, orderWrite(uuid(1_000), events));
    assert.equal(later.ok, true);
  }, { realHost });
});
