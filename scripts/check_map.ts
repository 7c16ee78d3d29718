/**
 * Keeps the map in `src/README.md` true: between its two marks stands what the sources' own
 * headers say. `--write` puts it there; without it a stale map exits 1.
 */

import { drawMap } from "./checks/source_map.ts";
import { readSources } from "./checks/source_tree.ts";

const README = "src/README.md";
const BEGIN = "<!-- map: written by `deno task map` -->";
const END = "<!-- end of map -->";

const text = await Deno.readTextFile(README);
const begin = text.indexOf(BEGIN);
const end = text.indexOf(END);
if (begin < 0 || end < begin) {
  console.error(`${README} has no place for the map: the lines ${BEGIN} and ${END}`);
  Deno.exit(1);
}
const map = drawMap(await readSources(["src"]));
const next = `${text.slice(0, begin + BEGIN.length)}\n\n${map}\n\n${text.slice(end)}`;
if (Deno.args.includes("--write")) await Deno.writeTextFile(README, next);
else if (next !== text) {
  console.error(`The map in ${README} is stale. Run: deno task map`);
  Deno.exit(1);
}
console.log("map: true");
