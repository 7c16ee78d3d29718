/** `npm run follow`: prints what happens in the shop as it happens. Ctrl-C ends it. */

import { createClient } from "@daybook/client";
import type { Shop } from "../spec.ts";
import { address } from "./address.ts";

const db = createClient<Shop>(address());
const revenue = new Map<string, number>();

for await (const { event } of db.$feed({ types: ["order"] })) {
  console.log(event.key, event.type, event.data);
  if (event.type === "was_paid") {
    const day = new Date(event.metadata.timestamp * 1000).toISOString().slice(0, 10);
    revenue.set(day, (revenue.get(day) ?? 0) + event.data.amount);
    console.log(`  sold on ${day}: ${revenue.get(day)}`);
  }
}
