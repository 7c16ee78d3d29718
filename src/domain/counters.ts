/**
 * What one process counts while it works: plain numbers, so that counting costs next to nothing.
 * They only grow, and begin at 0 with the process. `http/metrics/` shows them. Counted is what has
 * taken place: a transaction's body may run more than once, so nothing is counted inside of one.
 */

import { WASM_FAILURE_KINDS } from "./wasm/failure.ts";
import { type Histogram, newHistogram, observe } from "./histogram.ts";

/** Numbers by name. Names are few and of our own making, never a client's text. */
export type Tally = Map<string, number>;

/** Why an event was written. */
export type EventOrigin = "client" | "implied" | "scheduled" | "saga" | "imported";
/** Where folding a state began: at one in memory, at a snapshot, at the first event. */
export type FoldBase = "memory" | "snapshot" | "events";

export interface Counters {
  /** Events by {@link EventOrigin}. */
  readonly eventsWritten: Tally;
  /** Writes answered from the ledger. */
  writesReplayed: number;
  /** Reads of states by {@link FoldBase}. */
  readonly stateReads: Tally;
  /** Deploys, `accepted` and `refused`; dry runs do not count. */
  readonly specDeploys: Tally;
  /** Transitions of sagas by the state in which they left it. */
  readonly sagaTransitions: Tally;
  /** Deliveries that are over, by how they ended. */
  readonly deliveries: Tally;
  /** Tries of deliveries by the first digit of the answer's status, or by how they failed. */
  readonly deliveryTries: Tally;
  /** From the beginning of a try to the head of its answer. */
  readonly deliverySeconds: Histogram;
  /** Error records by their `error_type`. */
  readonly errorRecords: Tally;
  /** Rounds of background workers that threw, by worker. */
  readonly workerFailures: Tally;
  /** Calls of WebAssembly modules by their end. */
  readonly moduleCalls: Tally;
  /** SQL over views: queries by their end, `ok` or why they were refused. */
  readonly queries: Tally;
  /** Parts of rate limits that processes share: `taken`, `empty` where none was left, `failed`. */
  readonly rateShares: Tally;
  readonly store: StoreCounters;
  /** How late what is ready comes to its turn, in seconds: see `thread_watch.ts`. */
  readonly loopDelaySeconds: Histogram;
}

export interface StoreCounters {
  /** Transactions that may write, by their end: `committed`, `failed`. */
  readonly transactions: Tally;
  /** How often a body ran again. */
  retries: number;
  /** From the first run of a body until its commit is durable. */
  readonly commitSeconds: Histogram;
}

/** From half a millisecond, about the fastest answer, to the longest that a client may wait. */
export const LATENCY_SECONDS: readonly number[] = [
  ...[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
];

/** From the grain of a timer to what no client waits for. */
const LOOP_DELAY_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** What is known to come begins at 0, so that its first increase can be seen. */
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

/** How much has been written and read so far: it grows while anybody is at work. */
export function countDone({ eventsWritten, writesReplayed, stateReads }: Counters): number {
  let done = writesReplayed;
  for (const number of eventsWritten.values()) done += number;
  for (const number of stateReads.values()) done += number;
  return done;
}

/** Counts error records that are stored by now. */
export function countErrors(
  { errorRecords }: Counters,
  records: readonly { readonly error_type: string }[],
): void {
  for (const { error_type } of records) count(errorRecords, error_type);
}

/** Counts a transaction that has ended after `runs` of its body. */
export function countTransaction(
  store: StoreCounters,
  isCommitted: boolean,
  runs: number,
  seconds: number,
): void {
  count(store.transactions, isCommitted ? "committed" : "failed");
  // One that was refused before its first run has none.
  if (runs > 1) store.retries += runs - 1;
  if (isCommitted) observe(store.commitSeconds, seconds);
}
