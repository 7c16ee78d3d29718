/** Removes what is older than its day: ledger entries and error records. */

import type { Host } from "../host.ts";
import type { Engine } from "../kv/engine.ts";
import { sweepErrorRecords } from "../store/error_records.ts";
import { sweepLedger } from "../store/idempotency.ts";

const MS_PER_SECOND = 1000;

/** Looks at up to `limit` of each kind; gives how many it looked at. */
export async function sweep(engine: Engine, host: Host, limit: number): Promise<number> {
  const nowMs = host.nowMs();
  const now = Math.floor(nowMs / MS_PER_SECOND);
  const entries = await engine.transact((tx) => sweepLedger(tx, now, limit));
  const records = await engine.transact((tx) => sweepErrorRecords(tx, nowMs, limit));
  return entries + records;
}
