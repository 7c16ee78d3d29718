/** Removes what is older than its day: ledger entries and error records. */

import type { Host } from "../host.ts";
import type { Engine } from "../kv/engine.ts";
import { sweepErrorRecords } from "../store/error_records.ts";
import { type LedgerCursor, sweepLedger } from "../store/idempotency.ts";
import { readTenantCount } from "../store/instances.ts";
import type { WorkShare } from "./share_work.ts";

const MS_PER_SECOND = 1000;
const FIRST_TENANT = 1;
/** An entry may stay so much longer than its day; it answers nothing then. */
const REST_MS = 10 * 60 * 1000;

export interface Sweeper {
  /**
   * Looks at the next `limit` ledger entries of one tenant, and removes up to `limit` error
   * records. Called again and again, it walks round and round the ledgers of all tenants. While
   * another process sweeps it does nothing.
   * @returns how many it removed where it is worth going on at once: error records, and ledger
   *   entries when half of those looked at had ended. So the ledger stays below about twice what
   *   a day writes, however much that is, and the walk over what is alive stays slow.
   */
  sweep(limit: number): Promise<number>;
}

export function createSweeper(engine: Engine, host: Host, share: WorkShare): Sweeper {
  let cursor: LedgerCursor = { tenant: FIRST_TENANT };
  /** Between two rounds over all ledgers there is a rest. */
  let restsUntilMs = -Infinity;

  async function sweep(limit: number): Promise<number> {
    if ((await share.held("sweep")).length === 0) return 0;
    const nowMs = host.nowMs();
    const removed = nowMs < restsUntilMs ? 0 : await sweepNextLedger(nowMs, limit);
    const records = await engine.transact((tx) => sweepErrorRecords(tx, nowMs, limit));
    return records + (2 * removed >= limit ? removed : 0);
  }

  async function sweepNextLedger(nowMs: number, limit: number): Promise<number> {
    const { removed, next } = await engine.transact((tx) =>
      sweepOneLedger(tx, cursor, nowMs, limit)
    );
    const isRoundOver = next.tenant === FIRST_TENANT && next.after === undefined;
    if (isRoundOver) restsUntilMs = nowMs + REST_MS;
    cursor = next;
    return removed;
  }

  return { sweep };
}

/** Gives where the walk goes on, at the next tenant after the end of one. */
async function sweepOneLedger(
  tx: Parameters<typeof sweepLedger>[0],
  cursor: LedgerCursor,
  nowMs: number,
  limit: number,
): Promise<{ readonly removed: number; readonly next: LedgerCursor }> {
  const now = Math.floor(nowMs / MS_PER_SECOND);
  const { removed, next } = await sweepLedger(tx, cursor, now, limit);
  if (next !== undefined) return { removed, next };
  const tenants = await readTenantCount(tx.unguarded);
  const tenant = cursor.tenant < tenants ? cursor.tenant + 1 : FIRST_TENANT;
  return { removed, next: { tenant } };
}
