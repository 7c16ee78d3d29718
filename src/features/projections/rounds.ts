/**
 * Rounds over the environments that have projections. None holds up the others: work that takes
 * long goes on in the next round, and work that fails waits for longer each time. A single row that
 * takes long goes on beside the rounds (`late_turns.ts`).
 */

import { isOutage } from "../../domain/outage.ts";
import { createRecentTexts } from "../../domain/recent_map.ts";
import type { Host } from "../../host.ts";
import type { Refresh } from "./refresh_rows.ts";

/** How long one environment may refresh rows in one round; the row under way is completed. */
export const ROUND_MS_MAX = 1_000;
/** Refreshes that wait for the next round, each with thousands of keys; others are completed. */
const OPEN_MAX = 256;
/** Failures that are remembered. */
const FAILED_MAX = 10_000;
const PAUSE_MS_MIN = 250;
const PAUSE_MS_MAX = 60_000;

/** `none`: there was nothing to begin. `open`: it goes on in the next round. */
export type RefreshState = "none" | "open" | "done" | "refused";

export interface Rounds {
  /** Returns what `work` does; 0 while it waits after a failure, or if it fails. Logs failures. */
  guard(name: string, work: () => Promise<number>): Promise<number>;
  /** Goes on with the refresh of that name, or else begins one, until `endMs`. */
  refresh(
    name: string,
    endMs: number,
    begin: () => Promise<Refresh | undefined>,
  ): Promise<RefreshState>;
  /** Drops refreshes that are not to go on. */
  dropOthers(isKept: (name: string) => boolean): void;
}

interface Failure {
  readonly pauseMs: number;
  readonly untilMs: number;
}

export function openRounds(host: Host): Rounds {
  const open = new Map<string, Refresh>();
  const failures = createRecentTexts<Failure>(FAILED_MAX);

  async function guard(name: string, work: () => Promise<number>): Promise<number> {
    const before = failures.get(name);
    if (before !== undefined && host.monotonicMs() < before.untilMs) return 0;
    try {
      const done = await work();
      failures.delete(name);
      return done;
    } catch (error) {
      // The store is away, for all environments: the whole worker waits for it.
      if (isOutage(error)) throw error;
      const pauseMs = Math.min(2 * (before?.pauseMs ?? PAUSE_MS_MIN / 2), PAUSE_MS_MAX);
      failures.set(name, { pauseMs, untilMs: host.monotonicMs() + pauseMs });
      const reason = error instanceof Error ? error.message : String(error);
      host.log("error", "Projections could not be kept and are tried again", { name, reason });
      return 0;
    }
  }

  async function refresh(
    name: string,
    endMs: number,
    begin: () => Promise<Refresh | undefined>,
  ): Promise<RefreshState> {
    const begun = open.get(name) ?? await begin();
    open.delete(name);
    if (begun === undefined) return "none";
    const isDone = await begun.goOn(open.size < OPEN_MAX ? endMs : Infinity);
    if (isDone === undefined) open.set(name, begun);
    return isDone === undefined ? "open" : isDone ? "done" : "refused";
  }

  return {
    guard,
    refresh,
    dropOthers(isKept) {
      for (const name of open.keys()) if (!isKept(name)) open.delete(name);
    },
  };
}
