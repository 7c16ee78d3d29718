/** Reads how many events an environment has stored in a month, and its plan's limit. */

import type { Tier } from "../../domain/access/access.ts";
import { EVENTS_PER_MONTH, monthEnd } from "../../domain/limits/plan.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Engine } from "../../kv/engine.ts";
import { readUsage } from "../../store/usage.ts";

export interface UsageView {
  readonly instance_id: string;
  readonly environment: string;
  readonly tier: Tier;
  /** `2026-11`, in UTC. */
  readonly month: string;
  readonly events_written: number;
  /** Null if there is no limit. */
  readonly limit: number | null;
  /** The start of the next month. */
  readonly resets_at: string;
}

export async function readMonthUsage(
  engine: Engine,
  tenant: Tenant,
  tier: Tier,
  month: string,
): Promise<UsageView> {
  const used = await engine.snapshot((tx) => readUsage(tx, tenant.number, month));
  return {
    instance_id: tenant.instanceId,
    environment: tenant.environment,
    tier,
    month,
    events_written: used,
    limit: EVENTS_PER_MONTH[tier] ?? null,
    resets_at: monthEnd(month),
  };
}
