/** `npm start`: places an order, pays it, and prints what is stored. */

import { randomUUID } from "node:crypto";
import { createClient } from "@daybook/client";
import type { Shop } from "../spec.ts";
import { address } from "./address.ts";
import { shopOf } from "./shop.ts";

const TEA = "TEA00000A";

const db = createClient<Shop>({ ...address(), actor: { type: "customer", id: "global" } });
const shop = shopOf(db);
const order = randomUUID();

await shop.place(order, "Ada");
await shop.addLine(order, TEA, 2);
const { data: open } = await db.order(order).get().orThrow();
await shop.buy(order, open.total ?? 0);

const { data, metadata } = await db.order(order).get().orThrow();
console.log(`Order ${order} after ${metadata.length} events:`, data);
for await (const { id, event } of db.order(order).events()) console.log(id, event.type, event.data);
