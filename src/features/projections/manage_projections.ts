/**
 * Deploys, deletes and lists projections. A new version is built next to the one that is read;
 * deploying the same document again changes nothing. See docs/reference/projections.md.
 */

import { canonicalJson } from "../../domain/canonical_json.ts";
import { openPieces, runInPieces, withOwnLine } from "../../domain/fairness/pieces.ts";
import type { JsonObject } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import { basisSteps } from "../../domain/projection/basis.ts";
import { compileProjection } from "../../domain/projection/compile.ts";
import { accept, ACCEPTED, type Outcome, refuse } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { ReadTransaction, Transaction } from "../../kv/engine.ts";
import { isCurrentFold, type SpecCache } from "../base/current_spec.ts";
import { signalCommits } from "../../store/feed/commit_log.ts";
import { beginLogCursor, countBehindCursor } from "../../store/feed/log_cursor.ts";
import { openWatchedTypes } from "../../store/reactions/watched_types.ts";
import {
  listProjections as listRecords,
  newestVersion,
  nextProjectionNumber,
  projectionPlaceOf,
  type ProjectionRecord,
  setProjection,
} from "../../store/projections/projections.ts";
import type { RowParts } from "./refresh_rows.ts";
import { beginVersion, logTypes } from "./settle_projections.ts";
import type { ProjectionStatus } from "../../domain/projection/status.ts";
import { countRetries, readBuild, readMissed } from "../../store/projections/projection_work.ts";

export interface DeployedProjection {
  readonly name: string;
  /** False if it was already deployed. */
  readonly isNew: boolean;
}

type Parts = Pick<RowParts, "engine" | "host" | "sets"> & { readonly specs: SpecCache };

/** Attempts while the spec keeps changing. */
const TRIES_MAX = 5;

export async function deployProjection(
  parts: Parts,
  tenant: Tenant,
  document: JsonObject,
): Promise<Outcome<DeployedProjection>> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const outcome = await deployOnce(parts, tenant.number, document);
    parts.sets.forget(tenant.number);
    if (outcome !== undefined) return outcome;
  }
  throw new Error("The spec was deployed again and again while a projection was");
}

/** Returns undefined if another spec has become current. */
async function deployOnce(
  { engine, host, specs }: Parts,
  tenant: number,
  document: JsonObject,
): Promise<Outcome<DeployedProjection> | undefined> {
  const spec = await specs.current(tenant);
  const compiled = compileProjection(document, spec);
  if (!compiled.ok) return refuse({ kind: "projection_invalid", violations: compiled.violations });
  const { projection } = compiled;
  const { name } = projection;
  const basis = await runInPieces(basisSteps(projection, spec), host);
  const nowMs = host.nowMs();
  return await engine.transact(async (tx) => {
    if (!await isCurrentFold(tx, tenant, spec)) return undefined;
    const records = await listRecords(tx, tenant, openPieces(withOwnLine(host)));
    const before = records.find((record) => record.name === name);
    if (before !== undefined && isSame(before, document)) return accept({ name, isNew: false });
    const others = records.filter((record) => record.name !== name);
    if (others.filter(({ isDeleted }) => !isDeleted).length >= limits.projectionsMax) {
      const message = `An environment has at most ${limits.projectionsMax} projections`;
      return refuse({ kind: "operator_input_invalid", path: "projection", message });
    }
    const record = before ?? await newRecord(tx, tenant, name);
    await beginLogCursor(tx, tenant);
    const begun = beginVersion(tx, tenant, { before: record, projection, basis, spec, nowMs });
    const deployed_at = new Date(nowMs).toISOString();
    const after = { ...begun, deployed_at, isDeleted: false };
    setProjection(tx, tenant, after);
    await logTypes(tx, tenant, [...others, after]);
    signalCommits(tx);
    return accept({ name, isNew: true });
  });
}

function isSame(record: ProjectionRecord, document: JsonObject): boolean {
  if (record.isDeleted) return false;
  return canonicalJson(newestVersion(record).document) === canonicalJson(document);
}

async function newRecord(
  tx: Transaction,
  tenant: number,
  name: string,
): Promise<ProjectionRecord> {
  const number = await nextProjectionNumber(tx, tenant);
  return { name, number, versions: 0, removing: [], isDeleted: false, deployed_at: "" };
}

/** The projection is unreadable at once; its rows are removed in the background. */
export async function deleteProjection(
  { engine, host, sets }: Parts,
  { number: tenant }: Tenant,
  name: string,
): Promise<Outcome<void>> {
  const isFound = await engine.transact(async (tx) => {
    const records = await listRecords(tx, tenant, openPieces(withOwnLine(host)));
    const record = records.find((each) => each.name === name && !each.isDeleted);
    if (record === undefined) return false;
    const { ready, building, broken: _, ...rest } = record;
    const versions = [ready, building].flatMap((each) => each === undefined ? [] : [each.version]);
    const after = { ...rest, removing: [...rest.removing, ...versions], isDeleted: true };
    setProjection(tx, tenant, after);
    await logTypes(tx, tenant, records.filter((each) => each !== record));
    signalCommits(tx);
    return true;
  });
  sets.forget(tenant);
  if (isFound) return ACCEPTED;
  return refuse({ kind: "not_found", message: "There is no such projection" });
}

/** Larger counts are reported as this number. */
const COUNT_MAX = 1_000;

/** All projections, or the one named `only`, with their status, sorted by name. */
export async function showProjections(
  { engine, host }: Pick<Parts, "engine" | "host">,
  { number: tenant }: Tenant,
  only?: string,
): Promise<ProjectionStatus[]> {
  const { records, lag } = await engine.snapshot(async (tx) => ({
    records: await listRecords(tx, tenant, openPieces(withOwnLine(host))),
    lag: await countLag(tx, tenant, COUNT_MAX),
  }));
  const kept = records.filter(({ name, isDeleted }) => !isDeleted && name === (only ?? name));
  const pieces = openPieces(host);
  const statuses: ProjectionStatus[] = [];
  for (const record of kept) {
    const rest = pieces.rest();
    if (rest !== undefined) await rest;
    statuses.push(await engine.snapshot((tx) => describe(tx, tenant, record, lag)));
  }
  return statuses;
}

/** How many changes of streams the projections of the environment do not show, up to `max`. */
export async function countLag(tx: ReadTransaction, tenant: number, max: number): Promise<number> {
  const { logged } = await openWatchedTypes().read(tx, tenant);
  return logged.size === 0 ? 0 : await countBehindCursor(tx, tenant, logged, max);
}

async function describe(
  tx: ReadTransaction,
  tenant: number,
  record: ProjectionRecord,
  lag: number,
): Promise<ProjectionStatus> {
  const { name, ready, building, broken, deployed_at } = record;
  const newest = newestVersion(record);
  const progress = building && await readBuild(tx, projectionPlaceOf(tenant, record, building));
  const place = projectionPlaceOf(tenant, record, ready ?? newest);
  const failed = await countRetries(tx, place, COUNT_MAX);
  const missed = ready === undefined
    ? 0
    : await readMissed(tx, projectionPlaceOf(tenant, record, ready));
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
