/** Outbox entries in memory are limited in number and in bytes. */

import assert from "node:assert/strict";
import { openHeldWorks } from "../../../src/features/reactions/held_works.ts";
import { limits } from "../../../src/domain/limits.ts";
import type { OutboxWork } from "../../../src/domain/reaction/outbox_entry.ts";
import { streamKey } from "../../../src/domain/stream_key.ts";

function workOf(number: number, bytes: number, tenant = 1): OutboxWork {
  return {
    place: { tenant, stream: streamKey("order", "global"), index: 0, number },
    bytes,
    entry: { kind: "sagas", eventType: "was_placed", requestId: "r" },
    sinceMs: 0,
    waitMs: 0,
    tries: 0,
  };
}

Deno.test("an environment holds half of the bytes, and another one still has room", () => {
  const held = openHeldWorks();
  const large = [workOf(0, limits.outboxHeldBytesMax / 2)];
  assert.equal(held.isFull(1), false);
  held.hold(large);
  assert.equal(held.isFull(1), true);
  assert.equal(held.isFull(2), false);
  held.drop(large);
  assert.equal(held.isFull(1), false);
});

Deno.test("an environment holds 20,000 entries, however small they are", () => {
  const held = openHeldWorks();
  const works = Array.from({ length: 20_000 }, (_, number) => workOf(number, 1));
  held.hold(works.slice(1));
  assert.equal(held.isFull(1), false);
  held.hold(works.slice(0, 1));
  assert.equal(held.isFull(1), true);
  assert.equal(held.isFull(2), false);
});

Deno.test("what is held is in hand, until it is dropped", () => {
  const held = openHeldWorks();
  const work = workOf(3, 10);
  assert.equal(held.has(work.place), false);
  held.hold([work]);
  assert.equal(held.has(work.place), true);
  assert.equal(held.has(workOf(4, 10).place), false);
  assert.equal(held.has(workOf(3, 10, 2).place), false);
  held.drop([work]);
  assert.equal(held.has(work.place), false);
});
