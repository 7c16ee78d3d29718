/** Rate limits and plans, bound to one engine and one host. */

import { createRequestAdmission, type RequestAdmission } from "./admit_request.ts";
import { openSharedCounter } from "./share_rate.ts";
import type { Tier } from "../../domain/access/access.ts";
import type { Counters } from "../../domain/measures/counters.ts";
import { monthOf } from "../../domain/limits/plan.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { readMonthUsage, type UsageView } from "./read_usage.ts";

export interface LimitsService extends RequestAdmission {
  /** `month` looks like `2026-11`; if left out, it is the current month in UTC. */
  readUsage(tenant: Tenant, tier: Tier, month?: string): Promise<UsageView>;
}

export interface LimitsParts {
  readonly engine: Engine;
  readonly host: Host;
  readonly counters: Counters;
  /** Whether several processes may use this store and so share each instance's limits. */
  readonly isStoreShared: boolean;
}

const OWNER_BYTES = 8;

export function createLimits({ isStoreShared, ...parts }: LimitsParts): LimitsService {
  const { host, engine } = parts;
  return {
    ...isStoreShared ? shareAdmission(parts) : createRequestAdmission(host),
    readUsage: (tenant, tier, month = monthOf(host.nowMs())) =>
      readMonthUsage(engine, tenant, tier, month),
  };
}

function shareAdmission(parts: Omit<LimitsParts, "isStoreShared">): RequestAdmission {
  const { host } = parts;
  const sharing = { ...parts, owner: host.randomBytes(OWNER_BYTES).toHex() };
  return createRequestAdmission(host, (id, kind) => openSharedCounter(sharing, id, kind));
}
