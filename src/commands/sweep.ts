/** Removes what is older than its day: ledger entries and error records. */

import type { Host } from "../host.ts";
import type { Engine } from "../kv/engine.ts";
import { sweepErrorRecords } from "../store/error_records.ts";
import { type LedgerCursor, sweepLedger } from "../store/idempotency.ts";
import { readTenantCount } from "../store/instances.ts";

const MS_PER_SECOND = 1000;
const FIRST_TENANT = 1;

export interface Sweeper {
  /**
   * Looks at the next `limit` ledger entries of one tenant, and removes up to `limit` error
   * records; gives how many of these it removed. Called again and again, it walks round and round
   * the ledgers of all tenants.
   */
  sweep(limit: number): Promise<number>;
}

export function createSweeper(engine: Engine, host: Host): Sweeper {
  let cursor: LedgerCursor = { tenant: FIRST_TENANT };

  async function sweep(limit: number): Promise<number> {
    const nowMs = host.nowMs();
    cursor = await engine.transact((tx) => sweepOneLedger(tx, cursor, nowMs, limit));
    return await engine.transact((tx) => sweepErrorRecords(tx, nowMs, limit));
  }

  return { sweep };
}

/** Gives where the walk goes on. */
async function sweepOneLedger(
  tx: Parameters<typeof sweepLedger>[0],
  cursor: LedgerCursor,
  nowMs: number,
  limit: number,
): Promise<LedgerCursor> {
  const now = Math.floor(nowMs / MS_PER_SECOND);
  const next = await sweepLedger(tx, cursor, now, limit);
  if (next !== undefined) return next;
  const tenants = await readTenantCount(tx.unguarded);
  return { tenant: cursor.tenant < tenants ? cursor.tenant + 1 : FIRST_TENANT };
}
