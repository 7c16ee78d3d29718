/** The fold of the browser: the states of the server at every length, and who changed a field. */

import assert from "node:assert/strict";
import { compileHandlers, createTimeline } from "../../../console/src/shell/stream_fold.ts";
import { changesBetween, lastToChange } from "../../../console/src/shell/state_changes.ts";
import type { StoredEvent } from "../../../src/domain/event.ts";
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
  assert.equal(lastToChange(timeline, ["on_hand"], values.length), 202);
  assert.equal(lastToChange(timeline, ["on_hand"], 202), 201);
  assert.equal(lastToChange(timeline, ["on_hand"], 201), 1);
  assert.equal(lastToChange(timeline, ["on_hand"], 1), 0);
  assert.equal(lastToChange(timeline, ["never_there"], values.length), undefined);
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
