/** The counter that tells every node to forget its cached API keys, tiers and instances. */

import type { Transaction } from "../../kv/engine.ts";
import { keys } from "../keys.ts";

/** Call this in each transaction that changes a key, a tier or an instance. Causes no conflict. */
export function bumpAccessVersion(tx: Transaction): void {
  tx.add(keys.accessVersion(), 1n);
}
