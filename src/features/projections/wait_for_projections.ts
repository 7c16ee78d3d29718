/**
 * Waits until projections show every write that was acknowledged before the request.
 *
 * Callers wait up to 2 s. See docs/reference/projections.md.
 */

import type { Pieces } from "../../domain/fairness/pieces.ts";
import { openTransactionPieces } from "../../domain/fairness/transaction_pieces.ts";
import type { LogPlace } from "../../domain/feed/place.ts";
import type { ReadyProjection } from "../../domain/projection/ready_projection.ts";
import type { Host } from "../../host.ts";
import type { Engine, ReadTransaction } from "../../kv/engine.ts";
import { logLooksOf, type LogView, tellsBehind } from "../base/log_looks.ts";
import { countLag } from "./manage_projections.ts";
import { hasRefresh } from "../../store/projections/projection_work.ts";
import { listReadyProjections } from "../../store/projections/ready_projections.ts";

export interface ProjectionLag {
  /** Changes of streams that the projections do not show yet; 0: everything is shown. */
  readonly commits: number;
}

/**
 * The interval between two checks. Upkeep itself takes a few milliseconds. The interval grows
 * to a quarter of the time already waited, so that many waiting requests do not keep the store
 * busy.
 */
const LOOK_MS_MIN = 5;
const LOOK_MS_MAX = 100;
/** Whoever looks again within this part of its interval goes by what another has seen. */
const SHARED_PART = 4;

export interface ProjectionsWait {
  readonly tenant: number;
  readonly waitMs: number;
  readonly names?: readonly string[];
}

/**
 * Resolves when the upkeep has processed everything logged before the call, or after `waitMs`
 * with the remaining lag. `names`: the projections that matter; absent: all.
 */
export async function waitForProjections(
  engine: Engine,
  host: Host,
  { tenant, waitMs, names }: ProjectionsWait,
): Promise<ProjectionLag> {
  const looks = logLooksOf(engine);
  const begun = await looks.look(tenant, host);
  const { types } = begun;
  const until = placeToReach(begun);
  const startedMs = host.monotonicMs();
  const deadlineMs = startedMs + waitMs;
  const wanted = names && new Set(names);
  let lookMs = LOOK_MS_MIN;

  async function isDone(): Promise<boolean> {
    const sinceMs = host.monotonicMs() - lookMs / SHARED_PART;
    const question = { until, types, sinceMs, turns: host };
    if (await looks.isBehind(tenant, question) !== false) return false;
    // Read after that look: the transaction that shows a change also notes its other rows.
    return await engine.snapshot(async (tx) => {
      const pieces = openTransactionPieces(host, tenant);
      const asked = await listReadyProjections(engine, tx, tenant, { names: wanted, pieces });
      return !await isRefreshing(tx, asked, pieces);
    });
  }

  for (;;) {
    if (await isDone()) return { commits: 0 };
    const nowMs = host.monotonicMs();
    if (nowMs >= deadlineMs) break;
    lookMs = Math.min(Math.max(LOOK_MS_MIN, (nowMs - startedMs) / 4), LOOK_MS_MAX);
    await new Promise<void>((resolve) => host.startTimer(lookMs, resolve));
  }
  const commits = await engine.snapshot((tx) => countLag({ engine, host }, tx, tenant));
  // Rows that are refreshed step by step are behind even if no commit waits.
  return { commits: Math.max(1, commits) };
}

/** The newest place in the log; undefined if the projections show everything there. */
export function placeToReach(view: LogView): LogPlace | undefined {
  return tellsBehind(view, view.end) === false ? undefined : view.end;
}

async function isRefreshing(
  tx: ReadTransaction,
  projections: readonly ReadyProjection[],
  pieces: Pieces,
): Promise<boolean> {
  // A broken projection is never refreshed.
  const asked = projections.filter(({ broken }) => broken === undefined);
  const found = await Promise.all(asked.map(async (projection) => {
    const rest = pieces.rest();
    if (rest !== undefined) await rest;
    return await hasRefresh(tx, projection);
  }));
  return found.includes(true);
}
