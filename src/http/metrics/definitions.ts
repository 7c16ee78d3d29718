/**
 * Defines every metric of `GET /metrics`: name, type, labels and the source of its values.
 *
 * Names and units follow Prometheus: seconds and bytes, `_total` for counters. No label has a
 * value chosen by a client or tenant. docs/reference/monitoring.md has the same list for
 * operators.
 */

import type { Counters, Histogram, Tally } from "../../domain/measures/counters.ts";
import type { ArchiveMeasure, StoreMeasure } from "../../domain/measures/store_measure.ts";
import type { ProcessMeasure } from "../../host.ts";
import type { ModulesMeasure } from "../../domain/wasm/modules_measure.ts";
import type { SqlMeasure } from "../../domain/projection/sql_measure.ts";
import type { LiveCount } from "../feed/live_count.ts";
import type { LoadMeasure } from "../middleware/load_gate.ts";
import type { RequestCounts, RouteCounts } from "./request_counts.ts";

/** The data of one scrape, read at its start. */
export interface MetricsView {
  readonly requests: RequestCounts;
  readonly load: LoadMeasure;
  readonly live: Pick<LiveCount, "underWay" | "sent">;
  readonly counters: Counters;
  readonly store: StoreMeasure;
  /** Undefined: there is no archive. */
  readonly archive: ArchiveMeasure | undefined;
  /** By queue. */
  readonly leases: ReadonlyMap<string, number>;
  readonly modules: ModulesMeasure;
  readonly sql: SqlMeasure;
  readonly process: ProcessMeasure;
  /** How long ready work waits for its turn. */
  readonly eventLoopLagSeconds: number;
}

export type Labels = Readonly<Record<string, string>>;
/** Labels and their value. */
export type Sample<Value> = readonly [labels: Labels, value: Value];

interface Described {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
}

export interface NumberMetric extends Described {
  readonly type: "counter" | "gauge";
  readonly read: (view: MetricsView) => readonly Sample<number>[];
}

export interface HistogramMetric extends Described {
  readonly type: "histogram";
  readonly read: (view: MetricsView) => readonly Sample<Histogram>[];
}

const MS_PER_SECOND = 1000;

/** A gauge without labels; undefined: this process does not have it. */
function gauge(
  name: string,
  help: string,
  read: (view: MetricsView) => number | undefined,
): NumberMetric {
  return {
    name,
    help,
    type: "gauge",
    labels: [],
    read(view) {
      const value = read(view);
      return value === undefined ? [] : [[{}, value]];
    },
  };
}

export const METRICS: readonly (NumberMetric | HistogramMetric)[] = [
  {
    name: "process_cpu_seconds_total",
    help: "CPU time of the process, on all cores",
    type: "counter",
    labels: [],
    read: ({ process }) => [[{}, process.cpuSeconds]],
  },
  gauge(
    "process_resident_memory_bytes",
    "Memory of the process",
    ({ process }) => process.residentBytes,
  ),
  gauge(
    "process_start_time_seconds",
    "Start of the process, in seconds since 1970",
    ({ process }) => process.startedSeconds,
  ),
  gauge(
    "daybook_event_loop_lag_seconds",
    "How long one turn of the event loop took during this scrape",
    (view) => view.eventLoopLagSeconds,
  ),
  {
    name: "daybook_event_loop_delay_seconds",
    help: "How late what is ready comes to its turn, looked at every 20 ms",
    type: "histogram",
    labels: [],
    read: ({ counters }) => [[{}, counters.loopDelaySeconds]],
  },
  {
    name: "daybook_http_requests_total",
    help: "Answered requests",
    type: "counter",
    labels: ["route", "method", "status"],
    read: ({ requests }) =>
      eachRoute(
        requests,
        ({ byStatus }, labels) =>
          [...byStatus].map(([status, value]) => [{ ...labels, status: String(status) }, value]),
      ),
  },
  {
    name: "daybook_http_request_duration_seconds",
    help: "From a request's head to the head of its answer",
    type: "histogram",
    labels: ["route", "method", "status_class"],
    read: ({ requests }) =>
      eachRoute(
        requests,
        ({ seconds }, labels) =>
          [...seconds].map(([digit, value]) => [{ ...labels, status_class: `${digit}xx` }, value]),
      ),
  },
  gauge(
    "daybook_http_requests_under_way",
    "Requests that are being answered, without health and metrics",
    ({ load }) => load.underWay,
  ),
  gauge(
    "daybook_http_requests_under_way_max",
    "How many of them there may be now",
    ({ load }) => load.underWayMax,
  ),
  {
    name: "daybook_http_requests_shed_total",
    help: "Requests answered with 503 because there were too many",
    type: "counter",
    labels: [],
    read: ({ load }) => [[{}, load.shed]],
  },
  {
    name: "daybook_writes_refused_total",
    help: "Writes with a valid key that were refused",
    type: "counter",
    labels: ["error_type"],
    read: ({ requests }) => tally("error_type", requests.writesRefused),
  },
  {
    name: "daybook_rate_limited_total",
    help: "Requests beyond a rate limit",
    type: "counter",
    labels: ["scope"],
    read: ({ requests }) => tally("scope", requests.rateLimited),
  },
  {
    name: "daybook_rate_shares_total",
    help: "Parts of rate limits asked for where several processes share them",
    type: "counter",
    labels: ["outcome"],
    read: ({ counters }) => tally("outcome", counters.rateShares),
  },
  {
    name: "daybook_events_written_total",
    help: "Stored events by what wrote them",
    type: "counter",
    labels: ["origin"],
    read: ({ counters }) => tally("origin", counters.eventsWritten),
  },
  {
    name: "daybook_writes_replayed_total",
    help: "Writes answered again under their idempotency key",
    type: "counter",
    labels: [],
    read: ({ counters }) => [[{}, counters.writesReplayed]],
  },
  {
    name: "daybook_state_reads_total",
    help: "Reads of states by where folding began",
    type: "counter",
    labels: ["base"],
    read: ({ counters }) => tally("base", counters.stateReads),
  },
  {
    name: "daybook_spec_deploys_total",
    help: "Deploys of specs without dry runs",
    type: "counter",
    labels: ["outcome"],
    read: ({ counters }) => tally("outcome", counters.specDeploys),
  },
  {
    name: "daybook_saga_transitions_total",
    help: "Transitions of sagas by the state in which they left it",
    type: "counter",
    labels: ["state"],
    read: ({ counters }) => tally("state", counters.sagaTransitions),
  },
  {
    name: "daybook_deliveries_total",
    help: "Deliveries to listeners that are over, by how they ended",
    type: "counter",
    labels: ["state"],
    read: ({ counters }) => tally("state", counters.deliveries),
  },
  {
    name: "daybook_delivery_tries_total",
    help: "Tries of deliveries by status class or kind of failure",
    type: "counter",
    labels: ["result"],
    read: ({ counters }) => tally("result", counters.deliveryTries),
  },
  {
    name: "daybook_delivery_try_duration_seconds",
    help: "From the beginning of a try to the head of its answer, or to its failure",
    type: "histogram",
    labels: [],
    read: ({ counters }) => [[{}, counters.deliverySeconds]],
  },
  {
    name: "daybook_error_records_total",
    help: "Error records made",
    type: "counter",
    labels: ["error_type"],
    read: ({ counters }) => tally("error_type", counters.errorRecords),
  },
  {
    name: "daybook_worker_failures_total",
    help: "Rounds of background workers that failed",
    type: "counter",
    labels: ["worker"],
    read: ({ counters }) => tally("worker", counters.workerFailures),
  },
  {
    name: "daybook_wasm_calls_total",
    help: "Calls of WebAssembly modules by their end",
    type: "counter",
    labels: ["outcome"],
    read: ({ counters }) => tally("outcome", counters.moduleCalls),
  },
  gauge(
    "daybook_wasm_turns_running",
    "Turns of WebAssembly calls that runners have now",
    ({ modules }) => modules.running,
  ),
  gauge(
    "daybook_wasm_turns_waiting",
    "Requests for WebAssembly calls that wait for a turn",
    ({ modules }) => modules.waiting,
  ),
  gauge(
    "daybook_wasm_runners",
    "Runner processes for WebAssembly modules",
    ({ modules }) => modules.runners,
  ),
  {
    name: "daybook_sql_queries_total",
    help: "SQL queries over views by their end",
    type: "counter",
    labels: ["outcome"],
    read: ({ counters }) => tally("outcome", counters.queries),
  },
  gauge("daybook_sql_queries_running", "SQL queries that run now", ({ sql }) => sql.running),
  gauge(
    "daybook_sql_queries_waiting",
    "SQL queries that wait for a process",
    ({ sql }) => sql.waiting,
  ),
  gauge(
    "daybook_sql_copies",
    "Files with copies of views that this process keeps for SQL",
    ({ sql }) => sql.copies,
  ),
  gauge("daybook_sql_tables", "Tables in the copies of views", ({ sql }) => sql.tables),
  gauge(
    "daybook_sql_tables_filling",
    "Tables that are being filled from their views",
    ({ sql }) => sql.filling,
  ),
  {
    name: "daybook_leases_held",
    help: "Shards of background work that are this process's",
    type: "gauge",
    labels: ["queue"],
    read: ({ leases }) => tally("queue", leases),
  },
  gauge(
    "daybook_archive_behind_seconds",
    "How long the oldest commit that is not in the archive has waited",
    ({ archive }) => archive?.behindSeconds,
  ),
  gauge(
    "daybook_archive_full_time_seconds",
    "When the last full backup of the archive was complete, in seconds since 1970",
    ({ archive }) => archive?.fullAt,
  ),
  gauge(
    "daybook_archive_gap",
    "Whether commits are missing in the archive, until its next full backup",
    ({ archive }) => archive && Number(archive.hasGap),
  ),
  {
    name: "daybook_archive_failures_total",
    help: "Writes that the archive refused, and files of it that were found damaged",
    type: "counter",
    labels: [],
    read: ({ archive }) => archive === undefined ? [] : [[{}, archive.failures]],
  },
  {
    name: "daybook_queue_depth",
    help: "What waits in the deployment and is due, counted up to a bound",
    type: "gauge",
    labels: ["queue"],
    read: ({ store }) => store.queues.map(({ queue, depth }) => [{ queue }, depth]),
  },
  {
    name: "daybook_queue_lag_seconds",
    help: "How long the oldest of what waits has been due",
    type: "gauge",
    labels: ["queue"],
    read: ({ store }) =>
      store.queues.filter(({ queue }) => queue !== "parked")
        .map(({ queue, lagMs }) => [{ queue }, lagMs / MS_PER_SECOND]),
  },
  gauge(
    "daybook_store_up",
    "Whether the store answered this scrape",
    ({ store }) => store.isUp ? 1 : 0,
  ),
  {
    name: "daybook_store_transactions_total",
    help: "Transactions that may write",
    type: "counter",
    labels: ["outcome"],
    read: ({ counters }) => tally("outcome", counters.store.transactions),
  },
  {
    name: "daybook_store_commit_duration_seconds",
    help: "From the begin of a transaction to its durable end, reruns included",
    type: "histogram",
    labels: [],
    read: ({ counters }) => [[{}, counters.store.commitSeconds]],
  },
  gauge(
    "daybook_live_answers",
    "Live answers of the feed and reads that wait for an event",
    ({ live }) => live.underWay,
  ),
  {
    name: "daybook_live_frames_total",
    help: "Events and erasures that live answers have sent",
    type: "counter",
    labels: [],
    read: ({ live }) => [[{}, live.sent]],
  },
  {
    name: "daybook_store_retries_total",
    help: "Transactions run again, for whatever reason",
    type: "counter",
    labels: [],
    read: ({ counters }) => [[{}, counters.store.retries]],
  },
  {
    name: "daybook_store_conflicts_total",
    help: "Commits that lost against others and were tried again",
    type: "counter",
    labels: [],
    read: ({ store: { conflicts } }) => conflicts === undefined ? [] : [[{}, conflicts]],
  },
  {
    name: "daybook_store_bytes",
    help: "Size of the embedded store on the disk",
    type: "gauge",
    labels: ["part"],
    read: ({ store }) => tally("part", new Map(Object.entries(store.bytes ?? {}))),
  },
];

function tally(label: string, values: ReadonlyMap<string, number> | Tally): Sample<number>[] {
  return [...values].map(([name, value]) => [{ [label]: name }, value]);
}

function eachRoute<Value>(
  { routes }: RequestCounts,
  read: (counts: RouteCounts, labels: Labels) => Sample<Value>[],
): Sample<Value>[] {
  return [...routes].flatMap(([route, methods]) =>
    [...methods].flatMap(([method, counts]) => read(counts, { route, method }))
  );
}
