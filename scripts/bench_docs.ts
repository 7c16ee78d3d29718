/**
 * `deno task bench:docs`: writes the figures of `deno task bench` and `deno task bench:peers` into
 * `docs/benchmarks.md`, and the chart beside it, out of the raw figures that are kept in
 * `bench/figures/`. Nobody copies a number by hand.
 */

import { formatBench, putSection } from "./bench/markdown.ts";
import { readOptions, taskCommand } from "./options.ts";
import { formatChart } from "./peers/chart.ts";
import { formatFigures } from "./peers/report.ts";

const KEPT = new URL("bench/figures/", import.meta.url);

/** Where the raw figures of a benchmark are kept. */
export function keptFigures(name: "bench" | "peers"): URL {
  return new URL(`${name}.json`, KEPT);
}

/** The document with both tables, made from the kept figures. A table without figures stays. */
export async function withFigures(document: string): Promise<string> {
  const bench = await readKept("bench");
  const peers = await readKept("peers");
  if (bench !== undefined) document = putSection(document, "bench", formatBench(bench));
  if (peers !== undefined) document = putSection(document, "bench:peers", formatFigures(peers));
  return document;
}

/** The chart as SVG; undefined if no figures of the peers are kept. */
export async function chartOfFigures(): Promise<string | undefined> {
  const peers = await readKept("peers");
  return peers === undefined ? undefined : formatChart(peers);
}

async function readKept(name: "bench" | "peers") {
  try {
    return JSON.parse(await Deno.readTextFile(keptFigures(name)));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

interface Options {
  readonly bench?: string;
  readonly peers?: string;
  readonly document: string;
  readonly chart: string;
}

if (import.meta.main) {
  const docs = new URL("../docs/", import.meta.url).pathname;
  const values = readOptions<Options>(
    taskCommand("bench:docs", "Writes the kept figures and the chart into docs/.")
      .option("--bench <file>", "raw figures of bench, kept in place of the previous ones")
      .option("--peers <file>", "raw figures of bench:peers, kept in place of the previous ones")
      .option("--document <file>", "the document", `${docs}benchmarks.md`)
      .option("--chart <file>", "the chart", `${docs}benchmarks.svg`),
  );
  await Deno.mkdir(KEPT, { recursive: true });
  for (const name of ["bench", "peers"] as const) {
    const path = values[name];
    if (path !== undefined) await Deno.copyFile(path, keptFigures(name));
  }
  const before = await Deno.readTextFile(values.document);
  await Deno.writeTextFile(values.document, await withFigures(before));
  const chart = await chartOfFigures();
  if (chart !== undefined) await Deno.writeTextFile(values.chart, chart);
}
