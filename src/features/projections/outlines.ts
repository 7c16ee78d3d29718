/**
 * What this process remembers of environments whose projections it has seen, so that it need not
 * compile them again only to find that nothing is due. An outline is small, and holds for one
 * state of the definitions and one spec.
 */

import { openTransactionPieces } from "../../domain/fairness/transaction_pieces.ts";
import type { Pieces } from "../../domain/fairness/pieces.ts";
import type { ProjectionPlace } from "../../domain/projection/ready_projection.ts";
import { createRecentMap } from "../../domain/recent_map.ts";
import type { Host } from "../../host.ts";
import type { Engine, ReadTransaction } from "../../kv/engine.ts";
import { readProjectionChanges } from "../../store/projections/projections.ts";
import { readCurrentHash, readSpecChanges } from "../../store/specs.ts";
import { isCurrentFold } from "../base/current_spec.ts";
import type { ProjectionSet } from "./projection_sets.ts";

export interface Outline {
  readonly tenant: number;
  /** The aggregate types that any version reads, also one that is no longer kept up to date. */
  readonly types: ReadonlySet<string>;
  /** The versions that are kept up to date. */
  readonly versions: readonly { readonly place: ProjectionPlace; readonly isReady: boolean }[];
}

/** Looks whether anything is due, without the set. `pieces`: the time slices of the look. */
export type Look = (tx: ReadTransaction, outline: Outline, pieces: Pieces) => Promise<boolean>;

export interface Outlines {
  /** The environments in which something is due, and those of which nothing is known. */
  findDue(tenants: readonly number[], look: Look): Promise<number[]>;
  /** Remembers the outline of a set, unless its spec is no longer the current one. */
  note(set: ProjectionSet): Promise<void>;
}

interface KnownOutline extends Outline {
  /** The states of the definitions, and of the spec by its hash. */
  readonly changes: string;
  readonly specHash: string;
  /** A new version of a module changes the spec, but not its hash. */
  readonly hasModules: boolean;
  /** The count of changed specs of all environments when the spec was last found current. */
  specChanges: string;
  readonly bytes: number;
}

/** Approximate memory of all outlines, and of the parts of one. */
const OUTLINES_BYTES_MAX = 16 * 1024 * 1024;
const OUTLINE_BYTES = 1_000;
const VERSION_BYTES = 200;
const TYPE_BYTES = 150;
/** Environments that are looked at in one transaction. */
const TENANTS_AT_A_TIME = 25;

export function openOutlines(engine: Engine, host: Host): Outlines {
  const known = createRecentMap<number, KnownOutline>(
    OUTLINES_BYTES_MAX,
    ({ bytes }) => bytes,
  );

  async function findDue(tenants: readonly number[], look: Look): Promise<number[]> {
    const due: number[] = [];
    for (let at = 0; at < tenants.length; at += TENANTS_AT_A_TIME) {
      const some = tenants.slice(at, at + TENANTS_AT_A_TIME);
      if (some.every((tenant) => !known.has(tenant))) {
        due.push(...some);
        continue;
      }
      const areDue = await engine.snapshot(async (tx) => {
        const pieces = openTransactionPieces(host, "projections");
        const specChanges = await readSpecChanges(tx);
        return await Promise.all(some.map(async (tenant) => {
          const rest = pieces.rest();
          if (rest !== undefined) await rest;
          const outline = known.get(tenant);
          if (outline === undefined) return true;
          return !await isCurrent(tx, outline, specChanges) || await look(tx, outline, pieces);
        }));
      });
      due.push(...some.filter((_, index) => areDue[index]));
    }
    return due;
  }

  async function note(set: ProjectionSet): Promise<void> {
    const { tenant, changes, spec, records, isSettled } = set;
    const isQuiet = records.every(({ removing, isDeleted }) => !isDeleted && removing.length === 0);
    if (!isSettled || records.length === 0 || !isQuiet) return;
    const before = known.get(tenant);
    const hasModules = spec.moduleCalls.length > 0;
    const isSame = before?.changes === changes && before.specHash === spec.hash;
    if (isSame && !hasModules) return;
    await engine.snapshot(async (tx) => {
      // A process that has not heard of a deploy yet has a set under an older spec.
      if (!await isCurrentFold(tx, tenant, spec)) return;
      const specChanges = await readSpecChanges(tx);
      known.set(tenant, {
        ...outlineOf(set),
        changes,
        specHash: spec.hash,
        hasModules,
        specChanges,
      });
    });
  }

  return { findDue, note };
}

function outlineOf(set: ProjectionSet): Outline & { readonly bytes: number } {
  const types = typesOf(set);
  const versions = set.projections.map(({ place, isReady }) => ({ place, isReady }));
  const bytes = OUTLINE_BYTES + VERSION_BYTES * versions.length + TYPE_BYTES * types.size;
  return { tenant: set.tenant, types, versions, bytes };
}

/** The aggregate types that any version reads, also one that is no longer kept up to date. */
export function typesOf(
  { projections, frozen }: Pick<ProjectionSet, "projections" | "frozen">,
): ReadonlySet<string> {
  const types = new Set<string>();
  for (const { projection } of projections) for (const type of projection.types) types.add(type);
  for (const version of frozen) for (const type of version.types) types.add(type);
  return types;
}

/** Whether the definitions and the spec are still those of the outline. */
async function isCurrent(
  tx: ReadTransaction,
  outline: KnownOutline,
  specChanges: string,
): Promise<boolean> {
  const { tenant, changes, specHash, hasModules } = outline;
  if (await readProjectionChanges(tx, tenant) !== changes) return false;
  if (outline.specChanges === specChanges) return true;
  if (hasModules || await readCurrentHash(tx, tenant) !== specHash) return false;
  outline.specChanges = specChanges;
  return true;
}
