/**
 * Fails where a comment or a Markdown file cites what is not in the repository: a page or heading
 * that is not there, a link that leads nowhere, a text from somewhere else. Code cites pages by
 * their path, with a heading in quotation marks behind a comma where the page is long. The rules
 * are in `checks/citation_rules.ts`. Prints `file:line: [rule] message`; exits 1.
 */

import { checkCitations, type Page } from "./checks/citation_rules.ts";
import { readSources, reportAndExit } from "./checks/source_tree.ts";

/** Copies of what others have published, what is built, and what belongs to the machine. */
const LEFT_OUT = new Set([
  ".git",
  "data",
  "node_modules",
  "src/wasm/examples/rust/target",
  "tests/vendor",
]);

async function readPages(folder: string): Promise<Page[]> {
  const pages: Page[] = [];
  for await (const { name, isDirectory, isFile } of Deno.readDir(folder)) {
    const path = folder === "." ? name : `${folder}/${name}`;
    if (isDirectory && !LEFT_OUT.has(path)) pages.push(...await readPages(path));
    if (isFile && name.endsWith(".md")) pages.push({ path, text: await Deno.readTextFile(path) });
  }
  return pages;
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path === "" ? "." : path);
    return true;
  } catch {
    return false;
  }
}

const sources = await readSources([
  "main.ts",
  "src",
  "sdk",
  "console/src",
  "examples",
  "tests",
  "scripts",
]);
const pages = await readPages(".");
const faults = checkCitations(sources, { pages, exists });
reportAndExit("citations", sources.length + pages.length, faults);
