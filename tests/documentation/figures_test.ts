/** The published figures, tables and chart, are those that were measured. */

import assert from "node:assert/strict";
import { chartOfFigures, withFigures } from "../../scripts/bench_docs.ts";
import { markdownFiles, readText, sectionOf, tableRows } from "./markdown.ts";

Deno.test("the tables of docs/benchmarks.md are what `deno task bench:docs` writes", async () => {
  const document = readText("docs/benchmarks.md");
  assert.equal(await withFigures(document), document);
});

Deno.test("the chart of docs/benchmarks.md is what `deno task bench:docs` writes", async () => {
  assert.ok(readText("docs/benchmarks.md").includes("](benchmarks.svg)"));
  assert.equal(readText("docs/benchmarks.svg"), await chartOfFigures());
});

Deno.test("every figure of a comparison is one of docs/benchmarks.md", () => {
  const measured = readText("docs/benchmarks.md");
  for (const path of markdownFiles("docs/comparisons")) {
    const text = readText(path);
    if (!text.includes("\n## Measured\n")) {
      assert.ok(text.includes("We have not measured it"), path);
      continue;
    }
    const cells = tableRows(sectionOf(text, "## Measured")).flatMap((row) => row.slice(1));
    assert.ok(cells.length >= 10, path);
    for (const cell of cells) {
      const [, figure] = /^([\d.,]+)(?:\/s| ms| bytes)$/.exec(cell) ?? [];
      assert.ok(figure !== undefined && measured.includes(` ${figure} `), `${path}: ${cell}`);
    }
  }
});
