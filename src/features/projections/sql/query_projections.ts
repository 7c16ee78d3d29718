/**
 * SQL over projections: runs one reading statement on this process's copy of the named
 * projections.
 *
 * See docs/reference/queries.md.
 */

import { count, type Counters } from "../../../domain/measures/counters.ts";
import { limits } from "../../../domain/limits.ts";
import { openTransactionPieces } from "../../../domain/fairness/transaction_pieces.ts";
import { openPlaces, type Places } from "../../../domain/fairness/per_name.ts";
import {
  type BoundArguments,
  checkQuery,
  type QueryRequest,
} from "../../../domain/projection/check_query.ts";
import type { SqlMeasure } from "../../../domain/projection/sql_measure.ts";
import type { ReadyProjection } from "../../../domain/projection/ready_projection.ts";
import { accept, type Outcome, type Refusal, refuse } from "../../../domain/refusal.ts";
import type { Tenant } from "../../../domain/tenant.ts";
import type { Host } from "../../../host.ts";
import type { Engine, ReadTransaction } from "../../../kv/engine.ts";
import { readProjection } from "../../../store/projections/projections.ts";
import { listReadyProjections } from "../../../store/projections/ready_projections.ts";
import { openCopyWriter } from "../../../sql/copy_writer.ts";
import { openQueryPool, type QueryOutcome, type QueryPool } from "../../../sql/query_pool.ts";
import { listStaleness } from "../read_rows.ts";
import { waitForProjections } from "../wait_for_projections.ts";
import {
  type FollowPatience,
  openProjectionCopies,
  type ProjectionCopies,
} from "./projection_copies.ts";
import { nameHint } from "../../../domain/nearest_name.ts";

export interface SqlService {
  /**
   * Runs one statement over projections; waits up to 2 s for them to show everything written
   * before.
   */
  query(tenant: Tenant, request: QueryRequest): Promise<Outcome<QueryReply>>;
  /** For workers: updates this process's copies of projections and removes unused ones. */
  sweepCopies(): Promise<void>;
  measure(): SqlMeasure;
  close(): Promise<void>;
}

const NOTHING: SqlMeasure = { running: 0, waiting: 0, copies: 0, tables: 0, filling: 0 };

/** Without `settings`, this process refuses every query as unavailable. */
export function createSql(
  world: { readonly engine: Engine; readonly host: Host; readonly counters: Counters },
  settings: SqlSettings | undefined,
): SqlService {
  if (settings !== undefined) {
    const { query, sweep, measure, close } = openProjectionQueries(world, settings);
    return { query, sweepCopies: sweep, measure, close };
  }
  const message = "This server does not run SQL queries";
  return {
    query: () => Promise.resolve(refuse({ kind: "sql_unavailable", message, retryAfterMs: 1_000 })),
    sweepCopies: () => Promise.resolve(),
    measure: () => NOTHING,
    close: () => Promise.resolve(),
  };
}

export interface QueryReply {
  /** The fields of the reply as JSON text in UTF-8, without the enclosing braces. */
  readonly fields: Uint8Array<ArrayBuffer>;
  /**
   * The number of commits that the rows may not show yet; 0 if they show everything written
   * before.
   */
  readonly lag: number;
  /** Set if the rows of some tables are no longer brought up to date. */
  readonly stale?: true;
}

export interface SqlSettings {
  /** The most processes that run statements; none is started before there is one to run. */
  readonly runners: number;
  /** The folder of this process's copies. */
  readonly folder: string;
  /** The time limit of a statement; absent: `limits.sqlTimeoutMs`. */
  readonly timeoutMs?: number;
}

export interface ProjectionQueries {
  query(tenant: Tenant, request: QueryRequest): Promise<Outcome<QueryReply>>;
  /** For background work: see `ProjectionCopies.sweep`. */
  sweep(): Promise<void>;
  measure(): SqlMeasure;
  /** Ends the processes; statements that wait or run still get an answer. */
  close(): Promise<void>;
}

interface Parts {
  readonly engine: Engine;
  readonly host: Host;
  readonly counters: Counters;
  readonly copies: ProjectionCopies;
  readonly pool: QueryPool;
  readonly places: Places;
}

/** The copy may take at least this long once the projections have caught up. */
const COPY_MS_MIN = 500;
/** How often a query is tried: one that finds its copy gone or damaged runs again on a new copy. */
const TRIES = 3;
const RETRY_AFTER_MS = 1_000;

export function openProjectionQueries(
  world: { readonly engine: Engine; readonly host: Host; readonly counters: Counters },
  { runners, folder, timeoutMs }: SqlSettings,
): ProjectionQueries {
  const { engine, host, counters } = world;
  const onFault = (error: unknown) =>
    host.log("error", "a process for SQL could not be started", { reason: String(error) });
  const writer = openCopyWriter({ folder, onFault });
  const copies = openProjectionCopies({ engine, host, writer, folder });
  const pool = openQueryPool({ runners, folder, timeoutMs, onFault });
  const places = openPlaces(limits.sqlUnderWayPerInstanceMax);
  const parts = { ...world, copies, pool, places };
  return {
    async query(tenant, request) {
      const outcome = await queryInPlace(parts, tenant, request);
      count(counters.queries, outcome.ok ? "ok" : outcome.refusal.kind);
      return outcome;
    },
    sweep: copies.sweep,
    measure() {
      const { running, waiting } = pool.measure();
      const { files, tables, filling } = copies.measure();
      return { running, waiting, copies: files, tables, filling };
    },
    async close() {
      await Promise.all([pool.close(), copies.close()]);
    },
  };
}

/**
 * Waiting for projections costs reads of the store, so each instance has a bounded number of
 * queries.
 */
async function queryInPlace(
  parts: Parts,
  tenant: Tenant,
  request: QueryRequest,
): Promise<Outcome<QueryReply>> {
  const { places } = parts;
  if (!places.enter(tenant.instanceId)) {
    return unavailable("Too many queries of this instance are waiting");
  }
  try {
    return await queryProjections(parts, tenant, request);
  } finally {
    places.leave(tenant.instanceId);
  }
}

async function queryProjections(
  parts: Parts,
  tenant: Tenant,
  request: QueryRequest,
): Promise<Outcome<QueryReply>> {
  const checked = checkQuery(request);
  if (!checked.ok) return refuse({ kind: "sql_not_allowed", message: checked.reason });
  const { engine, host } = parts;
  const deadlineMs = host.monotonicMs() + limits.projectionWaitMsMax;
  const { names } = checked;
  const projections = await engine.snapshot((tx) =>
    listReadyProjections(engine, tx, tenant.number, {
      names,
      pieces: openTransactionPieces(host, tenant.number),
    })
  );
  const asked = projections.map(({ name }) => name);
  const early = request.stale ? undefined : findBroken(projections);
  if (early !== undefined) return refuse(early);
  const { commits } = asked.length === 0 ? { commits: 0 } : await waitForProjections(engine, host, {
    tenant: tenant.number,
    waitMs: limits.projectionWaitMsMax,
    names: asked,
  });
  const after = await engine.snapshot((tx) =>
    readFreshness(parts, tx, tenant.number, new Set(asked))
  );
  if (after.broken !== undefined && !request.stale) return refuse(after.broken);
  const nowMs = host.monotonicMs();
  const patience = {
    currentMs: Math.max(deadlineMs, nowMs + COPY_MS_MIN),
    filledMs: nowMs + limits.sqlFillWaitMsMax,
  };
  const query = { ...request, ...checked, tenant, asked, commits, patience };
  const { staleness } = after;
  const outcome = await queryCopy(parts, query);
  if (!outcome.ok) return await adviseOnTable(parts, tenant, outcome.refusal);
  if (staleness === undefined) return outcome;
  return accept({ ...outcome.value, ...staleness });
}

/** The refusal if one of the requested projections is broken. */
function findBroken(asked: readonly ReadyProjection[]): Refusal | undefined {
  for (const { name, broken } of asked) {
    if (broken !== undefined) return { kind: "projection_broken", name, reason: broken };
  }
  return undefined;
}

/** The state of the tables after the wait: a deploy may have broken one meanwhile. */
async function readFreshness(
  parts: Parts,
  tx: ReadTransaction,
  tenant: number,
  names: ReadonlySet<string>,
) {
  if (names.size === 0) return {};
  const { engine, host } = parts;
  const pieces = openTransactionPieces(host, tenant);
  const projections = await listReadyProjections(engine, tx, tenant, { names, pieces });
  const found = await listStaleness(tx, projections, parts);
  const lag = Math.max(-1, ...found.map((staleness) => staleness?.lag ?? -1));
  const staleness = lag < 0 ? undefined : { stale: true as const, lag };
  return { broken: findBroken(projections), staleness };
}

/** Adds a hint about the existing tables if the statement names one that does not exist. */
async function adviseOnTable(
  parts: Parts,
  { number }: Tenant,
  refusal: Refusal,
): Promise<Outcome<never>> {
  if (refusal.kind !== "sql_not_allowed") return refuse(refusal);
  const hint = await parts.engine.snapshot((tx) =>
    hintForTable(parts, tx, number, refusal.message)
  );
  return refuse(hint === undefined ? refusal : { ...refusal, hint });
}

interface CopyQuery {
  readonly tenant: Tenant;
  readonly sql: string;
  readonly bound: BoundArguments;
  readonly asked: readonly string[];
  /** The number of commits that the projections lack. */
  readonly commits: number;
  readonly patience: FollowPatience;
}

async function queryCopy(
  { copies, pool, host }: Parts,
  query: CopyQuery,
): Promise<Outcome<QueryReply>> {
  const { tenant, sql, bound, asked, commits, patience } = query;
  for (let tries = 0; tries < TRIES; tries++) {
    const followed = await copies.follow(tenant, new Set(asked), patience);
    if (followed.kind === "failed") {
      // The reason names files, which must not be shown to clients.
      host.log("error", "There is no copy of the views for SQL", { reason: followed.reason });
      return unavailable("This server cannot keep the copy of the views that SQL needs");
    }
    if (followed.kind === "filling") {
      const { rows } = followed;
      return unavailable(`The copy of the views for SQL is being filled: ${rows} rows so far`);
    }
    const { path, tables, isCurrent } = followed;
    const outcome = await pool.run(tenant.instanceId, { path, tables, sql, bound });
    if (outcome.kind !== "copy_unfit") {
      return replyTo(outcome, isCurrent ? commits : Math.max(1, commits));
    }
    host.log("warn", "A copy of views for SQL was not as it must be", { reason: outcome.reason });
    await copies.doubt(tenant, outcome.isDamaged);
  }
  return unavailable("The copy of the views for SQL could not be read");
}

function replyTo(
  outcome: Exclude<QueryOutcome, { kind: "copy_unfit" }>,
  lag: number,
): Outcome<QueryReply> {
  switch (outcome.kind) {
    case "rows":
      return accept({ fields: outcome.fields, lag });
    case "refused":
      return refuse({ kind: "sql_not_allowed", message: outcome.reason });
    case "timeout":
      return refuse({ kind: "sql_timeout", message: outcome.reason });
    case "unavailable":
      return unavailable(outcome.reason);
  }
}

function unavailable(message: string): Outcome<never> {
  return refuse({ kind: "sql_unavailable", message, retryAfterMs: RETRY_AFTER_MS });
}

const MISSING = /^no such table: (.*)$/;
/** The most table names in a hint. */
const NAMES_MAX = 20;

/**
 * A hint for a statement that names a table that does not exist. `reason`: why the statement was
 * refused. Undefined if it was for another reason.
 */
async function hintForTable(
  { engine, host }: Parts,
  tx: ReadTransaction,
  tenant: number,
  reason: string,
): Promise<string | undefined> {
  const [, table] = MISSING.exec(reason) ?? [];
  if (table === undefined) return undefined;
  const pieces = openTransactionPieces(host, tenant);
  const names = (await listReadyProjections(engine, tx, tenant, { pieces }))
    .map(({ name }) => name);
  // Statements name tables in any case, and names of projections are in small letters.
  const named = await readProjection(tx, tenant, table.toLowerCase());
  if (named !== undefined && !named.isDeleted && named.ready === undefined) {
    return `The projection ${named.name} is being built: ask again when it is ready, which ` +
      "GET /api/instances/{id}/projections tells";
  }
  if (names.length === 0) return "There are no tables: each projection that is ready is one";
  const near = nameHint(table, names);
  if (near !== undefined) return near;
  const more = names.length > NAMES_MAX ? ` and ${names.length - NAMES_MAX} more` : "";
  return `Each projection that is ready is a table: ${names.slice(0, NAMES_MAX).join(", ")}${more}`;
}
