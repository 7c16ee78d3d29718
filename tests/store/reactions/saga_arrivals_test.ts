/** Awaited events that are written but not yet shown to their saga. */

import assert from "node:assert/strict";
import type { OutboxEntry, WaitingEntry } from "../../../src/domain/reaction/outbox_entry.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import { findArrival, putEntry } from "../../../src/store/reactions/outbox.ts";
import { encodeEntry } from "../../../src/store/reactions/entry_bytes.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const TENANT = 4;
const KEY = streamKey("payment", "global");
const OTHER = streamKey("payment", "globe");

function shown(eventType: string): OutboxEntry {
  return { kind: "sagas", eventType, requestId: "r" };
}

/** An event to be written, so large that it is split. */
const LARGE: OutboxEntry = {
  kind: "emit",
  emission: {
    key: KEY,
    aggregateType: "payment",
    id: "global",
    eventType: "good",
    data: { text: "x".repeat(200_000) },
  },
  actor: { type: "user", id: "global" },
  eventType: "good",
  depth: 1,
  requestId: "r",
};

Deno.test("findArrival() gives the first awaited event of the stream that waits to be shown", async () => {
  await withTemporaryEngine(async (engine) => {
    const entries: [string, number, number, OutboxEntry][] = [
      [KEY, 3, 0, shown("good")],
      [KEY, 5, 0, LARGE],
      [KEY, 5, 1, shown("else")],
      [KEY, 6, 0, { ...LARGE, emission: { ...LARGE.emission, data: {} } }],
      [KEY, 8, 1, shown("bad")],
      [KEY, 9, 0, shown("good")],
      [OTHER, 6, 0, shown("good")],
    ];
    await engine.transact((tx) => {
      for (const [stream, index, number, entry] of entries) {
        const place = { tenant: TENANT, stream: stream as typeof KEY, index, number };
        const waiting: WaitingEntry = { entry, sinceMs: 0, waitMs: 0, tries: 0 };
        putEntry(tx, place, encodeEntry(waiting));
      }
      return Promise.resolve();
    });
    const find = (from: number, ...eventTypes: string[]) =>
      engine.snapshot((tx) => findArrival(tx, TENANT, { key: KEY, eventTypes, from }));
    assert.equal(await find(0, "good"), 3);
    assert.equal(await find(3, "good", "bad"), 3);
    assert.equal(await find(4, "good", "bad"), 8);
    assert.equal(await find(4, "good"), 9);
    assert.equal(await find(10, "good", "bad"), undefined);
    assert.equal(await find(0, "none"), undefined);
  });
});

Deno.test("findArrival() reads large entries in pages, with a rest after each", async () => {
  await withTemporaryEngine(async (engine) => {
    const text = "x".repeat(90_000);
    const entry = { ...LARGE, emission: { ...LARGE.emission, data: { text } } };
    const count = 40;
    await engine.transact((tx) => {
      for (let index = 0; index <= count; index++) {
        const place = { tenant: TENANT, stream: KEY, index, number: 0 };
        const one = index === count ? shown("good") : entry;
        putEntry(tx, place, encodeEntry({ entry: one, sinceMs: 0, waitMs: 0, tries: 0 }));
      }
      return Promise.resolve();
    });
    let rests = 0;
    const pieces = { rest: () => void rests++ };
    const awaited = { key: KEY, eventTypes: ["good"], from: 0 };
    const found = await engine.snapshot((tx) => findArrival(tx, TENANT, awaited, pieces as never));
    assert.equal(found, count);
    assert.ok(rests >= 10, `${rests} rests for ${count * 90} KB`);
  });
});
