/**
 * `deno task bench:readme`: writes the figures of `deno task bench` and `deno task bench:peers`
 * into the README, out of the raw figures that are kept beside this; nobody copies a number.
 *
 *   --bench FILE, --peers FILE   raw figures; kept from now on in place of those before
 *   --readme FILE                the document (README.md)
 */

import { parseArgs } from "node:util";
import { formatBench, putSection } from "./bench/markdown.ts";
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
  const text = { type: "string" } as const;
  const readme = { ...text, default: new URL("../README.md", import.meta.url).pathname };
  const { values } = parseArgs({
    args: Deno.args.filter((argument) => argument !== "--"),
    options: { bench: text, peers: text, readme },
  });
  await Deno.mkdir(KEPT, { recursive: true });
  for (const name of ["bench", "peers"] as const) {
    const path = values[name];
    if (path !== undefined) await Deno.copyFile(path, keptFigures(name));
  }
  const before = await Deno.readTextFile(values.readme);
  await Deno.writeTextFile(values.readme, await withFigures(before));
}
