/** The pages of a stream that the console keeps: what is looked at, not all that ever was. */

import assert from "node:assert/strict";
import type { Client } from "@daybook/client";
import { openStreamEvents } from "../../../console/src/streams/stream_events.ts";

const PAGE = 500;

/** A client whose streams have any number of events, and the first event of each page asked for. */
function openClient({ characters = 0 } = {}) {
  const asked: number[] = [];
  const text = "x".repeat(characters);
  function eventsPage({ start, count }: { start?: string; count: number }) {
    const first = start === undefined ? 0 : Number(start) + 1;
    asked.push(first);
    const data = Array.from({ length: count }, (_, at) => ({ event: { at: first + at, text } }));
    return Promise.resolve({ ok: true, data, truncated: true });
  }
  const calls = Object.assign(() => ({ eventsPage }), { listPage() {} });
  return { db: { order: calls } as unknown as Client, asked };
}

/** Lets everything come that is on its way. */
function rest(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

Deno.test("of a stream that is looked through, the last 40 pages stay", async () => {
  const { db, asked } = openClient();
  const events = openStreamEvents(db, "order", "LONG");
  for (let page = 0; page < 60; page++) {
    events.need(page * PAGE, page * PAGE + 20);
    await rest();
  }
  const kept = Array.from({ length: 60 }, (_, page) => page)
    .filter((page) => events.at(page * PAGE) !== undefined);
  assert.deepEqual(kept, Array.from({ length: 40 }, (_, at) => 20 + at));
  assert.equal(asked.length, 60);
  // What was dropped is loaded again, and what is needed again stays longer.
  events.need(20 * PAGE, 20 * PAGE);
  events.need(0, 20);
  await rest();
  assert.equal(asked.length, 61);
  assert.notEqual(events.at(0), undefined);
  assert.notEqual(events.at(20 * PAGE), undefined);
  assert.equal(events.at(21 * PAGE), undefined);
});

Deno.test("pages of large events are dropped sooner, but not what is visible", async () => {
  // A page of them has more than 33 MiB.
  const { db } = openClient({ characters: 70_000 });
  const events = openStreamEvents(db, "order", "LARGE");
  for (let page = 0; page < 6; page++) {
    events.need(page * PAGE, page * PAGE + 20);
    await rest();
  }
  const kept = [0, 1, 2, 3, 4, 5].filter((page) => events.at(page * PAGE) !== undefined);
  assert.deepEqual(kept, [2, 3, 4, 5]);
});

Deno.test("events that were loaded from the first one on stay, whatever is looked at later", async () => {
  const { db, asked } = openClient();
  const events = openStreamEvents(db, "order", "LONG");
  assert.equal(await events.loadFirst(50 * PAGE, 1e9), true);
  for (let page = 100; page < 160; page++) {
    events.need(page * PAGE, page * PAGE);
    await rest();
  }
  for (let page = 0; page < 50; page++) assert.notEqual(events.at(page * PAGE), undefined);
  assert.equal(asked.length, 110);
});
