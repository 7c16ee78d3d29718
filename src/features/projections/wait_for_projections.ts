/**
 * Waits until projections show every write that was acknowledged before the request.
 *
 * Callers wait up to 2 s. See docs/reference/projections.md.
 */

import { openTransactionPieces } from "../../domain/fairness/transaction_pieces.ts";
import type { LogPlace } from "../../domain/feed/place.ts";
import type { ReadyProjection } from "../../domain/projection/ready_projection.ts";
import type { Host } from "../../host.ts";
import type { Engine, ReadTransaction } from "../../kv/engine.ts";
import { lastLogPlace } from "../../store/feed/commit_log.ts";
import { firstBehindCursor } from "../../store/feed/log_cursor.ts";
import { openWatchedTypes } from "../../store/reactions/watched_types.ts";
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
  const wanted = names && new Set(names);
  const looks = looksOf(engine);
  let lookMs = LOOK_MS_MIN;

  async function isDone(): Promise<boolean> {
    const sinceMs = host.monotonicMs() - lookMs / SHARED_PART;
    const others = looks.get(tenant);
    // The next look is noted before anything is waited for: those who look at once share it.
    if (tellsOf(others, end, sinceMs) && await others.isLate) return false;
    const look = engine.snapshot(async (tx) => {
      if (await isBehind(tx, tenant, end)) return { isLate: true, isDone: false };
      const pieces = openTransactionPieces(host, tenant);
      const asked = await listReadyProjections(engine, tx, tenant, { names: wanted, pieces });
      return { isLate: false, isDone: !await isRefreshing(tx, asked) };
    });
    if (end !== undefined) {
      const isLate = look.then((seen) => seen.isLate, () => false);
      noteLook(looks, tenant, { end, atMs: host.monotonicMs(), isLate });
    }
    return (await look).isDone;
  }

  for (;;) {
    if (await isDone()) return { commits: 0 };
    const nowMs = host.monotonicMs();
    if (nowMs >= deadlineMs) break;
    lookMs = Math.min(Math.max(LOOK_MS_MIN, (nowMs - startedMs) / 4), LOOK_MS_MAX);
    await new Promise<void>((resolve) => host.startTimer(lookMs, resolve));
  }
  const commits = await engine.snapshot((tx) => countLag(tx, tenant, COUNT_MAX));
  // Rows that are refreshed step by step are behind even if no commit waits.
  return { commits: Math.max(1, commits) };
}

/** A look at whether the projections of an environment lack something of the log up to `end`. */
interface LagLook {
  readonly end: LogPlace;
  readonly atMs: number;
  readonly isLate: Promise<boolean>;
}

/** The last look at each environment, by its number. */
type LagLooks = Map<number, LagLook>;

const LAG_LOOKS_MAX = 1_000;
const looksByEngine = new WeakMap<Engine, LagLooks>();

function looksOf(engine: Engine): LagLooks {
  const known = looksByEngine.get(engine);
  if (known !== undefined) return known;
  const opened: LagLooks = new Map();
  looksByEngine.set(engine, opened);
  return opened;
}

function noteLook(looks: LagLooks, tenant: number, look: LagLook): void {
  if (looks.size >= LAG_LOOKS_MAX) looks.clear();
  looks.set(tenant, look);
}

/** What lacks something up to a place lacks it up to any later place. */
function tellsOf(
  look: LagLook | undefined,
  end: LogPlace | undefined,
  sinceMs: number,
): look is LagLook {
  return look !== undefined && end !== undefined && look.atMs >= sinceMs && look.end <= end;
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
  projections: readonly ReadyProjection[],
): Promise<boolean> {
  // A broken projection is never refreshed.
  const asked = projections.filter(({ broken }) => broken === undefined);
  const found = await Promise.all(asked.map((projection) => hasRefresh(tx, projection)));
  return found.includes(true);
}
