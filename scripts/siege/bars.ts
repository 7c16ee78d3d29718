/**
 * The bars: how much an attack may affect a neighbour and the server. Compares outcomes with
 * them.
 */

import { type Observation, ORDINARY_PROBES, PROBE_PACES, type ProbeName } from "./probes.ts";
import type { Outcome } from "./outcome.ts";

export interface Bars {
  readonly p99Ms: number;
  readonly worstMs: number;
  /** Longest delay of the event loop. */
  readonly loopDelayMs: number;
  readonly serverMiB: number;
  readonly childMiB: number;
  readonly readyMs: number;
  readonly stopMs: number;
}

/** For a machine that does nothing else. */
export const QUIET_BARS: Bars = {
  p99Ms: 100,
  worstMs: 250,
  loopDelayMs: 250,
  serverMiB: 512,
  childMiB: 300,
  readyMs: 10_000,
  stopMs: 10_000,
};

/** For a machine on which others work: an attack that fails these bars fails anywhere. */
export const NOISY_BARS: Bars = { ...QUIET_BARS, p99Ms: 400, worstMs: 500, loopDelayMs: 500 };

/** Each fault in a few words; without faults, the server has held. */
export function blame(outcome: Omit<Outcome, "faults">, bars: Bars): string[] {
  if (outcome.failure !== undefined) return [outcome.failure.split("\n")[0]!];
  const faults = [
    ...neighbourFaults("", outcome.beside, bars),
    ...neighbourFaults("restart: ", outcome.afterRestart, bars),
    ...beyond("loop", outcome.loopDelayMs, bars.loopDelayMs, "ms"),
    ...beyond("memory", outcome.serverMiB, bars.serverMiB, "MiB"),
    ...beyond("memory after restart", outcome.serverAgainMiB, bars.serverMiB, "MiB"),
    ...beyond("runner", outcome.childMiB, bars.childMiB, "MiB"),
    ...beyond("ready", outcome.readyMs, bars.readyMs, "ms"),
    ...beyond("stop", outcome.stopMs, bars.stopMs, "ms"),
  ];
  if (outcome.died !== undefined) faults.unshift(`died: ${outcome.died}`);
  if (outcome.stopCode !== undefined && outcome.stopCode !== 0) {
    faults.push(`stopped with ${outcome.stopCode}`);
  }
  if ((outcome.orphans ?? 0) > 0) faults.push(`orphans ${outcome.orphans}`);
  return [...faults, ...outcome.silent, ...wrongAnswers(outcome)];
}

function neighbourFaults(when: string, seen: Observation | undefined, bars: Bars): string[] {
  return Object.entries(seen?.probes ?? {}).flatMap(([name, { count, failures, p99, worst }]) => {
    const probe = name as ProbeName;
    const isOrdinary = ORDINARY_PROBES.includes(probe);
    const worstMax = PROBE_PACES[probe].worstMsMax ?? bars.worstMs;
    const refused = Object.entries(failures);
    const isRefused = refused.reduce((sum, [, times]) => sum + times, 0) > count / 100;
    const told = refused.map(([answer, times]) => `${answer} x${times}`).join(" ");
    return [
      ...(isOrdinary ? beyond(`${when}${name} p99`, p99, bars.p99Ms, "ms") : []),
      ...beyond(`${when}${name} worst`, worst, worstMax, "ms"),
      ...(isRefused ? [`${when}${name}: ${told} of ${count}`] : []),
    ];
  });
}

function beyond(what: string, value: number | undefined, max: number, unit: string): string[] {
  if (value === undefined || value <= max) return [];
  return [`${what} ${Math.round(value)} ${unit}`];
}

function wrongAnswers({ attack, answers }: Omit<Outcome, "faults">): string[] {
  const wrong = [...answers].filter(([answer]) => {
    const status = Number(answer);
    if (Number.isNaN(status)) return false;
    return attack.mayHear === undefined ? status === 500 : !attack.mayHear.includes(status);
  });
  return wrong.map(([answer, times]) => `answered ${answer} x${times}`);
}
