/** Removes what nobody reads any more, in bounded steps: old versions and outdated changes. */

import { limits } from "../../domain/limits.ts";
import type { ViewPlace } from "../../domain/projection/view.ts";
import type { KeyRange, Transaction } from "../../kv/engine.ts";
import { keyAfter, keys } from "../../store/keys.ts";
import { clearLargeValue, isInPieces } from "../../store/large_value.ts";
import {
  clearProjection,
  type ProjectionRecord,
  readProjection,
  setProjection,
} from "../../store/projections/projections.ts";
import {
  changesRange,
  hasChangesBefore,
  trimViewChanges,
} from "../../store/projections/view_changes.ts";
import type { RowParts } from "./refresh_rows.ts";

/** Keys that one step removes, and the bytes of rows it reads to do so. */
const STEP_KEYS = 500;
const STEP_BYTES = 1024 * 1024;
const MS_PER_SECOND = 1000;

/** Does one step of removing old versions. Returns how much was done. */
export async function removeVersions(
  { engine }: RowParts,
  tenant: number,
  { name, number, removing, isDeleted }: ProjectionRecord,
): Promise<number> {
  const version = removing[0];
  if (version === undefined && !isDeleted) return 0;
  return await engine.transact(async (tx) => {
    if (version !== undefined) {
      const removed = await removeSome(tx, { tenant, number, version });
      if (removed > 0) return removed;
    }
    const record = await readProjection(tx, tenant, name);
    if (record === undefined) return 0;
    const left = record.removing.filter((each) => each !== version);
    if (record.isDeleted && left.length === 0) clearProjection(tx, tenant, name);
    else if (left.length < record.removing.length) {
      setProjection(tx, tenant, { ...record, removing: left });
    }
    return 1;
  });
}

/**
 * Nobody writes to a version that is being removed, because every writer checks the
 * definitions.
 */
async function removeSome(tx: Transaction, place: ViewPlace): Promise<number> {
  const { tenant, number, version } = place;
  const ranges: readonly KeyRange[] = [
    keys.viewRows(tenant, number, version),
    keys.viewSources(tenant, number, version),
    changesRange(place),
    keys.viewWorks(tenant, number, version),
  ];
  for (const range of ranges) {
    const options = { limit: STEP_KEYS, bytesMax: STEP_BYTES };
    const pairs = await tx.unguarded.getRange(range, options);
    const last = pairs.at(-1);
    if (last === undefined) continue;
    for (const { key, value } of pairs) {
      if (isInPieces(value)) clearLargeValue(tx, tenant, key);
    }
    tx.clearRange({ begin: range.begin, end: keyAfter(last.key) });
    return pairs.length;
  }
  return 0;
}

/** Removes changes that every node has seen long ago. Returns how many. */
export async function trimChanges({ engine, host }: RowParts, place: ViewPlace): Promise<number> {
  const untilMs = host.nowMs() - limits.viewChangesSeconds * MS_PER_SECOND;
  const isDue = await engine.snapshot((tx) => hasChangesBefore(tx, place, untilMs));
  if (!isDue) return 0;
  return await engine.transact((tx) => trimViewChanges(tx, place, untilMs, STEP_KEYS));
}
