/** Rate limits and plans, bound to one engine and one host. */

import { createRequestAdmission, type RequestAdmission } from "../commands/admit_request.ts";
import type { Host } from "../host.ts";
import type { Engine } from "../kv/engine.ts";

export type LimitsService = RequestAdmission;

export interface LimitsParts {
  readonly engine: Engine;
  readonly host: Host;
}

export function createLimits({ host }: LimitsParts): LimitsService {
  return createRequestAdmission(host);
}
