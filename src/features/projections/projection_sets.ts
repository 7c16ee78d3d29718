/**
 * The projections of an environment that are kept up to date.
 *
 * Each is compiled under the current spec and listed with the versions that have rows.
 */

import { runInPieces, type Steps, type Turns } from "../../domain/fairness/pieces.ts";
import { openTransactionPieces } from "../../domain/fairness/transaction_pieces.ts";
import { basisSteps } from "../../domain/projection/basis.ts";
import { compileProjection } from "../../domain/projection/compile.ts";
import type { CompiledProjection } from "../../domain/projection/definition.ts";
import type { ProjectionPlace } from "../../domain/projection/ready_projection.ts";
import { createRecentMap } from "../../domain/recent_map.ts";
import type { CompiledSpec } from "../../domain/spec/compiled.ts";
import type { Engine, Transaction } from "../../kv/engine.ts";
import {
  listProjections,
  newestVersion,
  projectionPlaceOf,
  type ProjectionRecord,
  readProjectionChanges,
} from "../../store/projections/projections.ts";
import { isCurrentFold, type SpecCache } from "../base/current_spec.ts";

/** A version whose rows are kept up to date. */
export interface KeptProjection {
  readonly name: string;
  readonly place: ProjectionPlace;
  /** Whether this is the version that is read. */
  readonly isReady: boolean;
  readonly projection: CompiledProjection;
}

/** A version that is still read although its document does not fit the current spec. */
export interface FrozenProjection {
  readonly place: ProjectionPlace;
  readonly types: ReadonlySet<string>;
}

export interface ProjectionSet {
  readonly tenant: number;
  readonly spec: CompiledSpec;
  /** The state of the definitions when this set was read. */
  readonly changes: string;
  readonly records: readonly ProjectionRecord[];
  readonly projections: readonly KeptProjection[];
  /** Versions that are read but no longer kept up to date. */
  readonly frozen: readonly FrozenProjection[];
  /** False if the spec has changed and the versions have not followed yet. */
  readonly isSettled: boolean;
}

export interface ProjectionSets {
  current(tenant: number): Promise<ProjectionSet>;
  /**
   * Whether the set is still what is deployed; a guarded read. If false, the caller must
   * `forget`.
   */
  isCurrent(tx: Transaction, set: ProjectionSet): Promise<boolean>;
  forget(tenant: number): void;
}

/** Approximate memory of all sets, and the size counted for the smallest one. */
const SETS_BYTES_MAX = 96 * 1024 * 1024;
const SET_BYTES_MIN = SETS_BYTES_MAX / 256;
/** Approximate memory of a version: what it is compiled to, and each character of its document. */
const VERSION_BYTES = 2_000;
const CHARACTER_BYTES = 8;

interface KnownSet {
  readonly set: ProjectionSet;
  readonly bytes: number;
}

/** A set that is being made, for all who ask for it meanwhile. */
interface SetInTheMaking {
  readonly spec: CompiledSpec;
  readonly changes: string;
  readonly set: Promise<ProjectionSet>;
}

export function openProjectionSets(
  engine: Engine,
  specs: SpecCache,
  turns: Turns,
): ProjectionSets {
  const known = createRecentMap<number, KnownSet>(SETS_BYTES_MAX, ({ bytes }) => bytes);
  const making = new Map<number, SetInTheMaking>();

  async function current(tenant: number): Promise<ProjectionSet> {
    const spec = await specs.current(tenant);
    const before = known.get(tenant)?.set;
    const changes = await engine.snapshot((tx) => readProjectionChanges(tx, tenant));
    if (before?.changes === changes && before.spec === spec) return before;
    const pending = making.get(tenant);
    if (pending?.changes === changes && pending.spec === spec) return await pending.set;
    const begun = { spec, changes, set: make(tenant, spec) };
    making.set(tenant, begun);
    try {
      return await begun.set;
    } finally {
      if (making.get(tenant) === begun) making.delete(tenant);
    }
  }

  async function make(tenant: number, spec: CompiledSpec): Promise<ProjectionSet> {
    const read = await engine.snapshot(async (tx) => ({
      changes: await readProjectionChanges(tx, tenant),
      records: await listProjections(tx, tenant, openTransactionPieces(turns, tenant)),
    }));
    const set = await runInPieces(makeSet(tenant, spec, read.changes, read.records), turns);
    const bytes = await runInPieces(sizeSteps(read.records), turns);
    known.set(tenant, { set, bytes });
    return set;
  }

  return {
    current,
    isCurrent: async (tx, { tenant, spec, changes }) =>
      await readProjectionChanges(tx, tenant) === changes &&
      await isCurrentFold(tx, tenant, spec),
    forget(tenant) {
      known.delete(tenant);
      specs.forget(tenant);
    },
  };
}

function* sizeSteps(records: readonly ProjectionRecord[]): Steps<number> {
  let bytes = 0;
  for (const { ready, building } of records) {
    for (const version of [ready, building]) {
      if (version === undefined) continue;
      yield;
      bytes += VERSION_BYTES + CHARACTER_BYTES * JSON.stringify(version.document).length;
    }
  }
  return Math.max(SET_BYTES_MIN, bytes);
}

function* makeSet(
  tenant: number,
  spec: CompiledSpec,
  changes: string,
  records: readonly ProjectionRecord[],
): Steps<ProjectionSet> {
  const projections: KeptProjection[] = [];
  let isSettled = true;
  for (const record of records) {
    if (!record.isDeleted && record.broken === undefined) {
      projections.push(...yield* keptProjections(tenant, spec, record));
    }
    isSettled &&= yield* isRecordSettled(record, spec);
  }
  const frozen = records.flatMap((record) => frozenProjection(tenant, record, projections) ?? []);
  return { tenant, spec, changes, records, projections, frozen, isSettled };
}

function frozenProjection(
  tenant: number,
  record: ProjectionRecord,
  projections: readonly KeptProjection[],
): FrozenProjection | undefined {
  const { name, ready, isDeleted } = record;
  if (ready === undefined || isDeleted) return undefined;
  if (projections.some((kept) => kept.name === name && kept.isReady)) return undefined;
  return { place: projectionPlaceOf(tenant, record, ready), types: new Set(ready.types) };
}

function* keptProjections(
  tenant: number,
  spec: CompiledSpec,
  record: ProjectionRecord,
): Steps<KeptProjection[]> {
  const { name, ready, building } = record;
  const kept: KeptProjection[] = [];
  for (const version of [ready, building]) {
    if (version === undefined) continue;
    yield;
    const compiled = compileProjection(version.document, spec, "store");
    // An older document may no longer fit the spec; its successor is being built.
    if (!compiled.ok) continue;
    const isReady = version === ready;
    const place = projectionPlaceOf(tenant, record, version);
    kept.push({ name, place, isReady, projection: compiled.projection });
  }
  return kept;
}

/** Whether the newest version was built under the current spec. */
export function* isRecordSettled(record: ProjectionRecord, spec: CompiledSpec): Steps<boolean> {
  if (record.isDeleted) return true;
  yield;
  const { document, basis } = newestVersion(record);
  const compiled = compileProjection(document, spec, "store");
  if (!compiled.ok) return record.broken !== undefined;
  return record.broken === undefined && basis === (yield* basisSteps(compiled.projection, spec));
}
