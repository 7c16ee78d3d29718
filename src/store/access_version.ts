/** The counter that tells every node to forget what it remembers of keys, tiers and instances. */

import type { Transaction } from "../kv/engine.ts";
import { keys } from "./keys.ts";

/** Goes into each transaction that changes a key, a tier or an instance. Adds no conflict. */
export function bumpAccessVersion(tx: Transaction): void {
  tx.add(keys.accessVersion(), 1n);
}
