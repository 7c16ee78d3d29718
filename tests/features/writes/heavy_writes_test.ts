/** Heavy writes need one of a few places, which instances share. */

import assert from "node:assert/strict";
import { type HeavyWrites, openHeavyWrites } from "../../../src/features/writes/write_events.ts";

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
    void heavy.enter(instance).then((leave) => places.push(leave));
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
