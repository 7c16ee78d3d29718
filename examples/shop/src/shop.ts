/**
 * What the shop does, each as one write. Whoever comes second in a race decides again on the new
 * state, and the guard of the spec lets nothing be sold twice. An answer that is lost on the way is
 * asked for again.
 */

import { type Client, createClient } from "@daybook/client";
import type { Shop } from "../spec.ts";
import { addLine, cancel, pay, place } from "./orders.ts";

const CUSTOMER = { type: "customer", id: "global" } as const;
/** How often a purchase is tried again when its order changes at the same time. */
const PURCHASE_TRIES = 20;

export function openShop(options: { readonly url: string; readonly key: string }) {
  return shopOf(createClient<Shop>({ ...options, actor: CUSTOMER }));
}

export function shopOf(db: Client<Shop>) {
  return {
    place: (order: string, customer: string) =>
      db.order(order).update((state) => place(state, customer)).orThrow(),

    async addLine(order: string, product: string, quantity: number) {
      const { data } = await db.product(product).get().orThrow();
      const line = { product, quantity, price: data.price ?? 0 };
      return await db.order(order).update((state) => addLine(state, line)).orThrow();
    },

    cancel: (order: string, reason: string) =>
      db.order(order).update((state) => cancel(state, reason)).orThrow(),

    /**
     * Pays an order and takes what is in it out of stock: all of it, or nothing. The guard of
     * `was_sold` sees to it that the stock suffices. Only a change of the order itself, which would
     * be another purchase, makes it decide again.
     */
    async buy(order: string, amount: number) {
      for (let tries = 1;; tries++) {
        const { data, metadata } = await db.order(order).get().orThrow();
        const written = db.$atomic([
          {
            aggregate_type: "order",
            id: order,
            events: pay(data, amount),
            previous_length: metadata.length,
          },
          ...piecesOf(data.lines ?? []).map(([id, quantity]) =>
            db.product(id).was_sold.event({ quantity })
          ),
        ]);
        const answer = await written;
        const isRace = !answer.ok && answer.error_type === "occ_conflict";
        if (!isRace || tries === PURCHASE_TRIES) return await written.orThrow();
      }
    },
  };
}

/** How many pieces of each product are in an order. */
function piecesOf(
  lines: readonly { readonly product: string; readonly quantity: number }[],
): [product: string, quantity: number][] {
  const pieces = new Map<string, number>();
  for (const { product, quantity } of lines) {
    pieces.set(product, (pieces.get(product) ?? 0) + quantity);
  }
  return [...pieces];
}
