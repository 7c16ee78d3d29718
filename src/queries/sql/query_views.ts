/**
 * SQL over views: one statement that reads, on this process's copy of the views that it names.
 * Decisions, section 15.
 */

import { count, type Counters } from "../../domain/counters.ts";
import { limits } from "../../domain/limits.ts";
import { openPlaces, type Places } from "../../domain/places.ts";
import { checkQuery, type QueryRequest } from "../../domain/projection/check_query.ts";
import type { SqlMeasure } from "../../domain/projection/sql_measure.ts";
import type { BoundArguments } from "../../domain/projection/sql_parameters.ts";
import type { View } from "../../domain/projection/view.ts";
import { accept, type Outcome, type Refusal, refuse } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine, ReadTransaction } from "../../kv/engine.ts";
import { listViews } from "../../store/projections.ts";
import { openCopyWriter } from "../../sql/copy_writer.ts";
import { openQueryPool, type QueryOutcome, type QueryPool } from "../../sql/query_pool.ts";
import { readStaleness } from "../read_view.ts";
import { waitForViews } from "../views_caught_up.ts";
import { hintForTable } from "./table_hint.ts";
import { type FollowPatience, openViewCopies, type ViewCopies } from "./view_copies.ts";

export interface QueryReply {
  /** The fields of the reply as JSON text in UTF-8, without its braces. */
  readonly fields: Uint8Array<ArrayBuffer>;
  /** Commits that the rows may not show yet; 0: they show all that was written before. */
  readonly lag: number;
  /** Nobody brings the rows of some of the tables up to date. */
  readonly stale?: true;
}

export interface SqlSettings {
  /** Processes at most that run statements; none is started before there is one to run. */
  readonly runners: number;
  /** Where this process keeps its copies. */
  readonly folder: string;
  /** A statement's time; `limits.sqlTimeoutMs` without it. */
  readonly timeoutMs?: number;
}

export interface ViewQueries {
  query(tenant: Tenant, request: QueryRequest): Promise<Outcome<QueryReply>>;
  /** For the background: see `ViewCopies.sweep`. */
  sweep(): Promise<void>;
  measure(): SqlMeasure;
  /** Ends the processes; what still waits or runs is answered. */
  close(): Promise<void>;
}

interface Parts {
  readonly engine: Engine;
  readonly host: Host;
  readonly counters: Counters;
  readonly copies: ViewCopies;
  readonly pool: QueryPool;
  readonly places: Places;
}

/** Once the views are caught up, the copy may take so long in any case. */
const COPY_MS_MIN = 500;
/** A query that finds its copy gone or damaged is run again on the next one. */
const TRIES = 3;
const RETRY_AFTER_MS = 1_000;

export function openViewQueries(
  world: { readonly engine: Engine; readonly host: Host; readonly counters: Counters },
  { runners, folder, timeoutMs }: SqlSettings,
): ViewQueries {
  const { engine, host, counters } = world;
  const onFault = (error: unknown) =>
    host.log("error", "a process for SQL could not be started", { reason: String(error) });
  const writer = openCopyWriter({ folder, onFault });
  const copies = openViewCopies({ engine, host, writer, folder });
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

/** Waiting for views costs reads of the store, so an instance has a bounded number of queries. */
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
    return await queryViews(parts, tenant, request);
  } finally {
    places.leave(tenant.instanceId);
  }
}

async function queryViews(
  parts: Parts,
  tenant: Tenant,
  request: QueryRequest,
): Promise<Outcome<QueryReply>> {
  const checked = checkQuery(request);
  if (!checked.ok) return refuse({ kind: "sql_not_allowed", message: checked.reason });
  const { engine, host } = parts;
  const deadlineMs = host.monotonicMs() + limits.viewWaitMsMax;
  const views = await engine.snapshot((tx) => listViews(tx, tenant.number));
  const asked = views.map(({ name }) => name).filter((name) => checked.names.has(name));
  const early = request.stale ? undefined : findBroken(views, asked);
  if (early !== undefined) return refuse(early);
  const { commits } = asked.length === 0
    ? { commits: 0 }
    : await waitForViews(engine, host, tenant.number, limits.viewWaitMsMax, asked);
  const after = await engine.snapshot((tx) => readFreshness(tx, tenant.number, asked));
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

/** Why one of the tables is not read. */
function findBroken(views: readonly View[], asked: readonly string[]): Refusal | undefined {
  for (const { name, broken } of views) {
    if (broken !== undefined && asked.includes(name)) {
      return { kind: "projection_broken", name, reason: broken };
    }
  }
  return undefined;
}

/** How the tables are when the wait is over: a deploy may have broken one meanwhile. */
async function readFreshness(tx: ReadTransaction, tenant: number, asked: readonly string[]) {
  if (asked.length === 0) return {};
  const views = (await listViews(tx, tenant)).filter(({ name }) => asked.includes(name));
  const found = await Promise.all(views.map((view) => readStaleness(tx, view)));
  const lag = Math.max(-1, ...found.map((staleness) => staleness?.lag ?? -1));
  const staleness = lag < 0 ? undefined : { stale: true as const, lag };
  return { broken: findBroken(views, asked), staleness };
}

/** Says of a table that is not there which ones are. */
async function adviseOnTable(
  { engine }: Parts,
  { number }: Tenant,
  refusal: Refusal,
): Promise<Outcome<never>> {
  if (refusal.kind !== "sql_not_allowed") return refuse(refusal);
  const hint = await engine.snapshot((tx) => hintForTable(tx, number, refusal.message));
  return refuse(hint === undefined ? refusal : { ...refusal, hint });
}

interface CopyQuery {
  readonly tenant: Tenant;
  readonly sql: string;
  readonly bound: BoundArguments;
  readonly asked: readonly string[];
  /** That the views lack. */
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
      // The reason names files, which are nobody's business outside.
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
