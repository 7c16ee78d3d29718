/** The rules of orders, on the handlers of the spec, without a server. */

import { suite, test } from "node:test";
import { testSpec } from "@daybook/client/test";
import { type Shop, spec } from "../spec.ts";
import { addLine, cancel, pay, place } from "../src/orders.ts";

const { order, product } = testSpec<Shop>(spec);

const placed = { type: "was_placed", data: { customer: "Ada" } } as const;
const line = { product: "TEA00000A", price: 4.5, quantity: 2 };
const lineAdded = { type: "line_was_added", data: { ...line, amount: 9 } } as const;
const paid = { type: "was_paid", data: { amount: 9 } } as const;
const cancelled = { type: "was_cancelled", data: { reason: "changed my mind" } } as const;

suite("an order", () => {
  test("is placed once", () => {
    order.given([]).when((state) => place(state, "Ada")).then([placed]);
    order.given([placed]).when((state) => place(state, "Ada")).thenRefused("placed already");
  });

  test("adds up what its lines cost", () => {
    const adding = order.given([placed]).when((state) => addLine(state, line));
    adding.then([lineAdded]);
    adding.thenState({ customer: "Ada", status: "open", lines: [lineAdded.data], total: 9 });
  });

  test("is paid in full, and only while it is open", () => {
    order.given([placed, lineAdded]).when((state) => pay(state, 9)).then([paid]);
    order.given([placed, lineAdded]).when((state) => pay(state, 5)).thenRefused("costs 9, not 5");
    order.given([placed, lineAdded, paid]).when((state) => pay(state, 9)).thenRefused("is paid");
  });

  test("that is cancelled twice is cancelled", () => {
    order.given([placed]).when((state) => cancel(state, "changed my mind")).then([cancelled]);
    order.given([placed, cancelled]).when((state) => cancel(state, "again")).then([]);
  });
});

suite("a product", () => {
  const listed = { type: "was_listed", data: { name: "Tea", price: 4.5 } } as const;
  const stocked = { type: "stock_was_added", data: { quantity: 3 } } as const;

  test("is sold only while there is enough of it", () => {
    const sold = (quantity: number) => ({ type: "was_sold", data: { quantity } } as const);
    const selling = product.given([listed, stocked]).when(() => [sold(3)]);
    selling.thenState({ name: "Tea", price: 4.5, stock: 0 });
    product.given([listed, stocked]).when(() => [sold(4)]).thenRefused("Not that many are left");
    product.given([listed, stocked]).when(() => [sold(2), sold(2)]).thenRefused("guard_failed");
  });
});
