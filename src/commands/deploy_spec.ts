/**
 * Deploys a spec: compile, compare with the current one, make current. Spec: "Versioning",
 * "Operator endpoints". The comparison and the switch are one transaction, so two deploys at once
 * cannot both pass against the same predecessor.
 */

import { limits } from "../domain/limits.ts";
import { accept, type Outcome, refuse } from "../domain/refusal.ts";
import { checkCompatibility, describeChanges } from "../domain/spec/compatibility.ts";
import { eventTypesOf } from "../domain/saga/definition.ts";
import { bindBlobs, checkBlobs } from "../domain/spec/bind_blobs.ts";
import { checkListenersFor } from "../domain/spec/listeners.ts";
import { compileSpec } from "../domain/spec/compile.ts";
import type { CompiledSpec } from "../domain/spec/compiled.ts";
import type { DeployedSpec, DeploySpecRequest } from "../domain/spec/deployment.ts";
import type { Tenant } from "../domain/tenant.ts";
import type { Host } from "../host.ts";
import type { Engine, Transaction } from "../kv/engine.ts";
import { findBlobs } from "../store/blobs.ts";
import { enqueueTypeRebuild } from "../store/rebuilds.ts";
import type { SpecCache } from "../queries/current_spec.ts";
import { readTenantNumber } from "../store/instances.ts";
import { openWatchedTypes, watchTypes } from "../store/watched_types.ts";
import { readCurrentSpec, type StoredSpec, storeSpec } from "../store/specs.ts";

/** A spec like the current one is a no-op; a dry run tells what would happen and does nothing. */
export async function deploySpec(
  engine: Engine,
  host: Host,
  specs: SpecCache,
  tenant: Tenant,
  request: DeploySpecRequest,
  allowPrivateWebhooks = false,
): Promise<Outcome<DeployedSpec>> {
  if (request.force && tenant.environment === "production") {
    const message = "force is not allowed in production: a production spec stays compatible";
    return refuse({ kind: "forbidden", message });
  }
  const compiled = compileSpec(request.spec);
  if (!compiled.ok) return refuse({ kind: "spec_invalid", violations: compiled.violations });
  const { spec: unbound, warnings } = compiled;
  const { environment } = tenant;
  const places = checkListenersFor(unbound.listeners.values(), environment, allowPrivateWebhooks);
  if (places.length > 0) return refuse({ kind: "spec_invalid", violations: places });
  const references = unbound.moduleCalls.map(({ blob }) => blob);
  const createdAt = new Date(host.nowMs()).toISOString();
  const compiledBefore = (before: StoredSpec) =>
    specs.known(tenant.number, before.spec_hash) ?? compileStored(before);
  const outcome = await engine.transact(async (tx) => {
    const number = await readTenantNumber(tx, tenant);
    const before = await readCurrentSpec(tx, number);
    if (before?.spec_hash === unbound.hash) {
      return accept({ ...describe(before, []), spec: unbound });
    }
    const blobs = await findBlobs(tx, number, references);
    const uncallable = checkBlobs(unbound.moduleCalls, blobs).slice(0, limits.violationsMax);
    if (uncallable.length > 0) return refuse({ kind: "spec_invalid", violations: uncallable });
    const spec = bindBlobs(unbound, blobs);
    const violations = before === undefined || request.force
      ? []
      : checkCompatibility(before.spec, spec.document);
    if (violations.length > 0) return refuse({ kind: "spec_incompatible", violations });
    const version = (before?.version ?? 0) + 1;
    const next: StoredSpec = {
      version,
      spec_hash: spec.hash,
      created_at: createdAt,
      spec: spec.document,
    };
    if (!request.dryRun) {
      storeSpec(tx, number, next);
      await showToSagas(tx, number, spec);
      if (before !== undefined) rebuildChangedTypes(tx, number, compiledBefore(before), spec);
    }
    return accept({ ...describe(next, describeChanges(before?.spec, spec.document)), spec });
  }).catch((error) => {
    // It may have landed although its reply was lost.
    specs.forget(tenant.number);
    throw error;
  });
  if (!outcome.ok) return outcome;
  const { spec, ...deployed } = outcome.value;
  if (!request.dryRun) specs.learn(tenant.number, spec);
  return accept({ ...deployed, warnings });
}

function describe(
  { spec_hash, version }: StoredSpec,
  changes: readonly string[],
): Omit<DeployedSpec, "warnings"> {
  return { spec_hash, version, changes };
}

/** From this commit on, events that start sagas or end their waits are put into the outbox. */
async function showToSagas(tx: Transaction, tenant: number, spec: CompiledSpec) {
  if (spec.sagas.size === 0) return;
  const types = [...spec.sagas.values()].flatMap(eventTypesOf);
  const sagas = types.map(({ aggregateType, eventType }) => `${aggregateType}.${eventType}`);
  watchTypes(tx, tenant, await openWatchedTypes().read(tx, tenant), { sagas });
}

/** The same for the spec that is current, however it came to be. */
export async function showCurrentToSagas(tx: Transaction, tenant: number): Promise<void> {
  const stored = await readCurrentSpec(tx, tenant);
  const spec = stored && compileStored(stored);
  if (spec !== undefined) await showToSagas(tx, tenant, spec);
}

/** Undefined only for one that an earlier version of the service took and this one would not. */
export function compileStored({ spec }: StoredSpec): CompiledSpec | undefined {
  const compiled = compileSpec(spec);
  return compiled.ok ? compiled.spec : undefined;
}

/** Spec: "Aggregates are rebuilt in the background": those folded anew or in another way. */
function rebuildChangedTypes(
  tx: Transaction,
  tenant: number,
  before: CompiledSpec | undefined,
  after: CompiledSpec,
): void {
  for (const type of after.aggregateTypes.values()) {
    const old = before?.aggregateTypes.get(type.name);
    // A type that was not there or not cached has no snapshots, or old ones, of streams it had.
    if (!type.cached || (old?.cached && old.definitionHash === type.definitionHash)) continue;
    enqueueTypeRebuild(tx, tenant, type.name);
  }
}
