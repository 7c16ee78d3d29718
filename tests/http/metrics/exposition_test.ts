/** The text for Prometheus: made from measurements, read back by an independent parser. */

import assert from "node:assert/strict";
import { count, countTransaction, newCounters } from "../../../src/domain/measures/counters.ts";
import type { MetricsView } from "../../../src/http/metrics/definitions.ts";
import { createExposition } from "../../../src/http/metrics/exposition.ts";
import { countRequest, newRequestCounts } from "../../../src/http/metrics/request_counts.ts";
import { parsePrometheusText } from "../../support/prometheus_text.ts";

function view(change: Partial<MetricsView> = {}): MetricsView {
  return {
    requests: newRequestCounts(),
    load: { underWay: 0, underWayMax: 1_000, shed: 0 },
    counters: newCounters(),
    store: { isUp: true, queues: [], conflicts: 0 },
    archive: undefined,
    leases: new Map(),
    modules: { runners: 0, running: 0, waiting: 0 },
    sql: { running: 0, waiting: 0, copies: 0, tables: 0, filling: 0 },
    process: { cpuSeconds: 0, residentBytes: 0, startedSeconds: 0 },
    live: { underWay: 0, sent: 0 },
    eventLoopLagSeconds: 0,
    ...change,
  };
}

async function samplesOf(name: string, shown: MetricsView): Promise<Record<string, number>> {
  const text = await createExposition().write(shown);
  return Object.fromEntries(parsePrometheusText(text).get(name)!.samples);
}

Deno.test("the archive is shown where there is one, and its last full backup once it is there", async () => {
  const archive = { behindSeconds: 0.25, fullAt: undefined, failures: 3, hasGap: true };
  const shown = async (change: Partial<MetricsView>) => {
    const families = parsePrometheusText(await createExposition().write(view(change)));
    const names = [...families.keys()].filter((name) => name.startsWith("daybook_archive_"));
    const samples = names.flatMap((name) => [...families.get(name)!.samples]);
    return Object.fromEntries(samples.sort(([a], [b]) => a < b ? -1 : 1));
  };
  assert.deepEqual(await shown({}), {});
  const begun = {
    daybook_archive_behind_seconds: 0.25,
    daybook_archive_failures_total: 3,
    daybook_archive_gap: 1,
  };
  assert.deepEqual(await shown({ archive }), begun);
  const full = { archive: { ...archive, fullAt: 1_767_225_000 } };
  assert.deepEqual(await shown(full), {
    ...begun,
    daybook_archive_full_time_seconds: 1_767_225_000,
  });
});

Deno.test("a histogram is written with buckets that add up, its sum and its count", async () => {
  const requests = newRequestCounts();
  for (const seconds of [0.0004, 0.0005, 0.03, 11]) {
    countRequest(requests, "/{type}/{id}", "GET", 200, seconds);
  }
  const name = "daybook_http_request_duration_seconds";
  const labels = 'method="GET",route="/{type}/{id}",status_class="2xx"';
  const samples = await samplesOf(name, view({ requests }));
  const below = (le: string) => samples[`${name}_bucket{le="${le}",${labels}}`];
  assert.deepEqual(["0.0005", "0.001", "0.025", "0.05", "10", "+Inf"].map(below), [
    2,
    2,
    2,
    3,
    3,
    4,
  ]);
  assert.equal(samples[`${name}_count{${labels}}`], 4);
  assert.ok(Math.abs(samples[`${name}_sum{${labels}}`]! - 11.0309) < 1e-9);
});

Deno.test("what has been counted is shown as it is now, not as it was shown before", async () => {
  const shown = view();
  const exposition = createExposition();
  const read = async () => {
    const families = parsePrometheusText(await exposition.write(shown));
    return [
      families.get("daybook_events_written_total")!.samples.get(
        'daybook_events_written_total{origin="saga"}',
      ),
      families.get("daybook_store_retries_total")!.samples.get("daybook_store_retries_total"),
    ];
  };
  count(shown.counters.eventsWritten, "saga", 5);
  countTransaction(shown.counters.store, true, 3, 0);
  assert.deepEqual(await read(), [5, 2]);
  assert.deepEqual(await read(), [5, 2]);
  count(shown.counters.eventsWritten, "saga");
  assert.deepEqual(await read(), [6, 2]);
});

Deno.test("what a store that is away does not tell is left out, and not shown as 0", async () => {
  const shown = view({ store: { isUp: false, queues: [] } });
  const families = parsePrometheusText(await createExposition().write(shown));
  assert.deepEqual([...families.get("daybook_store_up")!.samples], [["daybook_store_up", 0]]);
  const left = ["daybook_queue_depth", "daybook_queue_lag_seconds", "daybook_store_bytes"];
  for (const name of [...left, "daybook_store_conflicts_total"]) {
    assert.deepEqual([...families.get(name)!.samples], [], name);
  }
});

Deno.test("the store's queues are shown in seconds, parked work without a lag", async () => {
  const queues = [
    { queue: "outbox", depth: 3, lagMs: 1_500 },
    { queue: "parked", depth: 2, lagMs: 0 },
  ] as const;
  const shown = view({ store: { isUp: true, queues, bytes: { log: 7 } } });
  assert.deepEqual(await samplesOf("daybook_queue_depth", shown), {
    'daybook_queue_depth{queue="outbox"}': 3,
    'daybook_queue_depth{queue="parked"}': 2,
  });
  assert.deepEqual(await samplesOf("daybook_queue_lag_seconds", shown), {
    'daybook_queue_lag_seconds{queue="outbox"}': 1.5,
  });
  assert.deepEqual(await samplesOf("daybook_store_bytes", shown), {
    'daybook_store_bytes{part="log"}': 7,
  });
});

Deno.test("scrapes at the same time show each their own view", async () => {
  const exposition = createExposition();
  const texts = await Promise.all(
    [1, 2, 3].map((cpuSeconds) =>
      exposition.write(view({ process: { cpuSeconds, residentBytes: 0, startedSeconds: 0 } }))
    ),
  );
  const shown = texts.map((text) =>
    parsePrometheusText(text).get("process_cpu_seconds_total")!.samples.get(
      "process_cpu_seconds_total",
    )
  );
  assert.deepEqual(shown, [1, 2, 3]);
});
