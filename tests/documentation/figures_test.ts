/** The published figures, tables and chart, are those that were measured. */

import assert from "node:assert/strict";
import { chartOfFigures, withFigures } from "../../scripts/bench_docs.ts";
import { readText } from "./markdown.ts";

Deno.test("the tables of docs/benchmarks.md are what `deno task bench:docs` writes", async () => {
  const document = readText("docs/benchmarks.md");
  assert.equal(await withFigures(document), document);
});

Deno.test("the chart of docs/benchmarks.md is what `deno task bench:docs` writes", async () => {
  assert.ok(readText("docs/benchmarks.md").includes("](benchmarks.svg)"));
  assert.equal(readText("docs/benchmarks.svg"), await chartOfFigures());
});
