/** Every link of the references, to a heading or to a file, leads somewhere. */

import assert from "node:assert/strict";
import { readText } from "./markdown.ts";

const REFERENCES = [
  "src/cli/README.md",
  "src/http/README.md",
  "src/domain/handler/README.md",
  "src/domain/reaction/README.md",
  "src/wasm/examples/README.md",
];

/** The anchors of a file's headings, as repositories on the web make them. */
function anchorsOf(path: string): Set<string> {
  const titles = [...readText(path).matchAll(/^#+ (.*)$/gm)].map(([, title]) => title!);
  return new Set(
    titles.map((title) => title.toLowerCase().replace(/[^\w\- ]/g, "").replaceAll(" ", "-")),
  );
}

for (const path of REFERENCES) {
  Deno.test(`every link in ${path} leads somewhere`, () => {
    const folder = new URL(path, "file:///");
    for (const [, target] of readText(path).matchAll(/\]\(([^)]+)\)/g)) {
      const { pathname, hash } = new URL(target!, folder);
      const anchors = anchorsOf(pathname.slice(1));
      assert.ok(hash === "" || anchors.has(hash.slice(1)), target);
    }
  });
}
