/** Writes metrics in the text format of Prometheus (exposition format 0.0.4). */

import { Counter, Gauge, type Metric, Registry } from "prom-client";
import type { Histogram } from "../../domain/measures/counters.ts";
import {
  type HistogramMetric,
  type Labels,
  METRICS,
  type MetricsView,
  type NumberMetric,
} from "./definitions.ts";

export interface Exposition {
  readonly contentType: string;
  /** Writes the metrics of `view`. */
  write(view: MetricsView): Promise<string>;
}

/** Uses a registry of its own, so that several services in one process stay separate. */
export function createExposition(): Exposition {
  const registry = new Registry();
  let shown: MetricsView;

  for (const metric of METRICS) {
    if (metric.type === "histogram") addHistogram(registry, metric, () => shown);
    else addNumber(registry, metric, () => shown);
  }

  return {
    contentType: registry.contentType,
    write(view) {
      // Everything is collected before this call returns, so no other scrape can interfere.
      shown = view;
      return registry.metrics();
    },
  };
}

function addNumber(registry: Registry, metric: NumberMetric, view: () => MetricsView): void {
  const { name, help, labels, read } = metric;
  const config = { name, help, labelNames: labels, registers: [registry] };
  if (metric.type === "gauge") {
    new Gauge({
      ...config,
      collect() {
        const samples = read(view());
        this.reset();
        for (const [labels, value] of samples) this.set(labels, value);
        // Without labels it starts at 0, not empty; remove it if its value is unknown.
        if (samples.length === 0 && labels.length === 0) this.remove();
      },
    });
    return;
  }
  new Counter({
    ...config,
    collect() {
      const samples = read(view());
      this.reset();
      for (const [labels, value] of samples) this.inc(labels, value);
      // A counter without labels starts at 0, not empty; remove it if its value is unknown.
      if (samples.length === 0 && labels.length === 0) this.remove();
    },
  });
}

/** Adds a histogram with our own counts; the library's class would count by itself. */
function addHistogram(registry: Registry, metric: HistogramMetric, view: () => MetricsView): void {
  const { name, help, type, read } = metric;
  const shown = {
    name,
    get: () => {
      const values = read(view()).flatMap(([labels, value]) => series(name, labels, value));
      return Promise.resolve({ name, help, type, values, aggregator: "sum" });
    },
  };
  registry.registerMetric(shown as unknown as Metric);
}

function series(name: string, labels: Labels, { bounds, counts, sum }: Histogram) {
  let total = 0;
  const buckets = counts.map((count, index) => {
    total += count;
    const le = bounds[index] ?? "+Inf";
    return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: total };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: total },
  ];
}
