/** Rate limits and plans, bound to one engine and one host. */

import { createRequestAdmission, type RequestAdmission } from "./admit_request.ts";
import { openSharedCounter } from "./share_rate.ts";
import type { Tier } from "../../domain/access/access.ts";
import type { Counters } from "../../domain/measures/counters.ts";
import { EVENTS_PER_MONTH } from "../../domain/limits/plan.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { monthEnd, monthOf, readUsage } from "../../store/usage.ts";

export interface LimitsService extends RequestAdmission {
  /** `month` looks like `2026-11`; if left out, it is the current month in UTC. */
  readUsage(tenant: Tenant, tier: Tier, month?: string): Promise<UsageView>;
}

export interface LimitsParts {
  readonly engine: Engine;
  readonly host: Host;
  readonly counters: Counters;
}

const OWNER_BYTES = 8;

export function createLimits(parts: LimitsParts): LimitsService {
  const { host, engine } = parts;
  return {
    // Processes that share a store share each instance's limits too.
    ...engine.capabilities.isShared ? shareAdmission(parts) : createRequestAdmission(host),
    readUsage: (tenant, tier, month = monthOf(host.nowMs())) =>
      readMonthUsage(engine, tenant, tier, month),
  };
}

function shareAdmission(parts: LimitsParts): RequestAdmission {
  const { host } = parts;
  const sharing = { ...parts, owner: host.randomBytes(OWNER_BYTES).toHex() };
  return createRequestAdmission(host, (id, kind) => openSharedCounter(sharing, id, kind));
}

/** How many events an environment has stored in a month, and its plan's limit. */
interface UsageView {
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

async function readMonthUsage(
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
