/**
 * What may happen to an order. Each function looks at a state and returns the events that follow,
 * or throws a `ShopError`. None of them reads or writes, so tests need no server.
 */

import type { NewEvent } from "@daybook/client";
import type { Shop } from "../spec.ts";

type Aggregates = Shop["aggregates"];
export type Order = Aggregates["order"]["state"];
type OrderEvents = NewEvent<Aggregates["order"]["events"]>[];

/** Says why something may not be done, in words for a customer. */
export class ShopError extends Error {
  override readonly name = "ShopError";
}

export function place(order: Order, customer: string): OrderEvents {
  if (order.status !== undefined) throw new ShopError("This order was placed already");
  return [{ type: "was_placed", data: { customer } }];
}

export function addLine(
  order: Order,
  line: { readonly product: string; readonly price: number; readonly quantity: number },
): OrderEvents {
  mustBeOpen(order);
  return [{ type: "line_was_added", data: { ...line, amount: line.price * line.quantity } }];
}

export function pay(order: Order, amount: number): OrderEvents {
  mustBeOpen(order);
  if (amount !== order.total) throw new ShopError(`This order costs ${order.total}, not ${amount}`);
  return [{ type: "was_paid", data: { amount } }];
}

/** Cancelling twice is no mistake, and changes nothing. */
export function cancel(order: Order, reason: string): OrderEvents {
  if (order.status === "cancelled") return [];
  mustBeOpen(order);
  return [{ type: "was_cancelled", data: { reason } }];
}

function mustBeOpen({ status }: Order): void {
  if (status === undefined) throw new ShopError("There is no such order");
  if (status !== "open") throw new ShopError(`This order is ${status}`);
}
