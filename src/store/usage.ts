/**
 * How many events each environment has stored in each month: what plans are about. Counted in the
 * transaction that stores them, by additions, which are no conflict, in several keys, so that none
 * of them is hot. The counters of past months stay, for people to look at.
 */

import { USAGE_SHARDS, usageShard } from "../domain/work_share.ts";
import type { Bytes, ReadTransaction, Transaction } from "../kv/engine.ts";
import { viewOf } from "../kv/slab.ts";
import { keys } from "./keys.ts";

/**
 * To be called once by each transaction that stores events. `month` is as `monthOf` gives it;
 * `subject` tells transactions apart, e.g. one of their streams.
 */
export function countUsage(
  tx: Pick<Transaction, "add">,
  tenant: number,
  month: string,
  events: number,
  subject: string,
): void {
  tx.add(keys.usage(tenant, month, usageShard(subject)), BigInt(events));
}

/** Events stored in that month. */
export async function readUsage(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  month: string,
): Promise<number> {
  const pairs = await tx.getRange(keys.usages(tenant, month), { limit: USAGE_SHARDS });
  return pairs.reduce((sum, { value }) => sum + decodeCounter(value), 0);
}

function decodeCounter(value: Bytes): number {
  return Number(viewOf(value).getBigInt64(0, true));
}
