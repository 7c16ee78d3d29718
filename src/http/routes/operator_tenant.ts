/**
 * Resolves the tenant of an operator call: the instance of its path or body, and the
 * environment.
 */

import type { Operator } from "../../domain/access/access.ts";
import { type Outcome, refuse } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Call, Edge } from "../call.ts";
import { decodeEnvironment } from "../decode/operator.ts";

/** `bodyEnvironment` is the body's `environment` field, if there is one. */
export async function findOperatorTenant(
  edge: Edge,
  call: Call,
  operator: Operator,
  bodyEnvironment?: string,
): Promise<Outcome<Tenant>> {
  return await findTenant(edge, call, operator, call.params[0], bodyEnvironment);
}

/** The fields of a body that name the tenant. */
export interface NamedTenant {
  readonly environment?: string;
  readonly instance_id?: string;
}

/**
 * The same for calls without an instance in their path: the body or query names it, unless
 * there is only one.
 */
export async function findNamedTenant(
  edge: Edge,
  call: Call,
  operator: Operator,
  body: NamedTenant = {},
): Promise<Outcome<Tenant>> {
  const inQuery = new URLSearchParams(call.query).get("instance_id") ?? undefined;
  const { instance_id: inBody = inQuery, environment } = body;
  if (inQuery !== undefined && inBody !== inQuery) {
    const message = "instance_id differs between the body and the query";
    return refuse({ kind: "bad_request", path: "instance_id", message });
  }
  return await findTenant(edge, call, operator, inBody, environment);
}

async function findTenant(
  edge: Edge,
  call: Call,
  operator: Operator,
  instanceId: string | undefined,
  bodyEnvironment: string | undefined,
): Promise<Outcome<Tenant>> {
  const environment = decodeEnvironment(call.query, bodyEnvironment, call.place.environment);
  if (!environment.ok) return environment;
  const tenant = await edge.service.access.resolveTenant(operator, instanceId, environment.value);
  if (tenant.ok) call.tenant = tenant.value;
  return tenant;
}
