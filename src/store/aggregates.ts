/** The index of ids behind the aggregate listing: byte-wise order of the canonical id. */

import type { ReadTransaction, Transaction } from "../kv/engine.ts";
import { unpack } from "../kv/tuple.ts";
import { keyAfter, keys } from "./keys.ts";

const PRESENT = new Uint8Array(0);

/** Called with the first event of a stream. */
export function indexAggregate(tx: Transaction, tenant: number, type: string, id: string): void {
  tx.set(keys.aggregate(tenant, type, id), PRESENT);
}

/** At most `limit` ids after `start` (exclusive; any text), in byte-wise order. */
export async function listAggregateIds(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  type: string,
  page: { readonly start?: string; readonly limit: number },
): Promise<string[]> {
  const range = keys.aggregates(tenant, type);
  const begin = page.start === undefined
    ? range.begin
    : keyAfter(keys.aggregate(tenant, type, page.start));
  const pairs = await tx.getRange({ begin, end: range.end }, { limit: page.limit });
  return pairs.map(({ key }) => unpack(key).at(-1) as string);
}
