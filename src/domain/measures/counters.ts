/**
 * Counters that one process keeps while it works; `http/metrics/` shows them.
 *
 * They are plain numbers, so counting costs next to nothing. They start at 0 with the process
 * and only grow. Count only what has taken place: a transaction's body may run several times,
 * so never count inside one.
 */

import { WASM_FAILURE_KINDS } from "../wasm/failure.ts";

/** Numbers by name. The names are few and come from our code, never from client input. */
export type Tally = Map<string, number>;

/** Why an event was written. */
export type EventOrigin = "client" | "implied" | "scheduled" | "saga" | "imported";
/** Where the fold of a state began: at a state in memory, at a snapshot, or at the first event. */
export type FoldBase = "memory" | "snapshot" | "events";

export interface Counters {
  /** Events by {@link EventOrigin}. */
  readonly eventsWritten: Tally;
  /** Writes answered from the idempotency ledger. */
  writesReplayed: number;
  /** Reads of states by {@link FoldBase}. */
  readonly stateReads: Tally;
  /** Deploys by outcome, `accepted` or `refused`. Dry runs do not count. */
  readonly specDeploys: Tally;
  /** Saga transitions, by the state that the saga was in afterwards. */
  readonly sagaTransitions: Tally;
  /** Finished deliveries, by how they ended. */
  readonly deliveries: Tally;
  /** Delivery tries, by the first digit of the answer's status or by how they failed. */
  readonly deliveryTries: Tally;
  /** Seconds from the start of a delivery try to the head of its answer. */
  readonly deliverySeconds: Histogram;
  /** Error records by their `error_type`. */
  readonly errorRecords: Tally;
  /** Background worker rounds that threw, by worker. */
  readonly workerFailures: Tally;
  /** Calls of WebAssembly modules, by outcome. */
  readonly moduleCalls: Tally;
  /** SQL queries over projections: `ok`, or why the query was refused. */
  readonly queries: Tally;
  /** Requests for parts of shared rate limits: `taken`, `empty` if none was left, `failed`. */
  readonly rateShares: Tally;
  readonly store: StoreCounters;
  /** Event-loop delay in seconds; see `thread_watch.ts`. */
  readonly loopDelaySeconds: Histogram;
}

export interface StoreCounters {
  /** Transactions that may write, by outcome: `committed` or `failed`. */
  readonly transactions: Tally;
  /** How often a transaction's body ran again. */
  retries: number;
  /** Seconds from the first run of a body until its commit is durable. */
  readonly commitSeconds: Histogram;
}

/** From half a millisecond, about the fastest answer, to the longest wait of a client. */
export const LATENCY_SECONDS: readonly number[] = [
  ...[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
];

/** From the resolution of a timer up to delays that no client would wait for. */
const LOOP_DELAY_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Known names start at 0, so that monitoring sees their first increase. */
export function newCounters(): Counters {
  return {
    eventsWritten: newTally("client", "implied", "scheduled", "saga", "imported"),
    writesReplayed: 0,
    stateReads: newTally("memory", "snapshot", "events"),
    specDeploys: newTally("accepted", "refused"),
    sagaTransitions: newTally("running", "completed", "compensating", "compensated", "failed"),
    deliveries: newTally("delivered", "dead", "dropped"),
    deliveryTries: newTally("2xx", "3xx", "4xx", "5xx", "timeout", "connection_failed"),
    deliverySeconds: newHistogram(LATENCY_SECONDS),
    errorRecords: newTally(
      "implication_failed",
      "implication_depth_exceeded",
      "reaction_limit_exceeded",
      "implication_dropped",
      "reactions_discarded",
      "internal",
      "unavailable",
      ...WASM_FAILURE_KINDS,
    ),
    workerFailures: newTally(),
    moduleCalls: newTally("ok", "handler_error", "unavailable", ...WASM_FAILURE_KINDS),
    queries: newTally("ok", "sql_not_allowed", "sql_timeout", "sql_unavailable"),
    rateShares: newTally("taken", "empty", "failed"),
    store: {
      transactions: newTally("committed", "failed"),
      retries: 0,
      commitSeconds: newHistogram(LATENCY_SECONDS),
    },
    loopDelaySeconds: newHistogram(LOOP_DELAY_SECONDS),
  };
}

function newTally(...names: string[]): Tally {
  return new Map(names.map((name) => [name, 0]));
}

export function count(tally: Tally, name: string, by = 1): void {
  tally.set(name, (tally.get(name) ?? 0) + by);
}

/** How much has been written and read so far. It grows whenever anybody is at work. */
export function countDone({ eventsWritten, writesReplayed, stateReads }: Counters): number {
  let done = writesReplayed;
  for (const number of eventsWritten.values()) done += number;
  for (const number of stateReads.values()) done += number;
  return done;
}

/** Counts error records that are already stored. */
export function countErrors(
  { errorRecords }: Counters,
  records: readonly { readonly error_type: string }[],
): void {
  for (const { error_type } of records) count(errorRecords, error_type);
}

/** Counts a finished transaction. `runs` is how often its body ran. */
export function countTransaction(
  store: StoreCounters,
  isCommitted: boolean,
  runs: number,
  seconds: number,
): void {
  count(store.transactions, isCommitted ? "committed" : "failed");
  // A transaction that was refused before its first run has 0 runs.
  if (runs > 1) store.retries += runs - 1;
  if (isCommitted) observe(store.commitSeconds, seconds);
}

/** Counts values by size. */
export interface Histogram {
  /** Upper bounds, ascending and inclusive. */
  readonly bounds: readonly number[];
  /** How many values fell into each range; the last entry counts those above all bounds. */
  readonly counts: number[];
  sum: number;
}

export function newHistogram(bounds: readonly number[]): Histogram {
  return { bounds, counts: new Array(bounds.length + 1).fill(0), sum: 0 };
}

export function observe(histogram: Histogram, value: number): void {
  const { bounds, counts } = histogram;
  let at = 0;
  while (at < bounds.length && value > bounds[at]!) at++;
  counts[at]!++;
  histogram.sum += value;
}
