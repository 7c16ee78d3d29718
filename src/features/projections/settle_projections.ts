/**
 * Makes projections follow the spec. A version whose basis has changed gets a successor, which
 * is built next to it. A document that no longer fits is marked as broken until it fits again.
 * See docs/reference/projections.md.
 */

import { compileProjection } from "../../domain/projection/compile.ts";
import { basisOf } from "../../domain/projection/basis.ts";
import type { CompiledProjection } from "../../domain/projection/definition.ts";
import type { CompiledSpec } from "../../domain/spec/compiled.ts";
import type { Transaction } from "../../kv/engine.ts";
import { isRecordSettled, type ProjectionSet } from "./projection_sets.ts";
import { clearLogCursor } from "../../store/feed/log_cursor.ts";
import {
  clearProjectionTenant,
  listProjections,
  newestVersion,
  projectionPlaceOf,
  type ProjectionRecord,
  setProjection,
} from "../../store/projections/projections.ts";
import { setBuild } from "../../store/projections/projection_work.ts";
import { openWatchedTypes, setLoggedTypes } from "../../store/reactions/watched_types.ts";
import type { RowParts } from "./refresh_rows.ts";

/** Returns how many definitions were brought to the spec of the set. */
export async function settleProjections(
  { engine, host, sets }: RowParts,
  set: ProjectionSet,
): Promise<number> {
  const { tenant, spec } = set;
  const nowMs = host.nowMs();
  const count = await engine.transact(async (tx) => {
    if (!await sets.isCurrent(tx, set)) return 0;
    const records = await listProjections(tx, tenant);
    const settled = records.map((record) =>
      isRecordSettled(record, spec) ? record : followSpec(tx, tenant, { record, spec, nowMs })
    );
    const changed = settled.filter((record, index) => record !== records[index]);
    for (const record of changed) setProjection(tx, tenant, record);
    await logTypes(tx, tenant, settled);
    return changed.length;
  });
  sets.forget(tenant);
  return count;
}

interface SpecToFollow {
  readonly record: ProjectionRecord;
  readonly spec: CompiledSpec;
  readonly nowMs: number;
}

function followSpec(
  tx: Transaction,
  tenant: number,
  { record, spec, nowMs }: SpecToFollow,
): ProjectionRecord {
  const { document } = newestVersion(record);
  const compiled = compileProjection(document, spec, "store");
  if (compiled.ok) {
    return beginVersion(tx, tenant, {
      before: record,
      projection: compiled.projection,
      spec,
      nowMs,
    });
  }
  const [first] = compiled.violations;
  const broken = first === undefined
    ? "The document is invalid"
    : `${first.path}: ${first.message}`;
  return { ...record, broken, isStale: true };
}

export interface VersionToBegin {
  readonly before: ProjectionRecord;
  readonly projection: CompiledProjection;
  readonly spec: CompiledSpec;
  readonly nowMs: number;
}

/** The record with a new version to build. A version that was still being built is given up. */
export function beginVersion(
  tx: Transaction,
  tenant: number,
  { before, projection, spec, nowMs }: VersionToBegin,
): ProjectionRecord {
  const version = before.versions + 1;
  const { document, columns, types } = projection;
  const building = {
    version,
    document,
    columns: columns.map(({ name, type }) => ({ name, type })),
    types: [...types].sort(),
    basis: basisOf(projection, spec),
  };
  const givenUp = before.building === undefined ? [] : [before.building.version];
  setBuild(tx, projectionPlaceOf(tenant, before, building), {
    isWhole: false,
    rows: 0,
    startedMs: nowMs,
    restarts: 0,
  });
  const { broken: _, ...record } = before;
  const removing = [...before.removing, ...givenUp];
  // Until it is built, the version that is read is not kept up to date if its document no
  // longer fits.
  const { ready } = before;
  const isFrozen = ready !== undefined && !compileProjection(ready.document, spec, "store").ok;
  return { ...record, versions: version, building, removing, ...(isFrozen && { isStale: true }) };
}

/** From this commit on, the upkeep is woken by exactly the types that any projection reads. */
export async function logTypes(
  tx: Transaction,
  tenant: number,
  records: readonly ProjectionRecord[],
): Promise<void> {
  const kept = records.filter(({ isDeleted }) => !isDeleted);
  const versions = kept.flatMap(({ ready, building }) => [ready, building]);
  const types = new Set(versions.flatMap((version) => version?.types ?? []));
  setLoggedTypes(tx, tenant, await openWatchedTypes().read(tx, tenant), types);
}

/** Stops looking at an environment that has no projections. */
export async function forgetProjectionTenant(
  { engine }: RowParts,
  tenant: number,
): Promise<number> {
  await engine.transact(async (tx) => {
    const records = await listProjections(tx, tenant);
    if (records.length > 0) return;
    clearLogCursor(tx, tenant);
    clearProjectionTenant(tx, tenant);
  });
  return 0;
}
