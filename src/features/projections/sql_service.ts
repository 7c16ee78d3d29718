/** SQL over projections, bound to one engine and one host. */

import type { Counters } from "../../domain/measures/counters.ts";
import type { QueryRequest } from "../../domain/projection/check_query.ts";
import type { SqlMeasure } from "../../domain/projection/sql_measure.ts";
import { type Outcome, refuse } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { openViewQueries, type QueryReply, type SqlSettings } from "./sql/query_views.ts";

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
    const { query, sweep, measure, close } = openViewQueries(world, settings);
    return { query, sweepCopies: sweep, measure, close };
  }
  const message = "This server answers no SQL";
  return {
    query: () => Promise.resolve(refuse({ kind: "sql_unavailable", message, retryAfterMs: 1_000 })),
    sweepCopies: () => Promise.resolve(),
    measure: () => NOTHING,
    close: () => Promise.resolve(),
  };
}
