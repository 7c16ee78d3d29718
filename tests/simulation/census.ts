/** Counts what the worlds of a run have met: a fault that never came proves nothing. */

/** Every kind must have occurred; its meaning is explained where it is counted. */
const CENSUS_KINDS = [
  // What was done to the nodes.
  "nodes killed",
  "nodes killed after a commit that nobody heard of",
  "nodes stopped in order",
  "nodes started again",
  "commits in conflict by plan",
  "commits landed, reply lost",
  "commits not landed, reply lost",
  "commits landed, store said to be away",
  "commits not landed, store said to be away",
  "outages of all",
  "outages of one machine",
  "clocks set forward",
  "clocks set back",
  "entries poisoned for a while",
  "entries poisoned for ever",
  "deliveries that never came",
  "deliveries that came, answer lost",
  // What clients did.
  "writes acknowledged",
  "writes refused",
  "writes of which nothing was heard",
  "writes of which nothing was heard that landed",
  "keyed writes answered from the ledger",
  "specs deployed",
  "projections deployed",
  "requests over HTTP",
  "requests answered with 503",
  "reads",
  "reads beside which others wrote",
  "bundles over HTTP",
  "schedules deleted",
  "schedules not deleted, for they were gone",
  // What followed.
  "implied events",
  "implied events written with their trigger",
  "implied events of depth 2 or more",
  "implied events written by another process than their trigger",
  "implied events given up",
  "implications too deep",
  "implications that came to nothing",
  "entries tried again after a failure",
  "entries parked",
  "schedules fired",
  "schedules cancelled by an event",
  "schedules cancelled within 100 ms of their time",
  "schedules fired within 100 ms before an event that cancels",
  "sagas completed",
  "sagas compensated",
  "sagas failed",
  "saga steps out of time",
  "saga steps refused by an event",
  "saga steps whose event could not be written",
  "saga steps skipped",
  "saga compensations",
  "saga compensations tried again",
  "deliveries delivered",
  "deliveries dead",
  "deliveries dropped",
  "deliveries made after a failed try",
  "deliveries that came again, though answered",
  "deliveries by another process than the one that wrote",
  "anchors",
  "anchors ended by another process than began them",
  "anchors in the making of which others wrote",
  "bundles",
  "rows",
  "versions of views that were built",
] as const;

export type CensusKind = typeof CENSUS_KINDS[number];

export interface Census {
  count(kind: CensusKind, times?: number): void;
  of(kind: CensusKind): number;
}

export function createCensus(): Census {
  const counts = new Map<CensusKind, number>();
  const of = (kind: CensusKind) => counts.get(kind) ?? 0;
  return {
    of,
    count: (kind, times = 1) => void counts.set(kind, of(kind) + times),
  };
}

/** One line for each kind. */
export function describeCensus(census: Census): string {
  return CENSUS_KINDS.map((kind) => `${String(census.of(kind)).padStart(8)} ${kind}`).join("\n");
}

export function missingKinds(census: Census): CensusKind[] {
  return CENSUS_KINDS.filter((kind) => census.of(kind) === 0);
}
