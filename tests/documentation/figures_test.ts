/** The README's figures are those that were measured: they stand there as the raw figures say. */

import assert from "node:assert/strict";
import { withFigures } from "../../scripts/bench_readme.ts";

const README = new URL("../../README.md", import.meta.url);

Deno.test("the tables of the README are what `deno task bench:readme` writes", async () => {
  const readme = await Deno.readTextFile(README);
  assert.equal(await withFigures(readme), readme);
});
