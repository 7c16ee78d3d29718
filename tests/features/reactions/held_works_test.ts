/** Outbox entries in memory are limited in number and in bytes, and environments share both. */

import assert from "node:assert/strict";
import { limits } from "../../../src/domain/limits.ts";
import { openHeldWorks } from "../../../src/features/reactions/held_works.ts";
import { workOf } from "../../support/outbox_work.ts";

Deno.test("an environment holds half of the bytes, and another one still has room", () => {
  const held = openHeldWorks();
  const large = workOf(0, limits.outboxHeldBytesMax / 2);
  assert.equal(held.isFull(1), false);
  held.take([large]);
  assert.equal(held.isFull(1), true);
  assert.equal(held.isFull(2), false);
  held.drop(large);
  assert.equal(held.isFull(1), false);
});

Deno.test("an environment holds 20,000 entries, however small they are", () => {
  const held = openHeldWorks();
  const works = Array.from({ length: 20_000 }, (_, number) => workOf(number));
  held.take(works.slice(1));
  assert.equal(held.isFull(1), false);
  held.take(works.slice(0, 1));
  assert.equal(held.isFull(1), true);
  assert.equal(held.isFull(2), false);
});

Deno.test("what comes when the room is full is not taken", () => {
  const held = openHeldWorks();
  const large = workOf(0, limits.outboxHeldBytesMax);
  assert.deepEqual(held.take([large]), [large]);
  assert.deepEqual(held.take([workOf(1)]), []);
  assert.equal(held.has(workOf(1).place), false);
  const other = workOf(1, 1, 2);
  assert.deepEqual(held.take([other]), [other]);
});

Deno.test("what is held is in hand, until it is dropped", () => {
  const held = openHeldWorks();
  const work = workOf(3, 10);
  assert.equal(held.has(work.place), false);
  held.take([work]);
  assert.equal(held.has(work.place), true);
  assert.equal(held.has(workOf(4, 10).place), false);
  assert.equal(held.has(workOf(3, 10, 2).place), false);
  held.drop(work);
  assert.equal(held.has(work.place), false);
});

Deno.test("dropping what is not held changes nothing", () => {
  const held = openHeldWorks();
  const large = workOf(0, limits.outboxHeldBytesMax);
  held.take([large]);
  held.drop(workOf(1, limits.outboxHeldBytesMax));
  assert.equal(held.isFull(1), true);
});
