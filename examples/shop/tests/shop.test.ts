/** The shop on a real server, which the test starts in a folder of its own. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, suite, test } from "node:test";
import { type Client, createClient } from "@daybook/client";
import { startDaybook } from "@daybook/client/test";
import { type Shop, spec } from "../spec.ts";
import { shopOf } from "../src/shop.ts";

const TEA = "TEA00000A";
const MUG = "MVG00000A";

suite("the shop", () => {
  let daybook: Awaited<ReturnType<typeof startDaybook>>;
  let db: Client<Shop>;

  before(async () => {
    daybook = await startDaybook({ spec });
    db = createClient<Shop>({ ...daybook, actor: { type: "staff", id: "global" } });
    await db.product(TEA).was_listed({ name: "Tea", price: 4.5 }).orThrow();
    await db.product(TEA).stock_was_added({ quantity: 3 }).orThrow();
  });
  after(() => daybook.stop());

  test("sells what it has to whoever pays first", async () => {
    const shop = shopOf(db);
    const orders = [randomUUID(), randomUUID(), randomUUID()];
    for (const order of orders) {
      await shop.place(order, "Ada");
      await shop.addLine(order, TEA, 2);
    }
    const bought = await Promise.allSettled(orders.map((order) => shop.buy(order, 9)));
    assert.equal(bought.filter(({ status }) => status === "fulfilled").length, 1);
    const { data } = await db.product(TEA).get().orThrow();
    assert.equal(data.stock, 1);
  });

  test("never oversells two products to eight buyers at once", async () => {
    const shop = shopOf(db);
    await db.product(MUG).was_listed({ name: "Mug", price: 5.5 }).orThrow();
    await db.product(MUG).stock_was_added({ quantity: 5 }).orThrow();
    await db.product(TEA).stock_was_added({ quantity: 5 }).orThrow();
    const before = (await db.product(TEA).get().orThrow()).data.stock!;
    const orders = Array.from({ length: 8 }, () => randomUUID());
    for (const order of orders) {
      await shop.place(order, "Ada");
      await shop.addLine(order, TEA, 1);
      await shop.addLine(order, MUG, 1);
    }
    const bought = await Promise.allSettled(orders.map((order) => shop.buy(order, 10)));
    const sold = bought.filter(({ status }) => status === "fulfilled").length;
    assert.equal(sold, Math.min(before, 5));
    assert.equal((await db.product(TEA).get().orThrow()).data.stock, before - sold);
    assert.equal((await db.product(MUG).get().orThrow()).data.stock, 5 - sold);
  });
});
