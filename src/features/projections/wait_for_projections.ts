/**
 * Waits until projections show every write that was acknowledged before the request.
 *
 * Callers wait up to 2 s. See docs/reference/projections.md.
 */

import type { LogPlace } from "../../domain/feed/place.ts";
import type { Host } from "../../host.ts";
import type { Engine, ReadTransaction } from "../../kv/engine.ts";
import { lastLogPlace } from "../../store/feed/commit_log.ts";
import { firstBehindCursor } from "../../store/feed/log_cursor.ts";
import { openWatchedTypes } from "../../store/reactions/watched_types.ts";
import { countLag } from "./manage_projections.ts";
import { listReadyProjections } from "../../store/projections/projections.ts";
import { hasRefresh } from "../../store/projections/projection_work.ts";

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
/** A longer lag is reported as this number. */
const COUNT_MAX = 1_000;

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
  const end = await engine.snapshot((tx) => readLogEnd(tx, tenant));
  const startedMs = host.monotonicMs();
  const deadlineMs = startedMs + waitMs;
  for (;;) {
    const isDone = await engine.snapshot(async (tx) =>
      !await isBehind(tx, tenant, end) && !await isRefreshing(tx, tenant, names)
    );
    if (isDone) return { commits: 0 };
    const nowMs = host.monotonicMs();
    if (nowMs >= deadlineMs) break;
    const lookMs = Math.min(Math.max(LOOK_MS_MIN, (nowMs - startedMs) / 4), LOOK_MS_MAX);
    await new Promise<void>((resolve) => host.startTimer(lookMs, resolve));
  }
  const commits = await engine.snapshot((tx) => countLag(tx, tenant, COUNT_MAX));
  // Rows that are refreshed step by step are behind even if no commit waits.
  return { commits: Math.max(1, commits) };
}

/** The newest place in the log; undefined if the projections show everything there. */
export async function readLogEnd(
  tx: ReadTransaction,
  tenant: number,
): Promise<LogPlace | undefined> {
  const end = await lastLogPlace(tx, tenant);
  return end !== undefined && await isBehind(tx, tenant, end) ? end : undefined;
}

/** Whether the projections lack something of the log up to `end`. */
export async function isBehind(
  tx: ReadTransaction,
  tenant: number,
  end: LogPlace | undefined,
): Promise<boolean> {
  if (end === undefined) return false;
  const { logged } = await openWatchedTypes().read(tx, tenant);
  return await firstBehindCursor(tx, tenant, logged, end) !== undefined;
}

async function isRefreshing(
  tx: ReadTransaction,
  tenant: number,
  names: readonly string[] | undefined,
): Promise<boolean> {
  const projections = await listReadyProjections(tx, tenant);
  // A broken projection is never refreshed.
  const asked = projections.filter(({ name, broken }) =>
    broken === undefined && (names === undefined || names.includes(name))
  );
  const found = await Promise.all(asked.map((projection) => hasRefresh(tx, projection)));
  return found.includes(true);
}
