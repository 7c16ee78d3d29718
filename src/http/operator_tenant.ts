/**
 * Resolves the tenant of an operator call: the instance of its path, body or query, and the
 * environment.
 */

import type { Operator } from "../domain/access/access.ts";
import { accept, type Outcome } from "../domain/refusal.ts";
import { type Environment, parseEnvironment, type Tenant } from "../domain/tenant.ts";
import type { Call, Edge } from "./call.ts";
import { badField } from "./fields.ts";
import { choice, type Schema } from "./openapi/schema.ts";
import { text } from "./parameter.ts";

const ENVIRONMENT = {
  ...choice(["production", "prod", "staging", "test"]),
  description: "Left out: that of the address",
} as const satisfies Schema;
const INSTANCE = {
  type: "string",
  description: "May be left out where there is one instance",
} as const satisfies Schema;

/** For operator calls whose path does not name an environment. */
export const ENVIRONMENT_FIELDS = { "environment?": ENVIRONMENT } as const;
export const ENVIRONMENT_QUERY = { environment: text(ENVIRONMENT) } as const;
/** For those whose path does not name an instance either. */
export const TENANT_FIELDS = { ...ENVIRONMENT_FIELDS, "instance_id?": INSTANCE } as const;
export const TENANT_QUERY = { ...ENVIRONMENT_QUERY, instance_id: text(INSTANCE) } as const;

/** What a call says about its environment. */
interface AsksEnvironment {
  readonly query: { readonly environment: string | undefined };
  readonly body: { readonly environment?: string };
}

/** What a call says about its tenant. */
export interface AsksTenant extends AsksEnvironment {
  readonly query: AsksEnvironment["query"] & { readonly instance_id?: string };
  readonly body: AsksEnvironment["body"] & { readonly instance_id?: string };
}

/** For calls with the instance in their path. */
export async function findOperatorTenant(
  edge: Edge,
  call: Call,
  operator: Operator,
  asked: AsksEnvironment,
): Promise<Outcome<Tenant>> {
  return await findTenant(edge, call, operator, { ...asked, instanceId: call.params[0] });
}

/** For other calls: the body or the query names the instance, unless there is only one. */
export async function findNamedTenant(
  edge: Edge,
  call: Call,
  operator: Operator,
  asked: AsksTenant,
): Promise<Outcome<Tenant>> {
  const inQuery = asked.query.instance_id;
  const { instance_id: instanceId = inQuery } = asked.body;
  if (inQuery !== undefined && instanceId !== inQuery) {
    return badField("instance_id", "instance_id differs between the body and the query");
  }
  return await findTenant(edge, call, operator, { ...asked, instanceId });
}

async function findTenant(
  edge: Edge,
  call: Call,
  operator: Operator,
  { instanceId, ...asked }: AsksEnvironment & { readonly instanceId: string | undefined },
): Promise<Outcome<Tenant>> {
  const environment = decodeEnvironment(asked, call.place.environment);
  if (!environment.ok) return environment;
  const tenant = await edge.service.access.resolveTenant(operator, instanceId, environment.value);
  if (tenant.ok) call.tenant = tenant.value;
  return tenant;
}

/**
 * The environment that a call names; `otherwise` if it names none. `prod` means `production`. Two
 * different ones are refused, because one must be a mistake.
 */
export function decodeEnvironment(
  { query, body }: AsksEnvironment,
  otherwise: Environment,
): Outcome<Environment> {
  const found = new Set<Environment>();
  for (const text of [query.environment, body.environment]) {
    if (text === undefined) continue;
    const environment = parseEnvironment(text);
    if (environment === undefined) {
      return badField("environment", "environment must be production, staging or test");
    }
    found.add(environment);
  }
  if (found.size > 1) {
    return badField("environment", "environment differs between the body and the query");
  }
  const [environment = otherwise] = found;
  return accept(environment);
}
