/**
 * The probes: what a neighbour does while another instance attacks. Each probe is one kind of
 * request, at a fixed pace whatever the server does.
 */

export type ProbeName =
  | "read"
  | "write"
  | "health"
  | "query"
  | "import"
  | "login"
  | "module"
  | "delivery";

/** Everything that the neighbour's process must know. */
export interface Aim {
  readonly port: number;
  readonly key: string;
  readonly operatorToken: string;
  readonly instance: string;
  readonly probes: readonly ProbeName[];
}

export interface ProbeSummary {
  readonly count: number;
  /** Answers that a neighbour must not get: anything but 2xx, and no answer at all. */
  readonly failures: Readonly<Record<string, number>>;
  readonly p50: number;
  readonly p99: number;
  readonly worst: number;
}

export interface Observation {
  readonly probes: Readonly<Partial<Record<ProbeName, ProbeSummary>>>;
  /** How late a timer of the neighbour's own process was at worst: noise of the machine. */
  readonly ownDelayMs: number;
}

/** These three always run, and the bars on latency apply to them. */
export const ORDINARY_PROBES: readonly ProbeName[] = ["read", "write", "health"];

export interface ProbePace {
  readonly perSecond: number;
  readonly connections: number;
  /** The limit of its worst latency; undefined means the limit of the bars. */
  readonly worstMsMax?: number;
}

export const PROBE_PACES: Readonly<Record<ProbeName, ProbePace>> = {
  read: { perSecond: 50, connections: 4 },
  write: { perSecond: 50, connections: 4 },
  health: { perSecond: 50, connections: 4 },
  query: { perSecond: 2, connections: 2, worstMsMax: 2_000 },
  import: { perSecond: 2, connections: 2, worstMsMax: 1_000 },
  login: { perSecond: 0.5, connections: 1, worstMsMax: 3_000 },
  module: { perSecond: 5, connections: 2, worstMsMax: 1_000 },
  delivery: { perSecond: 2, connections: 1, worstMsMax: 3_000 },
};

export const NEIGHBOUR = {
  email: "neighbour@example.com",
  password: "a quiet evening at home",
  address: "10.0.0.2",
  aggregates: 200,
} as const;

/** Identifiers of the neighbour's own aggregates. */
export function neighbourId(number: number): string {
  return `NE1GH${String(number % NEIGHBOUR.aggregates).padStart(4, "0")}`;
}
