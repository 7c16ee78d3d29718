/**
 * Parses the text format of Prometheus, 0.0.4, by its own description. It refuses whatever that
 * description or `promtool check metrics` refuses, and knows nothing of the product.
 */

import assert from "node:assert/strict";

export interface Family {
  readonly help: string;
  readonly type: string;
  /** By sample name with sorted labels, such as `name{a="1",b="2"}`. */
  readonly samples: Map<string, number>;
  /** Label names seen, except `le`. */
  readonly labels: Set<string>;
}

const HELP = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) ((?:[^\\]|\\\\|\\n)+)$/;
const TYPE = /^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram|summary|untyped)$/;
const SAMPLE =
  /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? ([+-]?(?:Inf|NaN|[0-9.]+(?:e[+-]?[0-9]+)?))$/;
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(?:,|$)/;

/** Metric families by name. */
export function parsePrometheusText(text: string): Map<string, Family> {
  assert.ok(text.endsWith("\n"), "the last line ends too");
  const families = new Map<string, Family>();
  let help: RegExpExecArray | null = null;
  let current: { readonly name: string; readonly family: Family } | undefined;
  for (const line of text.slice(0, -1).split("\n")) {
    if (line === "") continue;
    const type = TYPE.exec(line);
    if (line.startsWith("# HELP ")) {
      help = HELP.exec(line);
      assert.ok(help !== null, line);
    } else if (type !== null) {
      const name = type[1]!;
      assert.equal(help?.[1], name, `help comes before type: ${line}`);
      assert.ok(!families.has(name), `one group for each name: ${name}`);
      const family = {
        help: help[2]!,
        type: type[2]!,
        samples: new Map(),
        labels: new Set<string>(),
      };
      families.set(name, family);
      current = { name, family };
    } else {
      assert.ok(current !== undefined, `a sample has a family: ${line}`);
      addSample(current.name, current.family, line);
    }
  }
  for (const [name, family] of families) checkFamily(name, family);
  return families;
}

function addSample(name: string, { type, samples, labels }: Family, line: string): void {
  const sample = SAMPLE.exec(line);
  assert.ok(sample !== null, `a sample: ${line}`);
  const suffixes = type === "histogram" ? ["_bucket", "_sum", "_count"] : [""];
  assert.ok(suffixes.some((suffix) => sample[1] === name + suffix), `${line} is of ${name}`);
  const pairs: string[] = [];
  for (let rest = sample[2] ?? ""; rest !== "";) {
    const label = LABEL.exec(rest);
    assert.ok(label !== null, `labels: ${line}`);
    assert.ok(!label[1]!.startsWith("__"), `no reserved label: ${line}`);
    pairs.push(`${label[1]}="${label[2]}"`);
    if (label[1] !== "le") labels.add(label[1]!);
    rest = rest.slice(label[0].length);
  }
  const key = pairs.length === 0 ? sample[1]! : `${sample[1]}{${pairs.sort().join(",")}}`;
  assert.ok(!samples.has(key), `each series once: ${key}`);
  const value = Number(sample[3]!.replace("Inf", "Infinity"));
  assert.ok(Number.isFinite(value), line);
  samples.set(key, value);
}

function checkFamily(name: string, { type, samples }: Family): void {
  assert.equal(name.endsWith("_total"), type === "counter", `${name} is a ${type}`);
  assert.ok(!/_(?:ms|milliseconds|kb|mb|percent)(?:_|$)/.test(name), `base units: ${name}`);
  if (type === "counter") { for (const value of samples.values()) assert.ok(value >= 0, name); }
  if (type === "histogram") checkHistogram(name, samples);
}

/**
 * Checks each label set: its buckets grow, the last one holds everything, and it has a sum and
 * a count.
 */
function checkHistogram(name: string, samples: ReadonlyMap<string, number>): void {
  const buckets = new Map<string, [le: number, count: number][]>();
  for (const [key, count] of samples) {
    if (!key.startsWith(`${name}_bucket`)) continue;
    const le = /[{,]?le="([^"]+)",?/.exec(key);
    assert.ok(le !== null, `a bucket has a bound: ${key}`);
    const others = key.slice(`${name}_bucket`.length).replace(/,?le="[^"]+"/, "").replace(
      "{,",
      "{",
    );
    const series = others === "{}" ? "" : others;
    const known = buckets.get(series) ?? [];
    known.push([Number(le[1]!.replace("Inf", "Infinity")), count]);
    buckets.set(series, known);
  }
  for (const [series, list] of buckets) {
    assert.deepEqual(list, list.toSorted(([a], [b]) => a - b), `bounds grow: ${name}${series}`);
    const counts = list.map(([, count]) => count);
    assert.deepEqual(counts, counts.toSorted((a, b) => a - b), `buckets add up: ${name}${series}`);
    assert.equal(list.at(-1)![0], Infinity, `${name}${series}`);
    assert.equal(samples.get(`${name}_count${series}`), counts.at(-1), `${name}${series}`);
    assert.ok(samples.has(`${name}_sum${series}`), `${name}${series}`);
  }
  const others = [...samples.keys()].filter((key) => !key.startsWith(`${name}_bucket`));
  assert.equal(others.length, 2 * buckets.size, `no sum or count without buckets: ${name}`);
}
