/** The check of citations: each rule with an example that keeps it and one that breaks it. */

import assert from "node:assert/strict";
import { checkCitations, type Page } from "../../scripts/checks/citation_rules.ts";
import { commentsOf } from "../../scripts/checks/comments.ts";
import { parseSource } from "../../scripts/checks/source_tree.ts";

const PAGES: readonly Page[] = [
  {
    path: "docs/reading.md",
    text: "# Reading\n\n## `GET /{type}`\n\n## Order of checks\n\n```sh\n# no heading\n```\n",
  },
  { path: "docs/decisions/0001-a.md", text: "# A decision\n" },
];
const FILES = new Set([
  "src/http/reply.ts",
  "src/http",
  "docs",
  "docs/decisions",
  "examples/shop/src/orders.ts",
  ...PAGES.map(({ path }) => path),
]);

/** The faults of some comments and pages, as `path:line rule`. */
function faultsOf(code: string, pages: readonly Page[] = []): string[] {
  const repository = {
    pages: [...PAGES, ...pages],
    exists: (path: string) => FILES.has(path) || pages.some((page) => page.path === path),
  };
  return checkCitations([parseSource("src/a.ts", code)], repository)
    .map(({ path, line, rule }) => `${path}:${line} ${rule}`);
}

function faultsOfPage(text: string, path = "docs/page.md"): string[] {
  return faultsOf("", [{ path, text }]);
}

Deno.test("checkCitations() accepts pages that are there, and headings of theirs", () => {
  for (
    const comment of [
      "/** See docs/reading.md. */",
      '/** `docs/reading.md`, "Order of checks": all of them. */',
      '/** docs/reading.md, "GET /{type}". */',
      '/** docs/reading.md, "GET /{type}" and "Order of checks". */',
      "// docs/reading.md#order-of-checks",
      "/** docs/decisions/0001-a.md says why. */",
      '/** docs/reading.md: "what it says" is no heading. */',
    ]
  ) assert.deepEqual(faultsOf(comment), [], comment);
});

Deno.test("checkCitations() refuses a page that is not there, whoever cites it", () => {
  assert.deepEqual(faultsOf("/** See docs/writing.md. */"), ["src/a.ts:1 no_page"]);
  assert.deepEqual(faultsOf("\n\n// See src/README.md."), ["src/a.ts:3 no_page"]);
  assert.deepEqual(faultsOfPage("See `docs/writing.md`."), ["docs/page.md:1 no_page"]);
});

Deno.test("checkCitations() refuses a heading that is not there, one in a fenced block too", () => {
  for (
    const cited of [
      'docs/reading.md, "Order"',
      "docs/reading.md#order",
      'docs/reading.md, "no heading"',
      'docs/reading.md, "GET /{type}" and "POST"',
    ]
  ) assert.deepEqual(faultsOf(`/** ${cited}. */`), ["src/a.ts:1 no_heading"], cited);
});

Deno.test("checkCitations() reads a citation that goes over the end of a line", () => {
  const block = '/**\n * One.\n *\n * docs/reading.md, "Order of\n * checks".\n */';
  assert.deepEqual(faultsOf(block), []);
  assert.deepEqual(faultsOf(block.replace("checks", "things")), ["src/a.ts:4 no_heading"]);
  const lines = '// See docs/reading.md,\n// "Order of\n// checks".\nconst a = 1; // docs/b.md';
  assert.deepEqual(faultsOf(lines), ["src/a.ts:4 no_page"]);
});

for (
  const foreign of [
    "Decisions, section 14.",
    "decisions, sections 10, 11 and 13",
    "Decisions 11 and 12.",
    'Decisions, "Geo": no more.',
    'decisions: "Store unreachable"',
    'Decided in "Reads".',
    'Spec: "Anchors".',
    'spec: "Anchors".',
    'Interface, "Limits".',
    "interface.md",
    "decisions.md",
    "architecture.md",
    "rooms.md",
    "conventions.md",
    "EXT `GET /`",
  ]
) {
  Deno.test(`checkCitations() refuses '${foreign}', which is of no page here`, () => {
    assert.deepEqual(faultsOf(`/** ${foreign} */`), ["src/a.ts:1 foreign"]);
    assert.deepEqual(faultsOf(`/**\n * ${foreign.replaceAll(" ", "\n * ")}\n */`), [
      "src/a.ts:2 foreign",
    ]);
    assert.deepEqual(faultsOfPage(`One.\n${foreign}\n`), ["docs/page.md:2 foreign"]);
  });
}

Deno.test("checkCitations() leaves words alone that only look like such", () => {
  for (
    const text of [
      "ARCHITECTURE.md and docs/decisions",
      "a spec: its types, TEXT, NEXT, EXTRA",
      "The decision is made in two steps",
      "an interface, which is a type",
    ]
  ) {
    assert.deepEqual(faultsOf(`/** ${text} */`), [], text);
    assert.deepEqual(faultsOfPage(text), [], text);
  }
});

Deno.test("checkCitations() reads comments alone, not texts and patterns of the code", () => {
  const code =
    'const a = "Spec: \\"x\\" docs/none.md"; // a\nconst b = /EXT\\/\\/ docs/none.md/;\n' +
    "const c = `// EXT ${1 /* one */}`;\n";
  assert.deepEqual(faultsOf(code), []);
});

Deno.test("checkCitations() follows the links of a page, from where that is", () => {
  const links = "[a](reading.md) [b](reading.md#order-of-checks) [c](#title) [d](decisions/) " +
    "[e](../src/http/reply.ts) [f](https://example.org/x) `[g](none.md)`";
  assert.deepEqual(faultsOfPage(`# Title\n\n${links}\n`), []);
  assert.deepEqual(faultsOfPage("[a](writing.md)"), ["docs/page.md:1 no_page"]);
  assert.deepEqual(faultsOfPage("[a](reading.md#checks)"), ["docs/page.md:1 no_heading"]);
  assert.deepEqual(faultsOfPage("\n[a](#title)"), ["docs/page.md:2 no_heading"]);
  assert.deepEqual(faultsOfPage("[a](docs/reading.md)", "PAGE.md"), []);
});

Deno.test("checkCitations() looks for the files that a page names between backticks", () => {
  assert.deepEqual(faultsOfPage("`src/http/reply.ts`, `src/http/`, `src/*.ts`, `http/x.ts`"), []);
  assert.deepEqual(faultsOfPage("`src/http/answers.ts`"), ["docs/page.md:1 no_file"]);
  assert.deepEqual(faultsOfPage("`tests/none/`"), ["docs/page.md:1 no_file"]);
  assert.deepEqual(faultsOfPage("```\n`src/http/answers.ts`\n```\n"), []);
});

Deno.test("checkCitations() looks beside the page for what a page among the code names", () => {
  const named = "`http/reply.ts`, `http/`, `http/*.ts`, `text/plain`, `src/http/`";
  assert.deepEqual(faultsOfPage(named, "src/README.md"), []);
  assert.deepEqual(faultsOfPage("`http/answers.ts`", "src/README.md"), ["src/README.md:1 no_file"]);
  assert.deepEqual(faultsOfPage("`https/`", "src/README.md"), ["src/README.md:1 no_file"]);
});

Deno.test("checkCitations() looks into a project to copy for what its own pages name", () => {
  const page = "examples/shop/README.md";
  assert.deepEqual(faultsOfPage("`src/orders.ts`", page), []);
  assert.deepEqual(faultsOfPage("`src/http/reply.ts`", page), [`${page}:1 no_file`]);
});

Deno.test("checkCitations() refuses the name of a file that was renamed, in comments and pages", () => {
  assert.deepEqual(faultsOf("// a.ts, `src/a.ts`, ../a.ts, *.ts, <kind>_work.ts, Intl.ts"), []);
  assert.deepEqual(faultsOf("// See\n// `b.ts`."), ["src/a.ts:2 no_file"]);
  assert.deepEqual(faultsOf("/** See `http/a.ts`. */"), ["src/a.ts:1 no_file"]);
  assert.deepEqual(faultsOfPage("    a.ts -- b.ts"), ["docs/page.md:1 no_file"]);
});

Deno.test("commentsOf() finds every comment, each with its lines", () => {
  const code = [
    "#!/usr/bin/env deno",
    "/** Header, */",
    'import { a } from "b"; // beside,',
    "",
    "// two",
    "// lines,",
    "function f(/* within, */ x = [ // deep,",
    "  1,",
    "  // last,",
    "]) {",
    "  return `${x /* nested, */}`;",
    "  // before the end,",
    "}",
    "// end",
  ].join("\n");
  const comments = commentsOf(parseSource("src/a.ts", code));
  assert.deepEqual(comments.map(({ text, lineAt }) => [lineAt(0), text]), [
    [2, "Header,"],
    [3, "beside,"],
    [5, "two lines,"],
    [7, "within,"],
    [7, "deep,"],
    [9, "last,"],
    [11, "nested,"],
    [12, "before the end,"],
    [14, "end"],
  ]);
});
