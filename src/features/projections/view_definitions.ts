/**
 * The projections of an environment that are kept up to date.
 *
 * Each is compiled under the current spec and listed with the versions that have rows.
 */

import { basisOf } from "../../domain/projection/basis.ts";
import { compileProjection } from "../../domain/projection/compile.ts";
import type { CompiledProjection } from "../../domain/projection/definition.ts";
import type { ViewPlace } from "../../domain/projection/view.ts";
import { createRecentMap } from "../../domain/recent_map.ts";
import type { CompiledSpec } from "../../domain/spec/compiled.ts";
import type { Engine, Transaction } from "../../kv/engine.ts";
import {
  listProjections,
  newestVersion,
  placeOf,
  type ProjectionRecord,
  readProjectionChanges,
} from "../../store/projections/projections.ts";
import { isCurrentFold, type SpecCache } from "../base/current_spec.ts";

/** The name under which projections read the commit log. */
export const VIEW_READER = "views";

/** A version whose rows are kept up to date. */
export interface KeptView {
  readonly name: string;
  readonly place: ViewPlace;
  /** Whether this is the version that is read. */
  readonly isReady: boolean;
  readonly projection: CompiledProjection;
}

/** A version that is still read although its document does not fit the current spec. */
export interface FrozenView {
  readonly place: ViewPlace;
  readonly types: ReadonlySet<string>;
}

export interface ViewSet {
  readonly tenant: number;
  readonly spec: CompiledSpec;
  /** The state of the definitions when this set was read. */
  readonly changes: string;
  readonly records: readonly ProjectionRecord[];
  readonly views: readonly KeptView[];
  /** Versions that are read but no longer kept up to date. */
  readonly frozen: readonly FrozenView[];
  /** False if the spec has changed and the versions have not followed yet. */
  readonly isSettled: boolean;
}

export interface ViewSets {
  current(tenant: number): Promise<ViewSet>;
  /**
   * Whether the set is still what is deployed; a guarded read. If false, the caller must
   * `forget`.
   */
  isCurrent(tx: Transaction, set: ViewSet): Promise<boolean>;
  forget(tenant: number): void;
}

/** How many environments have their projections cached. */
const SETS_MAX = 256;

export function openViewSets(engine: Engine, specs: SpecCache): ViewSets {
  const known = createRecentMap<number, ViewSet>(SETS_MAX);

  async function current(tenant: number): Promise<ViewSet> {
    const spec = await specs.current(tenant);
    const before = known.get(tenant);
    const changes = await engine.snapshot((tx) => readProjectionChanges(tx, tenant));
    if (before?.changes === changes && before.spec === spec) return before;
    const read = await engine.snapshot(async (tx) => ({
      changes: await readProjectionChanges(tx, tenant),
      records: await listProjections(tx, tenant),
    }));
    const set = makeSet(tenant, spec, read.changes, read.records);
    known.set(tenant, set);
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

function makeSet(
  tenant: number,
  spec: CompiledSpec,
  changes: string,
  records: readonly ProjectionRecord[],
): ViewSet {
  const views = records.filter(({ isDeleted, broken }) => !isDeleted && broken === undefined)
    .flatMap((record) => keptViews(tenant, spec, record));
  const isSettled = records.every((record) => isRecordSettled(record, spec));
  const frozen = records.flatMap((record) => frozenView(tenant, record, views) ?? []);
  return { tenant, spec, changes, records, views, frozen, isSettled };
}

function frozenView(
  tenant: number,
  record: ProjectionRecord,
  views: readonly KeptView[],
): FrozenView | undefined {
  const { name, ready, isDeleted } = record;
  if (ready === undefined || isDeleted) return undefined;
  if (views.some((view) => view.name === name && view.isReady)) return undefined;
  return { place: placeOf(tenant, record, ready), types: new Set(ready.types) };
}

function keptViews(tenant: number, spec: CompiledSpec, record: ProjectionRecord): KeptView[] {
  const { name, ready, building } = record;
  return [ready, building].flatMap((version) => {
    if (version === undefined) return [];
    const compiled = compileProjection(version.document, spec, "store");
    // An older document may no longer fit the spec; its successor is being built.
    if (!compiled.ok) return [];
    const isReady = version === ready;
    const place = placeOf(tenant, record, version);
    return [{ name, place, isReady, projection: compiled.projection }];
  });
}

/** Whether the newest version was built under the current spec. */
export function isRecordSettled(record: ProjectionRecord, spec: CompiledSpec): boolean {
  if (record.isDeleted) return true;
  const { document, basis } = newestVersion(record);
  const compiled = compileProjection(document, spec, "store");
  if (!compiled.ok) return record.broken !== undefined;
  return record.broken === undefined && basis === basisOf(compiled.projection, spec);
}
