/** The list of all files, which `deno task map` prints, says what their headers say. */

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

Deno.test("deno task map prints a row for each file, and may write nothing", async () => {
  const root = new URL("../../", import.meta.url);
  const { tasks } = JSON.parse(await Deno.readTextFile(new URL("deno.json", root)));
  const [program, ...args] = (tasks.map as string).split(" ");
  assert.equal(program, "deno");
  assert.ok(!args.some((argument) => /^(?:-A|--allow-all|--allow-write)/.test(argument)));
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: [...args, "src/runners"],
    cwd: root,
  }).output();
  assert.equal(code, 0);
  const rows = new TextDecoder().decode(stdout).matchAll(/^\| `(.*\.ts)` \| ./gm);
  const names: string[] = [];
  for await (const { name } of Deno.readDir(new URL("src/runners", root))) {
    if (name.endsWith(".ts")) names.push(name);
  }
  assert.deepEqual([...rows].map(([, name]) => name), names.sort());
});
