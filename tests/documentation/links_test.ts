/** Every link of the documents, to a heading or to a file, leads somewhere. */

import assert from "node:assert/strict";
import { markdownFiles, readText } from "./markdown.ts";

const DOCUMENTS = [
  "README.md",
  "SECURITY.md",
  ...markdownFiles("docs"),
  "tests/README.md",
  "scripts/peers/README.md",
  "src/wasm/examples/README.md",
];
const ROOT = new URL("../../", import.meta.url);
const FENCED = /^```[\s\S]*?^```$/gm;
const HEADING = /^#{1,6} (.*)$/gm;
const LINK = /\]\(([^)\s]+)\)/g;

/** Without what is shown as code, which has no links and no headings. */
function proseOf(path: string): string {
  return readText(path).replaceAll(FENCED, "");
}

/** The anchors of a file's headings, as repositories on the web make them. */
function anchorsOf(path: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, title] of proseOf(path).matchAll(HEADING)) {
    const text = title!.replaceAll(LINK, "]");
    const anchor = text.toLowerCase().replaceAll(/[^\p{L}\p{N}_\- ]/gu, "").replaceAll(" ", "-");
    // A second heading of the same text gets a number.
    let count = 0;
    while (anchors.has(count === 0 ? anchor : `${anchor}-${count}`)) count++;
    anchors.add(count === 0 ? anchor : `${anchor}-${count}`);
  }
  return anchors;
}

async function checkLink(path: string, target: string): Promise<void> {
  if (/^https?:/.test(target)) return;
  const { pathname, hash } = new URL(target, new URL(path, "file:///"));
  const file = decodeURIComponent(pathname.slice(1));
  const { isFile } = await Deno.stat(new URL(file, ROOT)).catch(() => ({ isFile: false }));
  assert.ok(isFile, `${target}: there is no such file`);
  if (hash === "") return;
  assert.ok(anchorsOf(file).has(hash.slice(1)), `${target}: there is no such heading`);
}

for (const path of DOCUMENTS) {
  Deno.test(`every link in ${path} leads somewhere`, async () => {
    for (const [, target] of proseOf(path).matchAll(LINK)) await checkLink(path, target!);
  });
}

const WORDS_MAX = 2_000;
/** What scripts write: tables between marks, and a page that is the output of a task. */
const WRITTEN_BY_SCRIPTS = /<!-- figures of [\s\S]*?<!-- end of the figures[^>]*-->/g;
const OUTPUT_OF_TASKS = ["docs/siege-figures.md"];

Deno.test("no page that people write has more than 2,000 words", () => {
  const pages = markdownFiles("docs").filter((path) => !OUTPUT_OF_TASKS.includes(path));
  const long = pages.filter((path) => {
    const words = readText(path).replaceAll(WRITTEN_BY_SCRIPTS, "").match(/\S+/g) ?? [];
    return words.length > WORDS_MAX;
  });
  assert.deepEqual(long, []);
});

Deno.test("a how-to has less than 600 words, and its title says what it is about", () => {
  for (const path of markdownFiles("docs/how-to")) {
    const text = readText(path);
    assert.match(text, /^# How to \S/, path);
    assert.ok(text.match(/\S+/g)!.length < 600, path);
  }
});

Deno.test("the index of the documents leads to each of them that is for users", () => {
  const index = proseOf("docs/README.md");
  for (const path of markdownFiles("docs")) {
    const target = path.slice("docs/".length);
    // What contributors read is reached from ARCHITECTURE.md, pages of errors from their index.
    if (target === "README.md" || /^(decisions|internals|errors)\//.test(target)) continue;
    assert.ok(index.includes(`](${target})`), target);
  }
});
