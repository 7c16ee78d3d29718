/**
 * Makes projections follow the spec. A version whose basis has changed gets a successor, which
 * is built next to it. A document that no longer fits is marked as broken until it fits again.
 * See docs/reference/projections.md.
 */

import { runInPieces, type Steps } from "../../domain/fairness/pieces.ts";
import { openTransactionPieces } from "../../domain/fairness/transaction_pieces.ts";
import { compileProjection } from "../../domain/projection/compile.ts";
import { basisSteps } from "../../domain/projection/basis.ts";
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

/**
 * Records that one transaction brings to a spec: with the documents of two versions each, they
 * have a few megabytes.
 */
const RECORDS_AT_A_TIME = 25;

/** Returns how many definitions were brought to the spec of the set; there may be more. */
export async function settleProjections(
  { engine, host, sets }: RowParts,
  set: ProjectionSet,
): Promise<number> {
  const { tenant, spec } = set;
  const nowMs = host.nowMs();
  // Compiled before the transaction, which lasts only five seconds. The records are still the
  // same in it if the set is current.
  const steps = await runInPieces(planSettling(set), host);
  const count = await engine.transact(async (tx) => {
    if (!await sets.isCurrent(tx, set)) return 0;
    const pieces = openTransactionPieces(host, tenant);
    const settled = new Map(set.records.map((record) => [record.name, record]));
    for (const step of steps) {
      const rest = pieces.rest();
      if (rest !== undefined) await rest;
      const record = followSpec(tx, tenant, { step, spec, nowMs });
      setProjection(tx, tenant, record);
      settled.set(record.name, record);
    }
    await logTypes(tx, tenant, [...settled.values()]);
    return steps.length;
  });
  sets.forget(tenant);
  return count;
}

/** What one record needs: a version to build under the spec, or why there can be none. */
interface SettlingStep {
  readonly record: ProjectionRecord;
  readonly next:
    | { readonly projection: CompiledProjection; readonly basis: string }
    | { readonly broken: string };
}

function* planSettling({ records, spec }: ProjectionSet): Steps<SettlingStep[]> {
  const plan: SettlingStep[] = [];
  for (const record of records) {
    if (plan.length === RECORDS_AT_A_TIME) break;
    if (yield* isRecordSettled(record, spec)) continue;
    yield;
    const compiled = compileProjection(newestVersion(record).document, spec, "store");
    if (compiled.ok) {
      const { projection } = compiled;
      plan.push({ record, next: { projection, basis: yield* basisSteps(projection, spec) } });
      continue;
    }
    const [first] = compiled.violations;
    const broken = first === undefined
      ? "The document is invalid"
      : `${first.path}: ${first.message}`;
    plan.push({ record, next: { broken } });
  }
  return plan;
}

interface SpecToFollow {
  readonly step: SettlingStep;
  readonly spec: CompiledSpec;
  readonly nowMs: number;
}

function followSpec(
  tx: Transaction,
  tenant: number,
  { step: { record, next }, spec, nowMs }: SpecToFollow,
): ProjectionRecord {
  if ("broken" in next) return { ...record, broken: next.broken, isStale: true };
  return beginVersion(tx, tenant, { before: record, ...next, spec, nowMs });
}

export interface VersionToBegin {
  readonly before: ProjectionRecord;
  readonly projection: CompiledProjection;
  readonly basis: string;
  readonly spec: CompiledSpec;
  readonly nowMs: number;
}

/** The record with a new version to build. A version that was still being built is given up. */
export function beginVersion(
  tx: Transaction,
  tenant: number,
  { before, projection, basis, spec, nowMs }: VersionToBegin,
): ProjectionRecord {
  const version = before.versions + 1;
  const { document, columns, types } = projection;
  const building = {
    version,
    document,
    columns: columns.map(({ name, type }) => ({ name, type })),
    types: [...types].sort(),
    basis,
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
