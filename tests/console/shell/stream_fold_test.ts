/** The fold of the browser: the states of the server at every length, and who changed a field. */

import assert from "node:assert/strict";
import { compileHandlers, createTimeline } from "../../../console/src/shell/stream_fold.ts";
import { changesBetween, lastToChange } from "../../../console/src/shell/state_changes.ts";
import type { StoredEvent } from "../../../src/domain/event.ts";
import { newFoldBudget } from "../../../src/domain/handler/budget.ts";
import { fold } from "../../../src/domain/handler/fold.ts";
import { exampleSpec } from "../../support/example_spec.ts";
import { ACTOR, withShop } from "../../sdk/shop_server.ts";
import { createClient } from "@daybook/client";

const types = (exampleSpec as unknown as { aggregate_types: Record<string, unknown> })
  .aggregate_types;

Deno.test("the browser folds every length of a stream as the server does", () =>
  withShop(async ({ options }) => {
    const db = createClient({ ...options, actor: ACTOR });
    const order = db.order!("7KD2M9QXA");
    await order.was_placed!({ customer: "Ada", total: 12.5 }).orThrow();
    const events = Array.from(
      { length: 300 },
      (_, at) =>
        at % 3 === 0
          ? { type: "had_line_added", data: { lines: [{ sku: `S-${at}`, qty: 1 }] } }
          : { type: "was_noted", data: { text: `note ${at}` } },
    );
    await order.batch(events).orThrow();
    await order.was_paid!({ amount: 12.5 }).orThrow();
    const stored: StoredEvent[] = [];
    for await (const { event } of order.events()) stored.push(event as StoredEvent);
    assert.equal(stored.length, 302);
    const timeline = createTimeline(compileHandlers(types.order)!, stored);
    for (const length of [302, 0, 1, 2, 127, 128, 129, 255, 256, 257, 300, 301, 3]) {
      const { data } = await order.get({ at_length: length }).orThrow();
      assert.deepEqual(timeline.stateAt(length), data, `after ${length} events`);
    }
  }));

function countedEvents(values: readonly number[]): StoredEvent[] {
  return values.map((on_hand, at) => ({
    key: "inventory:main",
    type: "was_counted",
    data: { on_hand },
    metadata: { actor: { type: "user", id: "global" }, timestamp: 1_767_225_600 + at },
  } as StoredEvent));
}

Deno.test("lastToChange() finds the event behind which a field never changed again", () => {
  const values = [1, ...Array<number>(200).fill(2), 1, ...Array<number>(200).fill(3)];
  const timeline = createTimeline(compileHandlers(types.inventory)!, countedEvents(values));
  assert.equal(ended(lastToChange(timeline, ["on_hand"], values.length)), 202);
  assert.equal(ended(lastToChange(timeline, ["on_hand"], 202)), 201);
  assert.equal(ended(lastToChange(timeline, ["on_hand"], 201)), 1);
  assert.equal(ended(lastToChange(timeline, ["on_hand"], 1)), 0);
  assert.equal(ended(lastToChange(timeline, ["never_there"], values.length)), undefined);
});

function ended<Result>(work: Generator<unknown, Result>): Result {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

const LINES = {
  events: {
    was_added: { handler: { append: { target: "lines", value: "$.data" } } },
    was_dropped: { handler: { remove: { target: "lines", where: { sku: "$.data.sku" } } } },
    was_named: { handler: { set: { target: "name", value: "$.data.name" } } },
  },
};

/** Lines come faster than they go; the name changes at 0, 700, 1,400, ... */
function lineEvents(count: number): StoredEvent[] {
  return Array.from({ length: count }, (_, at) => {
    if (at % 700 === 0) return { type: "was_named", data: { name: `N-${at}` } };
    const data = { sku: `S-${(at * 7) % 61}`, at };
    return { type: at % 40 === 39 ? "was_dropped" : "was_added", data };
  }).map((event, at) => ({
    ...event,
    key: "cart:main",
    metadata: { actor: { type: "user", id: "global" }, timestamp: 1_767_225_600 + at },
  } as StoredEvent));
}

Deno.test("every length is what folding so many events gives, in whatever order they are asked", () => {
  const count = 3_000;
  const events = lineEvents(count);
  const handlers = compileHandlers(LINES)!;
  const texts: string[] = [];
  for (const state of createTimeline(handlers, events).statesBetween(0, count)) {
    texts.push(JSON.stringify(state));
  }
  for (const length of [0, 1, 699, 700, 701, 2_048, count]) {
    const plain = fold(handlers, {}, events.slice(0, length), newFoldBudget());
    assert.equal(texts[length], plain.ok && JSON.stringify(plain.value), `after ${length} events`);
  }
  const timeline = createTimeline(handlers, events);
  const lengths = texts.map((_, length) => length);
  const random = lengths.map((length) => (length * 1_709) % (count + 1));
  for (const order of [random, lengths, lengths.toReversed()]) {
    for (const length of order) {
      assert.equal(JSON.stringify(timeline.stateAt(length)), texts[length], `after ${length}`);
    }
  }
});

Deno.test("a prepared timeline of a state that is rewritten by each event forgets old states", () => {
  const width = 20_000;
  const data = Object.fromEntries(Array.from({ length: width }, (_, at) => [`f${at}`, at]));
  const events = lineEvents(60_000).map((event, at) =>
    at % 300 === 0
      ? { ...event, type: "was_replaced", data: { ...data, at } }
      : { ...event, type: "was_seen" }
  );
  const replaced = { handler: { set: { target: "", value: "$.data" } } };
  const handlers = compileHandlers({ events: { was_replaced: replaced } })!;
  const timeline = createTimeline(handlers, events);
  ended(timeline.prepare());
  let kept = 0;
  for (let at = timeline.keptBefore(60_000); at > 0; at = timeline.keptBefore(at)) kept++;
  assert.ok(kept > 10 && kept * width <= 2_000_000, `${kept} states are kept`);
  assert.equal(timeline.stateAt(12_345)?.at, 12_300);
  assert.equal(timeline.stateAt(100)?.at, 0);
});

Deno.test("lastToChange() passes over events that changed only what stands beside the value", () => {
  const timeline = createTimeline(compileHandlers(LINES)!, lineEvents(3_000));
  assert.equal(ended(lastToChange(timeline, ["name"], 3_000)), 2_800);
  assert.equal(ended(lastToChange(timeline, ["name"], 2_800)), 2_100);
  assert.equal(ended(lastToChange(timeline, ["lines"], 3_000)), 2_999);
});

Deno.test("changesBetween() names each field that was added, removed or changed", () => {
  const before = { status: "placed", lines: [{ sku: "A" }], note: null };
  const after = { status: "paid", lines: [{ sku: "A" }, { sku: "B" }], paid: 5 };
  assert.deepEqual(
    changesBetween(before, after).map(({ path, before, after }) => [path.join("."), before, after]),
    [
      ["status", "placed", "paid"],
      ["lines.1", undefined, { sku: "B" }],
      ["note", null, undefined],
      ["paid", undefined, 5],
    ],
  );
  assert.deepEqual(changesBetween(after, structuredClone(after)), []);
  assert.deepEqual(changesBetween({ a: [] }, { a: {} }).length, 1);
});

Deno.test("a type with a module as handler is not folded in the browser", () => {
  const events = { was_placed: { schema: true, handler: { wasm: { blob: "x", version: 1 } } } };
  assert.equal(compileHandlers({ events }), undefined);
  assert.equal(compileHandlers(undefined), undefined);
});
