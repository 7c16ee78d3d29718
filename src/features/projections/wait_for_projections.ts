/**
 * Waits until projections show every write that was acknowledged before the request.
 *
 * Callers wait up to 2 s. See docs/reference/projections.md.
 */

import { COMMIT_LOG_SHARDS } from "../../domain/fairness/work_share.ts";
import type { Host } from "../../host.ts";
import type { Bytes, Engine, ReadTransaction } from "../../kv/engine.ts";
import {
  countCommits,
  hasCommits,
  hasCommitsUntil,
  lastCommitPosition,
} from "../../store/commit_log.ts";
import { listReadyProjections } from "../../store/projections/projections.ts";
import { hasRefresh } from "../../store/projections/projection_work.ts";

export interface ProjectionLag {
  /** Commits that the environment's projections do not show yet; 0: everything is shown. */
  readonly commits: number;
}

/** The position of the newest commit in the log, by shard; empty shards have no entry. */
export type LogEnds = ReadonlyMap<number, Bytes>;

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
  const ends = await engine.snapshot((tx) => readLogEnds(tx, tenant));
  const startedMs = host.monotonicMs();
  const deadlineMs = startedMs + waitMs;
  for (;;) {
    const isDone = await engine.snapshot(async (tx) =>
      !await isBehind(tx, tenant, ends) && !await isRefreshing(tx, tenant, names)
    );
    if (isDone) return { commits: 0 };
    const nowMs = host.monotonicMs();
    if (nowMs >= deadlineMs) break;
    const lookMs = Math.min(Math.max(LOOK_MS_MIN, (nowMs - startedMs) / 4), LOOK_MS_MAX);
    await new Promise<void>((resolve) => host.startTimer(lookMs, resolve));
  }
  const commits = await engine.snapshot((tx) => countCommits(tx, tenant, COUNT_MAX));
  // Rows that are refreshed step by step are behind even if no commit waits.
  return { commits: Math.max(1, commits) };
}

/**
 * The ends of the log now, by shard. Finished commits are removed, so an empty log means no
 * wait.
 */
export async function readLogEnds(
  tx: ReadTransaction,
  tenant: number,
): Promise<LogEnds> {
  const ends = new Map<number, Bytes>();
  if (!await hasCommits(tx, tenant)) return ends;
  const shards = Array.from({ length: COMMIT_LOG_SHARDS }, (_, shard) => shard);
  const positions = await Promise.all(
    shards.map((shard) => lastCommitPosition(tx, tenant, shard)),
  );
  for (const [shard, position] of positions.entries()) {
    if (position !== undefined) ends.set(shard, position);
  }
  return ends;
}

/** Whether commits are left that were in the log at that time. */
export async function isBehind(
  tx: ReadTransaction,
  tenant: number,
  ends: LogEnds,
): Promise<boolean> {
  for (const [shard, end] of ends) {
    if (await hasCommitsUntil(tx, tenant, shard, end)) return true;
  }
  return false;
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
