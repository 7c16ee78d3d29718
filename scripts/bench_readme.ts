/**
 * `deno task bench:readme`: writes the figures of `deno task bench` and `deno task bench:peers`
 * into the README, out of the raw figures that are kept beside this; nobody copies a number.
 */

import { formatBench, putSection } from "./bench/markdown.ts";
import { readOptions, taskCommand } from "./options.ts";
import { formatFigures } from "./peers/report.ts";

const KEPT = new URL("bench/figures/", import.meta.url);

/** Where the raw figures of a benchmark are kept. */
export function keptFigures(name: "bench" | "peers"): URL {
  return new URL(`${name}.json`, KEPT);
}

/** The document with both tables, out of what is kept; what is not kept stays as it is. */
export async function withFigures(document: string): Promise<string> {
  const bench = await readKept("bench");
  const peers = await readKept("peers");
  if (bench !== undefined) document = putSection(document, "bench", formatBench(bench));
  if (peers !== undefined) document = putSection(document, "bench:peers", formatFigures(peers));
  return document;
}

async function readKept(name: "bench" | "peers") {
  try {
    return JSON.parse(await Deno.readTextFile(keptFigures(name)));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

if (import.meta.main) {
  const readme = new URL("../README.md", import.meta.url).pathname;
  const values = readOptions<{ bench?: string; peers?: string; readme: string }>(
    taskCommand("bench:readme", "Writes the figures that are kept into the README.")
      .option("--bench <file>", "raw figures of bench, kept in place of those before")
      .option("--peers <file>", "raw figures of bench:peers, kept in place of those before")
      .option("--readme <file>", "the document", readme),
  );
  await Deno.mkdir(KEPT, { recursive: true });
  for (const name of ["bench", "peers"] as const) {
    const path = values[name];
    if (path !== undefined) await Deno.copyFile(path, keptFigures(name));
  }
  const before = await Deno.readTextFile(values.readme);
  await Deno.writeTextFile(values.readme, await withFigures(before));
}
