/** The current spec of an environment, and the history of its versions. */

import type { JsonObject } from "../domain/json.ts";
import { accept, type Outcome, refuse } from "../domain/refusal.ts";
import type { SpecVersion } from "../domain/spec/deployment.ts";
import type { Tenant } from "../domain/tenant.ts";
import type { Engine } from "../kv/engine.ts";
import { listSpecVersions, readCurrentSpec, readCurrentSpecVersion } from "../store/specs.ts";

export async function readSpec(
  engine: Engine,
  tenant: Tenant,
): Promise<Outcome<SpecVersion & { readonly spec: JsonObject }>> {
  const stored = await engine.snapshot((tx) => readCurrentSpec(tx, tenant.number));
  if (stored !== undefined) return accept(stored);
  const message = `No spec has been deployed to ${tenant.environment} yet`;
  return refuse({ kind: "not_found", message });
}

/** Which spec is current, without its document; undefined before the first deploy. */
export async function readSpecVersion(
  engine: Engine,
  tenant: Tenant,
): Promise<SpecVersion | undefined> {
  return await engine.snapshot((tx) => readCurrentSpecVersion(tx, tenant.number));
}

/** Oldest first; empty before the first deploy. */
export async function listSpecs(
  engine: Engine,
  tenant: Tenant,
): Promise<Outcome<readonly SpecVersion[]>> {
  return accept(await engine.snapshot((tx) => listSpecVersions(tx, tenant.number)));
}
