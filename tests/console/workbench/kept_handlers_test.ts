/** What a tab keeps of changed handlers is told apart by instance, type and event. */

import assert from "node:assert/strict";
import {
  handlersAmong,
  keepHandler,
  readHandler,
} from "../../../console/src/workbench/kept_handlers.ts";

Deno.test("keepHandler() keeps each handler under its own name, and forgets it without a text", () => {
  // With dots between the parts, these two would be one.
  const one = { instanceId: "i", type: "a.b", event: "c" };
  const other = { instanceId: "i", type: "a", event: "b.c" };
  assert.equal(keepHandler(one, "1"), true);
  assert.equal(keepHandler(other, "2"), true);
  assert.deepEqual([readHandler(one), readHandler(other)], ["1", "2"]);
  assert.equal(keepHandler(other, "x".repeat(100_001)), false);
  assert.equal(keepHandler(one, undefined), true);
  assert.deepEqual([readHandler(one), readHandler(other)], [undefined, undefined]);
});

Deno.test("handlersAmong() lists those of one instance, and what others keep in the tab is none", () => {
  const names = [
    "daybook.credentials",
    "daybook.handler.{",
    'daybook.handler.["i","only a type"]',
    'daybook.handler.["i","order","was_placed"]',
    'daybook.handler.["i","order","was_paid"]',
    'daybook.handler.["j","order","was_sent"]',
    'daybook.handler.["","order","was_sent"]',
  ];
  assert.deepEqual(handlersAmong(names, "i"), [
    { instanceId: "i", type: "order", event: "was_paid" },
    { instanceId: "i", type: "order", event: "was_placed" },
  ]);
  assert.deepEqual(handlersAmong(names, undefined), [
    { instanceId: undefined, type: "order", event: "was_sent" },
  ]);
});
