/** Which data an operator call is about: the instance of its path, the environment it names. */

import type { Operator } from "../../domain/access.ts";
import type { Outcome } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Call, Edge } from "../call.ts";
import { decodeEnvironment } from "../decode/operator.ts";

/** `bodyEnvironment` is the body's `environment` field, where there is a body with one. */
export async function findOperatorTenant(
  edge: Edge,
  call: Call,
  operator: Operator,
  bodyEnvironment?: string,
): Promise<Outcome<Tenant>> {
  const environment = decodeEnvironment(call.query, bodyEnvironment, call.place.environment);
  if (!environment.ok) return environment;
  const instanceId = call.params[0];
  const tenant = await edge.service.access.resolveTenant(operator, instanceId, environment.value);
  if (tenant.ok) call.tenant = tenant.value;
  return tenant;
}
