/**
 * Deploys, deletes and lists projections. A new version is built next to the one that is read;
 * deploying the same document again changes nothing. See docs/reference/projections.md.
 */

import { canonicalJson } from "../../domain/canonical_json.ts";
import {
  openPieces,
  type Pieces,
  runInPieces,
  type Turns,
  waitForTurn,
} from "../../domain/fairness/pieces.ts";
import { openTransactionPieces } from "../../domain/fairness/transaction_pieces.ts";
import type { JsonObject } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import { checkStart, cutPage, type ListPage, pageLimit } from "../../domain/list_page.ts";
import { basisSteps } from "../../domain/projection/basis.ts";
import { compileProjection } from "../../domain/projection/compile.ts";
import type { PageRequest } from "../../domain/reading.ts";
import { accept, ACCEPTED, type Outcome, refuse } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Engine, ReadTransaction, Transaction } from "../../kv/engine.ts";
import { logLooksOf } from "../base/log_looks.ts";
import { isCurrentFold, type SpecCache } from "../base/current_spec.ts";
import { signalCommits } from "../../store/feed/commit_log.ts";
import { beginLogCursor } from "../../store/feed/log_cursor.ts";
import {
  decodeProjection,
  listProjections as listRecords,
  listProjectionValues,
  newestVersion,
  nextProjectionNumber,
  projectionPlaceOf,
  type ProjectionRecord,
  readProjection,
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
    const before = await readProjection(tx, tenant, name);
    if (before !== undefined && isSame(before, document)) return accept({ name, isNew: false });
    const others = await listOthers(tx, tenant, name, host);
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

/** All but the one with that name. What is changed depends on them, so they are guarded. */
async function listOthers(
  tx: Transaction,
  tenant: number,
  name: string,
  host: Turns,
): Promise<ProjectionRecord[]> {
  const records = await listRecords(tx, tenant, openTransactionPieces(host, tenant));
  return records.filter((record) => record.name !== name);
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
    const record = await readProjection(tx, tenant, name);
    if (record === undefined || record.isDeleted) return false;
    const { ready, building, broken: _, ...rest } = record;
    const versions = [ready, building].flatMap((each) => each === undefined ? [] : [each.version]);
    const after = { ...rest, removing: [...rest.removing, ...versions], isDeleted: true };
    setProjection(tx, tenant, after);
    await logTypes(tx, tenant, await listOthers(tx, tenant, name, host));
    signalCommits(tx);
    return true;
  });
  sets.forget(tenant);
  if (isFound) return ACCEPTED;
  return refuse({ kind: "not_found", message: "There is no such projection" });
}

/** Larger counts are reported as this number. */
const COUNT_MAX = 1_000;
/** The longest name of a projection. */
const NAME_CHARACTERS_MAX = 64;
/** Definitions that are read at a time and not decoded yet. */
const READ_BYTES = 256 * 1024;

/** One projection with its status; undefined if there is none. */
export async function showProjection(
  parts: Pick<Parts, "engine" | "host">,
  { number: tenant }: Tenant,
  name: string,
): Promise<ProjectionStatus | undefined> {
  return await parts.engine.snapshot(async (tx) => {
    const record = await readProjection(tx, tenant, name);
    if (record === undefined || record.isDeleted) return undefined;
    return await describe(tx, tenant, record, await countLag(parts, tx, tenant));
  });
}

/** Projections with their status, by name. */
export async function listStatuses(
  { engine, host }: Pick<Parts, "engine" | "host">,
  { number: tenant }: Tenant,
  { start, limit }: PageRequest,
): Promise<Outcome<ListPage<ProjectionStatus>>> {
  const checked = checkStart(start, NAME_CHARACTERS_MAX);
  if (!checked.ok) return checked;
  // Many that ask for short pages at once would all be served in one turn of the event loop.
  await waitForTurn(host, true);
  const pieces = openPieces(host);
  const wanted = { start, count: pageLimit(limit) + 1 };
  const page = cutPage(await readDeployed(engine, tenant, wanted, pieces), limit, nameOf);
  const lag = await engine.snapshot((tx) => countLag({ engine, host }, tx, tenant));
  const data: ProjectionStatus[] = [];
  for (const record of page.data) {
    const rest = pieces.rest();
    if (rest !== undefined) await rest;
    data.push(await engine.snapshot((tx) => describe(tx, tenant, record, lag)));
  }
  return accept({ ...page, data });
}

function nameOf({ name }: ProjectionRecord): string {
  return name;
}

/** At most `count` of those that are not deleted, behind the name `start`. */
async function readDeployed(
  engine: Engine,
  tenant: number,
  { start, count }: { readonly start: string | undefined; readonly count: number },
  pieces: Pieces,
): Promise<ProjectionRecord[]> {
  const found: ProjectionRecord[] = [];
  let after = start;
  while (found.length < count) {
    const options = { limit: count - found.length, bytesMax: READ_BYTES };
    // Decoded outside: a transaction has five seconds, and pauses may be long.
    const values = await engine.snapshot((tx) => listProjectionValues(tx, tenant, after, options));
    if (values.length === 0) break;
    for (const value of values) {
      const rest = pieces.rest();
      if (rest !== undefined) await rest;
      const record = decodeProjection(value);
      after = record.name;
      if (!record.isDeleted) found.push(record);
    }
  }
  return found;
}

/** How many changes of streams the projections of the environment do not show, up to 1,000. */
export async function countLag(
  { engine, host }: { readonly engine: Engine; readonly host: Turns },
  tx: ReadTransaction,
  tenant: number,
): Promise<number> {
  const request = { max: COUNT_MAX, turns: host };
  return (await logLooksOf(engine).count(tx, tenant, request)).count;
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
