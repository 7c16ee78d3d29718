/**
 * Removes what has outlived its retention, and completes imports whose process has died. Ledger
 * entries and error records are kept for a day, ended sagas, parked work and what is known of
 * scheduled events for thirty days, and ended deliveries by age and number. See
 * docs/reference/limits.md.
 */

import type { Host } from "../../host.ts";
import type { Bytes, Engine, Transaction } from "../../kv/engine.ts";
import {
  type EndedDeliveryPlace,
  sweepEndedDeliveries,
} from "../../store/listeners/ended_deliveries.ts";
import { type EndedSagaPlace, sweepEndedSagas } from "../../store/sagas/sagas.ts";
import { sweepErrorRecords } from "../../store/error_records.ts";
import { sweepLedger } from "../../store/streams/idempotency.ts";
import { readTenantCount } from "../../store/access/instances.ts";
import { sweepRoots } from "../../store/reactions/roots.ts";
import { sweepEndedSchedules } from "../../store/effects.ts";
import { sweepParked } from "../../store/reactions/parked_work.ts";
import type { WorkShare } from "../base/share_work.ts";
import { activateSome } from "../base/activate_work.ts";

const MS_PER_SECOND = 1000;
const FIRST_TENANT = 1;
/** How much longer than its retention something may stay. It no longer has any effect then. */
const REST_MS = 10 * 60 * 1000;
/** How many items that may be large one transaction looks at. */
const LARGE_AT_A_TIME = 50;

export interface Sweeper {
  /**
   * Moves imported work that is left into the queues. Looks at the next `limit` ledger entries
   * of one tenant and at some ended sagas, ended deliveries and parked work; removes up to
   * `limit` error records. Repeated calls cycle through all tenants. Does nothing while another
   * process sweeps.
   * @returns how much was done if it is worth continuing at once. Imported work and error
   * records always count; the others count only if at least half of those looked at had ended.
   * So the ledger stays below about twice what a day writes, however much that is, and the walk
   * over live entries stays slow.
   */
  sweep(limit: number): Promise<number>;
}

export function createSweeper(engine: Engine, host: Host, share: WorkShare): Sweeper {
  const walks: readonly Walk[] = [
    openTenantWalk<string>(async (tx, tenant, { after, nowMs, limit }) => {
      const { removed, next } = await sweepLedger(tx, { tenant, after }, seconds(nowMs), limit);
      return { removed, next: next?.after };
    }),
    openTenantWalk<EndedSagaPlace>(
      (tx, tenant, { after, nowMs, limit }) =>
        sweepEndedSagas(tx, tenant, { after, now: seconds(nowMs), limit }),
      LARGE_AT_A_TIME,
    ),
    openTenantWalk<EndedDeliveryPlace>(sweepEndedDeliveries),
    openTenantWalk<Bytes>(sweepEndedSchedules),
    openWalk<Bytes>(sweepParked, LARGE_AT_A_TIME),
  ];

  async function sweep(limit: number): Promise<number> {
    if ((await share.held("sweep")).length === 0) return 0;
    const activated = await activateSome(engine);
    const nowMs = host.nowMs();
    let removed = await engine.transact((tx) => sweepErrorRecords(tx, nowMs, limit));
    removed += await engine.transact((tx) => sweepRoots(tx, nowMs, limit));
    for (const walk of walks) removed += await walk(engine, nowMs, limit);
    return activated + removed;
  }

  return { sweep };
}

/** One step. Returns how many it removed if it is worth continuing at once, else 0. */
type Walk = (engine: Engine, nowMs: number, limit: number) => Promise<number>;

/** Looks at up to `limit` items after a place; `next` is undefined at the end of the round. */
type WalkStep<Place> = (
  tx: Transaction,
  after: Place | undefined,
  nowMs: number,
  limit: number,
) => Promise<{ readonly removed: number; readonly next: Place | undefined }>;

/** Walks through something large step by step, rests, and starts over. */
function openWalk<Place>(step: WalkStep<Place>, limitMax = Infinity): Walk {
  let after: Place | undefined;
  let restsUntilMs = -Infinity;

  return async (engine, nowMs, wanted) => {
    if (nowMs < restsUntilMs) return 0;
    const limit = Math.min(wanted, limitMax);
    const { removed, next } = await engine.transact((tx) => step(tx, after, nowMs, limit));
    after = next;
    if (next === undefined) restsUntilMs = nowMs + REST_MS;
    return 2 * removed >= limit ? removed : 0;
  };
}

/** The same for what each tenant has, one tenant after the other. */
function openTenantWalk<Place>(
  step: (
    tx: Transaction,
    tenant: number,
    part: {
      readonly after: Place | undefined;
      readonly nowMs: number;
      readonly limit: number;
    },
  ) => ReturnType<WalkStep<Place>>,
  limitMax = Infinity,
): Walk {
  return openWalk<{ readonly tenant: number; readonly after: Place | undefined }>(
    async (tx, place, nowMs, limit) => {
      const tenant = place?.tenant ?? FIRST_TENANT;
      const { removed, next } = await step(tx, tenant, { after: place?.after, nowMs, limit });
      if (next !== undefined) return { removed, next: { tenant, after: next } };
      const isLast = tenant >= await readTenantCount(tx.unguarded);
      return { removed, next: isLast ? undefined : { tenant: tenant + 1, after: undefined } };
    },
    limitMax,
  );
}

function seconds(ms: number): number {
  return Math.floor(ms / MS_PER_SECOND);
}
