/** Makes an instance with an API key, for tests that are about something else. */

import type { Instance, IssuedApiKey, Operator, Scope } from "../../src/domain/access/access.ts";
import type { Outcome, Refusal } from "../../src/domain/refusal.ts";
import type { Environment, Tenant } from "../../src/domain/tenant.ts";
import type { Engine } from "../../src/kv/engine.ts";
import type { Host } from "../../src/host.ts";
import { createInstance, resolveTenant } from "../../src/features/access/instances.ts";
import { issueApiKey } from "../../src/features/access/api_keys.ts";

/** An operator who may do everything. */
export const anyOperator: Operator = { subject: "ops@example.com" };

/** Returns the value of an accepted outcome; a refusal fails the test. */
export function accepted<T>(outcome: Outcome<T>): T {
  if (!outcome.ok) throw new Error(`refused: ${JSON.stringify(outcome.refusal)}`);
  return outcome.value;
}

/** Returns the refusal of an outcome; an accepted one fails the test. */
export function refusal(outcome: Outcome<unknown>): Refusal {
  if (outcome.ok) throw new Error(`accepted: ${JSON.stringify(outcome.value)}`);
  return outcome.refusal;
}

export async function makeInstance(engine: Engine, host: Host, slug: string): Promise<Instance> {
  return accepted(await createInstance(engine, host, slug, "unlimited"));
}

export async function makeTenant(
  engine: Engine,
  host: Host,
  slug = "acme",
  environment: Environment = "production",
): Promise<Tenant> {
  const { id } = await makeInstance(engine, host, slug);
  return accepted(await resolveTenant(engine, anyOperator, id, environment));
}

export async function makeKey(
  engine: Engine,
  host: Host,
  tenant: Tenant,
  scope: Scope = "write",
): Promise<IssuedApiKey> {
  return accepted(await issueApiKey(engine, host, tenant, { name: "a key", scope }));
}
