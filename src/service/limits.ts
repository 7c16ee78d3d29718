/** Rate limits and plans, bound to one engine and one host. */

import { createRequestAdmission, type RequestAdmission } from "../commands/admit_request.ts";
import { openSharedCounter } from "../commands/share_rate.ts";
import type { Counters } from "../domain/counters.ts";
import type { Host } from "../host.ts";
import type { Engine } from "../kv/engine.ts";

export type LimitsService = RequestAdmission;

export interface LimitsParts {
  readonly engine: Engine;
  readonly host: Host;
  readonly counters: Counters;
  /** Several processes may have this store, and share what each instance may do. */
  readonly isStoreShared: boolean;
}

const OWNER_BYTES = 8;

export function createLimits({ isStoreShared, ...parts }: LimitsParts): LimitsService {
  const { host } = parts;
  if (!isStoreShared) return createRequestAdmission(host);
  const sharing = { ...parts, owner: host.randomBytes(OWNER_BYTES).toHex() };
  return createRequestAdmission(host, (id, kind) => openSharedCounter(sharing, id, kind));
}
