/**
 * Lists the projections of an environment with their status.
 *
 * See docs/reference/projections.md.
 */

import type { ProjectionStatus } from "../../domain/projection/status.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Engine, ReadTransaction } from "../../kv/engine.ts";
import { countCommits } from "../../store/commit_log.ts";
import {
  listProjections as listRecords,
  newestVersion,
  placeOf,
  type ProjectionRecord,
} from "../../store/projections/projections.ts";
import { readViewRow } from "../../store/projections/view_rows.ts";
import { listRetries, readBuild, readMissed } from "../../store/projections/view_work.ts";

/** Larger counts are reported as this number. */
const COUNT_MAX = 1_000;

/** Sorted by name. */
export async function listProjections(
  engine: Engine,
  { number: tenant }: Tenant,
): Promise<ProjectionStatus[]> {
  const { records, lag } = await engine.snapshot(async (tx) => ({
    records: await listRecords(tx, tenant),
    lag: await countCommits(tx, tenant, COUNT_MAX),
  }));
  const kept = records.filter(({ isDeleted }) => !isDeleted);
  const statuses: ProjectionStatus[] = [];
  for (const record of kept) {
    statuses.push(await engine.snapshot((tx) => describe(tx, tenant, record, lag)));
  }
  return statuses;
}

async function describe(
  tx: ReadTransaction,
  tenant: number,
  record: ProjectionRecord,
  lag: number,
): Promise<ProjectionStatus> {
  const { name, ready, building, broken, deployed_at } = record;
  const newest = newestVersion(record);
  const progress = building && await readBuild(tx, placeOf(tenant, record, building));
  const failed = await failedRows(tx, tenant, record);
  const missed = ready === undefined ? 0 : await readMissed(tx, placeOf(tenant, record, ready));
  return {
    name,
    state: broken !== undefined ? "broken" : ready === undefined ? "building" : "ready",
    version: ready?.version ?? null,
    columns: (ready ?? newest).columns,
    building: building && progress && {
      version: building.version,
      rows: progress.rows,
      started_at: new Date(progress.startedMs).toISOString(),
    },
    lag: missed + lag,
    failed_rows: failed.count,
    last_error: broken ?? progress?.error ?? failed.message ?? null,
    deployed_at,
    projection: newest.document,
  };
}

async function failedRows(tx: ReadTransaction, tenant: number, record: ProjectionRecord) {
  const place = placeOf(tenant, record, record.ready ?? newestVersion(record));
  const retries = await listRetries(tx, place, COUNT_MAX);
  const [first] = retries;
  const row = first && await readViewRow(tx, place, first.row);
  return { count: retries.length, message: row?.error?.message };
}
