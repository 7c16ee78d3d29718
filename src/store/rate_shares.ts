/** What the processes of a deployment have taken from each instance's rate limits. */

import type { RateKind } from "../domain/limits/plan.ts";
import type { SharedWindow } from "../domain/limits/rate_share.ts";
import type { ReadTransaction, Transaction } from "../kv/engine.ts";
import { decodeRecord, encodeRecord } from "./json_record.ts";
import { keys } from "./keys.ts";

export async function readSharedWindow(
  tx: Pick<ReadTransaction, "get">,
  instanceId: string,
  kind: RateKind,
): Promise<SharedWindow | undefined> {
  const value = await tx.get(keys.rateShare(instanceId, kind));
  return value && decodeRecord<SharedWindow>(value);
}

export function storeSharedWindow(
  tx: Transaction,
  instanceId: string,
  kind: RateKind,
  window: SharedWindow,
): void {
  tx.set(keys.rateShare(instanceId, kind), encodeRecord(window));
}
