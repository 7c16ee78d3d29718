/** What happens to a world besides its clients, drawn from its seed: its size and its faults. */

import type { Random } from "../crash/random.ts";
import type { Fault } from "../support/faulty_engine.ts";
import type { Census } from "./census.ts";
import type { CallStage } from "./simulated_store.ts";

export interface Weather {
  readonly machines: number;
  readonly clients: number;
  readonly operationsEach: number;
  /** The longest pause between two operations of one client. */
  readonly thinkMsMax: number;
  readonly latencyMsMax: number;
  /** Share of the commits that meet a fault. */
  readonly faultShare: number;
  /** Nodes that die at a stage of a call, and at a point in time. */
  readonly deathsInCalls: number;
  readonly deathsInTime: number;
  readonly outages: number;
  readonly skewMsMax: number;
  readonly clockJumps: number;
  readonly deploys: number;
  readonly poison: "none" | "passing" | "lasting";
  /** Whether implied events may be written with their triggers, or only through the outbox. */
  readonly isDirect: boolean;
  readonly entrance: "service" | "http";
  /** How the receivers of deliveries answer; `none`: there are no listeners. */
  readonly receivers: "none" | "well" | "flaky" | "stubborn";
  readonly hasProjections: boolean;
  readonly hasAnchors: boolean;
}

/**
 * A tenth of the worlds is calm: nothing may be late or out of order there. Only some worlds
 * have the expensive parts.
 */
export function drawWeather(random: Random): Weather {
  const isCalm = random.chance(0.1);
  const none = <T>(drawn: T, calm: T) => isCalm ? calm : drawn;
  return {
    machines: none(random.pick([1, 2, 2, 3]), 1),
    clients: 1 + random.below(3),
    operationsEach: 3 + random.below(5),
    thinkMsMax: random.pick([50, 300, 1_000]),
    latencyMsMax: none(random.pick([1, 3, 3, 20, 300]), 1),
    faultShare: none(random.pick([0, 0.03, 0.15, 0.3]), 0),
    deathsInCalls: none(random.pick([0, 1, 2]), 0),
    deathsInTime: none(random.pick([0, 0, 1, 2]), 0),
    outages: none(random.pick([0, 0, 1, 2]), 0),
    skewMsMax: none(random.pick([0, 200, 1_500, 30_000]), 0),
    clockJumps: none(random.pick([0, 0, 1, 2]), 0),
    deploys: random.pick([0, 0, 1, 2]),
    poison: none(random.pick(["none", "none", "none", "passing", "lasting"] as const), "none"),
    isDirect: random.chance(0.5),
    entrance: random.chance(0.25) ? "http" : "service",
    receivers: random.chance(0.25) ? random.pick(["well", "flaky", "flaky", "stubborn"]) : "none",
    hasProjections: random.chance(0.1),
    hasAnchors: random.chance(0.15),
  };
}

/** Occasionally long, so that what usually comes first comes last. */
export function drawLatencyMs(random: Random, { latencyMsMax }: Weather): number {
  return random.next() * latencyMsMax * (random.chance(0.02) ? 5 : 1);
}

/** Deaths after a commit are what a queue is most likely to get wrong. */
export const DEATH_SHARES: Readonly<Record<CallStage, number>> = {
  begin: 0.003,
  commit: 0.01,
  reply: 0.02,
};

export function drawFault(random: Random, share: number, census: Census): Fault | undefined {
  if (!random.chance(share)) return undefined;
  const kind = random.pick(["conflict", "lose_reply", "unavailable"] as const);
  if (kind === "conflict") {
    census.count("commits in conflict by plan");
    return { kind, times: 1 + random.below(2) };
  }
  const landed = random.chance(0.5);
  const end = kind === "lose_reply" ? "reply lost" : "store said to be away";
  census.count(landed ? `commits landed, ${end}` : `commits not landed, ${end}`);
  return { kind, landed };
}
