/** Which listener gets which event. */

import assert from "node:assert/strict";
import { indexListeners } from "../../../src/domain/listener/patterns.ts";

function listener(name: string, events: readonly string[], enabled = true) {
  const format = "daybook" as const;
  return { name, events, enabled, url: "https://example.com/", secret: "0123456789abcdef", format };
}

const index = indexListeners([
  listener("all", ["*"]),
  listener("orders", ["order.*"]),
  listener("placed", ["order.was_placed", "cart.was_placed"]),
  listener("both", ["order.*", "order.was_placed"]),
  listener("off", ["*"], false),
]);

Deno.test("an event is heard by the listeners that name it, its type or all, in the order of the spec", () => {
  assert.deepEqual(index("order", "was_placed"), ["all", "orders", "placed", "both"]);
  assert.deepEqual(index("order", "was_paid"), ["all", "orders", "both"]);
  assert.deepEqual(index("cart", "was_placed"), ["all", "placed"]);
  assert.deepEqual(index("cart", "was_left"), ["all"]);
});

Deno.test("events of the system are heard like others", () => {
  assert.deepEqual(index("order", "_was_tombstoned"), ["all", "orders", "both"]);
});

Deno.test("a type that only begins like another is another type", () => {
  assert.deepEqual(index("order_line", "was_placed"), ["all"]);
  assert.deepEqual(index("orders", "was_placed"), ["all"]);
});

Deno.test("where nobody listens or all are disabled, nobody hears", () => {
  assert.deepEqual(indexListeners([])("order", "was_placed"), []);
  assert.deepEqual(indexListeners([listener("off", ["*"], false)])("order", "was_placed"), []);
});
