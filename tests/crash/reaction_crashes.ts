/**
 * The crash driver with implications, scheduled events and sagas in flight. Each reaction to an
 * event must be there once, however often the server dies in between. The kills must also have
 * hit pending work.
 */

import { type CrashOptions, type CrashReport, runCrashes } from "./crash_driver.ts";
import { reactionChecks } from "./reaction_checks.ts";
import { type Reacting, reactionClients } from "./reaction_clients.ts";
import { createRandom } from "./random.ts";
import { createReactionJournal, possibleEffects } from "./reaction_journal.ts";
import { judgeEffects } from "./reaction_model.ts";
import { REACTION_SPEC } from "./reaction_spec.ts";
import { openStoreWindow, type Pending } from "./store_window.ts";

export interface ReactionCrashOptions
  extends Pick<CrashOptions, "seed" | "rounds" | "connections" | "env" | "log"> {
  /** Set if the server's store is a cluster. */
  readonly clusterFile?: string;
}

export interface ReactionReport extends CrashReport {
  /**
   * How many client events have reactions and are stored; below, what the service wrote itself.
   */
  readonly triggers: number;
  readonly effects: number;
  readonly scheduled: number;
  readonly sagas: number;
  /** How many kills hit each kind of pending work, and how much there was in all of them. */
  readonly met: Readonly<Record<keyof Pending, { readonly kills: number; readonly total: number }>>;
}

/** Without leases a restarted server continues at once; outbox entries wait one second. */
const SQLITE_PACE = { share: 0.35, msMin: 100, msMax: 1_500, drainMsMax: 30_000 };
/**
 * A dead process's shards are free only after 17 s: a life that sees this is long, so few are.
 */
const CLUSTER_PACE = { share: 0.15, msMin: 14_000, msMax: 19_000, drainMsMax: 60_000 };
/** The share of kills that are followed by a while without a server, and its length. */
const DOWN_SHARE = 0.4;
const DOWN_MS_MAX = 1_500;
const MUST_MEET = ["outbox", "due", "schedules", "sagas"] as const;

export async function runReactionCrashes(options: ReactionCrashOptions): Promise<ReactionReport> {
  const { seed, rounds, connections, env, log, clusterFile } = options;
  const { drainMsMax, ...recovery } = clusterFile === undefined ? SQLITE_PACE : CLUSTER_PACE;
  const reactions = createReactionJournal();
  const state: Reacting = { reactions, payable: [], askable: [] };
  const checks = reactionChecks(reactions, drainMsMax);
  const window = openStoreWindow(clusterFile);
  const random = createRandom(seed).fork(-1);
  const seen: Pending[] = [];
  try {
    const report = await runCrashes({
      seed,
      rounds,
      connections,
      env,
      log,
      recovery,
      spec: REACTION_SPEC,
      clients: reactionClients(state),
      judgeUnsent: judgeEffects(reactions, Date.now),
      hasProven: () => notMet(summarize(seen)).length === 0,
      checks: checks.standard,
      beforeStop: checks.drained,
      finalChecks: checks.final,
      async whileDown(dataDir, how) {
        if (how === "stopped") {
          return (await window.leftOver(dataDir)).map((left) =>
            `all was done, but there are ${left}`
          );
        }
        // Meanwhile timers become due and nobody fires them.
        if (random.chance(DOWN_SHARE)) await pause(random.below(DOWN_MS_MAX));
        const pending = await window.pending(dataDir);
        seen.push(pending);
        log?.(`  pending: ${JSON.stringify(pending)}`);
        return pending.parked === 0 ? [] : [`${pending.parked} parked`];
      },
    });
    const met = summarize(seen);
    const missed = notMet(met)
      .map((kind) => `no kill met pending ${kind}: the run proves too little`);
    const faults = [...report.faults, ...missed];
    return { ...report, ...countReactions(state), met, faults };
  } finally {
    await window.close();
  }
}

export function describeReactions(report: ReactionReport): string {
  const { kills, seconds, triggers, effects, scheduled, sagas, met } = report;
  const pending = MUST_MEET.map((kind) => `${met[kind].total} ${kind} at ${met[kind].kills} kills`);
  return `${kills} kills in ${seconds.toFixed(0)} s: ${triggers} triggers, ${effects} events of ` +
    `the service (${scheduled} scheduled), ${sagas} sagas; pending: ${pending.join(", ")}`;
}

function summarize(seen: readonly Pending[]): ReactionReport["met"] {
  const kinds = ["outbox", "timers", "due", "schedules", "sagas", "parked"] as const;
  const of = (kind: keyof Pending) => ({
    kills: seen.filter((pending) => pending[kind] > 0).length,
    total: seen.reduce((sum, pending) => sum + pending[kind], 0),
  });
  return Object.fromEntries(kinds.map((kind) => [kind, of(kind)])) as ReactionReport["met"];
}

function notMet(met: ReactionReport["met"]): readonly (keyof Pending)[] {
  return MUST_MEET.filter((kind) => met[kind].kills === 0);
}

function countReactions({ reactions: { triggers } }: Reacting) {
  const landed = triggers.filter(({ operation }) => operation.outcome === "acknowledged");
  const found = landed.flatMap(possibleEffects).filter(({ found }) => found !== undefined);
  return {
    triggers: landed.length,
    effects: found.length,
    scheduled: found.filter(({ author }) => author === "scheduler").length,
    sagas: landed.filter(({ job }) => job !== undefined).length,
  };
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
