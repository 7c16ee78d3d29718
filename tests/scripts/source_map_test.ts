/** The map of the sources says what their headers say. */

import assert from "node:assert/strict";
import { drawMap, firstSentence } from "../../scripts/checks/source_map.ts";
import { parseSource } from "../../scripts/checks/source_tree.ts";

Deno.test("firstSentence() takes the first sentence of a header of one line or of many", () => {
  assert.equal(firstSentence("/** One thing. Another. */\n"), "One thing");
  assert.equal(
    firstSentence("/**\n * One thing,\n * and more. Another.\n */\n"),
    "One thing, and more",
  );
  assert.equal(firstSentence("/** `a.ts` is no end */"), "`a.ts` is no end");
  assert.equal(firstSentence("const a = 1;"), "");
});

Deno.test("firstSentence() cuts a long sentence at a word", () => {
  const cut = firstSentence(`/** ${"word ".repeat(40)}*/`);
  assert.match(cut, /^(word )+…$/);
  assert.ok(cut.length < 100);
});

Deno.test("drawMap() lists folders and files in order", () => {
  const sources = [
    parseSource("src/kv/b.ts", "/** B. */"),
    parseSource("src/a.ts", "/** A | or. */"),
  ];
  assert.deepEqual(drawMap(sources).split("\n"), [
    "### `src/`",
    "",
    "| File | What it owns |",
    "|---|---|",
    "| `a.ts` | A \\| or |",
    "",
    "### `src/kv/`",
    "",
    "| File | What it owns |",
    "|---|---|",
    "| `b.ts` | B |",
  ]);
});
