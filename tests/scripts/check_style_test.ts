/** The style check: each rule with a file that keeps it and one that breaks it. */

import assert from "node:assert/strict";
import { checkStyle, type Excused } from "../../scripts/check_style.ts";
import { parseSource } from "../../scripts/checks/source_tree.ts";
import type { Neighbour } from "../../scripts/checks/covered_by_neighbour.ts";

const HEADER = "/** Owns an example. */\n";
const NONE_EXCUSED: Excused = { neighbours: [], signatures: [] };

/** The rules broken by a small tree, each with its line, the rule of tests left out. */
function brokenBy(path: string, text: string): string[] {
  return checkStyle([parseSource(path, text)], NONE_EXCUSED)
    .filter((fault) => fault.rule !== "untested")
    .map((fault) => `${fault.rule}:${fault.line}`);
}

function lines(count: number): string {
  return "// line\n".repeat(count);
}

Deno.test("checkStyle() counts lines of a file: 400 in src, 600 in tests and scripts", () => {
  for (const [path, most] of [["src/a.ts", 400], ["tests/a_test.ts", 600], ["scripts/a.ts", 600]]) {
    assert.deepEqual(brokenBy(path as string, HEADER + lines(Number(most) - 1)), []);
    const long = brokenBy(path as string, HEADER + lines(Number(most)));
    assert.deepEqual(long, [`file_length:${most}`]);
  }
});

Deno.test("checkStyle() counts the files of a folder of the product: 25", () => {
  const rulesOf = (folder: string, count: number) => {
    const paths = Array.from({ length: count }, (_, number) => `${folder}/a${number}.ts`);
    const inner = `${folder}/room/a.ts`;
    const sources = [...paths, inner].map((path) => parseSource(path, HEADER));
    return checkStyle(sources, NONE_EXCUSED)
      .filter(({ rule }) => rule === "folder_files").map(({ path }) => path);
  };
  assert.deepEqual(rulesOf("src/cli", 25), []);
  assert.deepEqual(rulesOf("src/cli", 26), ["src/cli/a0.ts"]);
  assert.deepEqual(rulesOf("tests/cli", 26), []);
});

Deno.test("checkStyle() counts lines of functions and methods: 70", () => {
  const body = (count: number) => "  step();\n".repeat(count);
  assert.deepEqual(brokenBy("src/a.ts", `${HEADER}function a() {\n${body(68)}}\n`), []);
  const forms = [
    `function a() {\n${body(69)}}\n`,
    `/** Its doc comment does not count. */\nexport async function a() {\n${body(69)}}\n`,
    `run(() => {\n${body(69)}});\n`,
    `const table = { a() {\n${body(69)}} };\n`,
  ];
  for (const text of forms) {
    const broken = brokenBy("src/a.ts", HEADER + text);
    assert.equal(broken.length, 1, text);
    assert.match(broken[0]!, /^function_length:/);
  }
});

Deno.test("checkStyle() refuses names that say nothing, of files and of folders", () => {
  const refused = [
    "src/utils.ts",
    "src/helpers/a.ts",
    "src/common/a.ts",
    "src/lib/a.ts",
    "tests/misc_test.ts",
    "src/domain/types.ts",
    "src/string_utils.ts",
  ];
  for (const path of refused) {
    assert.deepEqual(brokenBy(path, HEADER), ["refused_name:1"], path);
  }
  assert.deepEqual(brokenBy("src/domain/event_types.ts", HEADER), []);
  assert.deepEqual(brokenBy("src/domain/streamKey.ts", HEADER), ["snake_case:1"]);
});

Deno.test("checkStyle() keeps clock, randomness, network and environment in two files", () => {
  const refused = [
    "Date.now();",
    "new Date();",
    "Date();",
    "Math.random();",
    "crypto.getRandomValues(a);",
    "globalThis.crypto.getRandomValues(a);",
    "crypto.randomUUID();",
    "randomUUID();",
    'import { randomBytes } from "node:crypto";',
    "await fetch(url);",
    "globalThis.fetch(url);",
    'Deno.env.get("HOME");',
  ];
  for (const text of refused) {
    assert.deepEqual(brokenBy("src/a.ts", HEADER + text), ["refused_call:2"], text);
    assert.deepEqual(brokenBy("main.ts", HEADER + text), ["refused_call:2"], text);
    assert.deepEqual(brokenBy("src/host.ts", HEADER + text), [], text);
    assert.deepEqual(brokenBy("src/config.ts", HEADER + text), [], text);
    assert.deepEqual(brokenBy("tests/a_test.ts", HEADER + text), [], text);
  }
  const accepted = ["new Date(nowMs);", "app.fetch(request);", "// Date.now()", '"Math.random()";'];
  for (const text of accepted) {
    assert.deepEqual(brokenBy("src/a.ts", HEADER + text), [], text);
  }
});

Deno.test("checkStyle() wants JSON parsed by the one function that keeps keys apart", () => {
  const text = HEADER + "const a = JSON.parse(text);";
  assert.deepEqual(brokenBy("src/a.ts", text), ["json_parse:2"]);
  assert.deepEqual(brokenBy("main.ts", text), ["json_parse:2"]);
  assert.deepEqual(brokenBy("src/domain/json_text/a.ts", text), []);
  assert.deepEqual(brokenBy("tests/a_test.ts", text), []);
});

Deno.test("checkStyle() wants a doc comment at the head of each file", () => {
  assert.deepEqual(brokenBy("src/a.ts", "/** Owns a. */\nconst a = 1;"), []);
  assert.deepEqual(brokenBy("src/a.ts", "/**\n * Owns a.\n */\n"), []);
  for (const text of ["const a = 1;", "// Owns a.\n", "/* Owns a. */\n", "/** */\n", ""]) {
    assert.deepEqual(brokenBy("src/a.ts", text), ["header:1"], text);
  }
});

Deno.test("checkStyle() allows 100 columns, and more only where a long text is", () => {
  const name = "a".repeat(94);
  assert.deepEqual(brokenBy("src/a.ts", `${HEADER}${name} = 1;\n`), []);
  assert.deepEqual(brokenBy("src/a.ts", `${HEADER}${name}a = 1;\n`), []);
  assert.deepEqual(brokenBy("src/a.ts", `${HEADER}${name}aa = 1;\n`), ["line_length:2"]);
  assert.deepEqual(brokenBy("src/a.ts", `${HEADER}// ${name} to far\n`), ["line_length:2"]);
  for (const quote of ['"', "`", "/"]) {
    assert.deepEqual(brokenBy("src/a.ts", `${HEADER}f(${quote}${name}12345${quote});\n`), []);
  }
  const after = `${HEADER}f("short", ${name});\n`;
  assert.deepEqual(brokenBy("src/a.ts", after), ["line_length:2"]);
});

Deno.test("checkStyle() refuses marks of unfinished work", () => {
  for (const word of ["TO" + "DO", "FIX" + "ME"]) {
    assert.deepEqual(brokenBy("src/a.ts", `${HEADER}// ${word} later\n`), ["unfinished:2"]);
  }
  assert.deepEqual(brokenBy("src/a.ts", `${HEADER}const mastodon = 1;\n`), []);
});

Deno.test("checkStyle() refuses a test that runs alone", () => {
  const path = "tests/a_test.ts";
  assert.deepEqual(brokenBy(path, `${HEADER}Deno.test("a", run);`), []);
  assert.deepEqual(brokenBy(path, `${HEADER}Deno.test.only("a", run);`), ["test_alone:2"]);
  const option = `${HEADER}Deno.test({ name: "a", only: true, fn: run });`;
  assert.deepEqual(brokenBy(path, option), ["test_alone:2"]);
});

Deno.test("checkStyle() refuses default exports and files that only pass names on", () => {
  assert.deepEqual(brokenBy("src/a.ts", `${HEADER}export function a() {}`), []);
  assert.deepEqual(brokenBy("src/a.ts", `${HEADER}export default a;`), ["default_export:2"]);
  const marked = `${HEADER}export default function a() {}`;
  assert.deepEqual(brokenBy("src/a.ts", marked), ["default_export:2"]);
  assert.deepEqual(brokenBy("src/a.ts", `${HEADER}export * from "./b.ts";`), ["barrel:1"]);
  assert.deepEqual(brokenBy("sdk/src/core/mod.ts", `${HEADER}export * from "./b.ts";`), []);
});

Deno.test("checkStyle() wants `function` at top level, # for private, classes for errors", () => {
  assert.deepEqual(brokenBy("src/a.ts", `${HEADER}const a = () => 1;`), ["top_level_arrow:2"]);
  assert.deepEqual(brokenBy("src/a.ts", `${HEADER}function a() { return () => 1; }`), []);
  assert.deepEqual(brokenBy("src/a.ts", `${HEADER}class A extends Error {}`), []);
  assert.deepEqual(brokenBy("src/a.ts", `${HEADER}class A {}`), ["class:2"]);
  assert.deepEqual(brokenBy("src/kv/a.ts", `${HEADER}class A { #b = 1; }`), []);
  assert.deepEqual(brokenBy("src/kv/a.ts", `${HEADER}class A { private b = 1; }`), ["private:2"]);
});

Deno.test("checkStyle() counts a function within another for itself", () => {
  const inner = `  function b() {\n${"    step();\n".repeat(60)}  }\n`;
  const outer = (steps: number) => `function a() {\n${inner}${"  step();\n".repeat(steps)}}\n`;
  assert.deepEqual(brokenBy("src/a.ts", HEADER + outer(67)), []);
  assert.deepEqual(brokenBy("src/a.ts", HEADER + outer(68)), ["function_length:2"]);
});

function rulesOfTree(files: readonly string[], neighbours: readonly Neighbour[]): string[] {
  const sources = files.map((path) => parseSource(path, `${HEADER}export const a = 1;`));
  return checkStyle(sources, { ...NONE_EXCUSED, neighbours }).map((fault) => fault.rule);
}

Deno.test("checkStyle() wants a test for each file of src, or a neighbour that covers it", () => {
  assert.deepEqual(rulesOfTree(["src/kv/a.ts"], []), ["untested"]);
  assert.deepEqual(rulesOfTree(["src/kv/a.ts", "tests/kv/a_test.ts"], []), []);
  const row = { place: "src/kv/a.ts", test: "tests/kv/b_test.ts", reason: "a is half of b" };
  assert.deepEqual(rulesOfTree(["src/kv/a.ts", "tests/kv/b_test.ts"], [row]), []);
  assert.deepEqual(rulesOfTree(["tests/kv/b_test.ts"], [row]), ["neighbour"]);
  assert.deepEqual(rulesOfTree(["src/kv/a.ts"], [row]), ["neighbour"]);
  const both = ["src/kv/a.ts", "tests/kv/a_test.ts", "tests/kv/b_test.ts"];
  assert.deepEqual(rulesOfTree(both, [row]), ["neighbour"]);
  const folder = { ...row, place: "src/kv" };
  const three = ["src/kv/a.ts", "src/kv/c.ts", "tests/kv/b_test.ts"];
  assert.deepEqual(rulesOfTree(three, [folder]), []);
  assert.deepEqual(rulesOfTree(three, [{ ...folder, reason: "" }]), ["neighbour"]);
});

Deno.test("checkStyle() wants the same of the client, except of its entry points", () => {
  assert.deepEqual(rulesOfTree(["sdk/src/core/a.ts"], []), ["untested"]);
  assert.deepEqual(rulesOfTree(["sdk/src/core/a.ts", "tests/core/a_test.ts"], []), ["untested"]);
  assert.deepEqual(rulesOfTree(["sdk/src/core/a.ts", "tests/sdk/core/a_test.ts"], []), []);
  assert.deepEqual(rulesOfTree(["sdk/src/core/mod.ts"], []), []);
});

Deno.test("checkStyle() wants no test for a file that declares only types", () => {
  const text =
    `${HEADER}import type { B } from "./b.ts";\nexport interface A { b: B }\ntype C = 1;`;
  assert.deepEqual(checkStyle([parseSource("src/a.ts", text)], NONE_EXCUSED), []);
});

Deno.test("checkStyle() allows four positional parameters, of whatever kind of function", () => {
  const forms = [
    (list: string) => `function a(${list}) {}`,
    (list: string) => `const table = { a(${list}) {}, b: (${list}) => 1 };`,
    (list: string) => `class A extends Error { constructor(${list}) { super(); } }`,
    (list: string) => `export interface A { a(${list}): void }`,
    (list: string) => `export type A = (${list}) => void;`,
  ];
  for (const form of forms) {
    assert.deepEqual(brokenBy("src/a.ts", HEADER + form("a, b, c, d")), []);
    const broken = brokenBy("src/a.ts", HEADER + form("a, b, c, d, e"));
    assert.deepEqual([...new Set(broken)], ["parameters:2"], form("a, b, c, d, e"));
  }
  assert.deepEqual(brokenBy("src/a.ts", `${HEADER}function a(this: B, a, b, c, d) {}`), []);
  assert.deepEqual(brokenBy("src/a.ts", `${HEADER}function a(a, b, c, ...rest) {}`), []);
  const listed = `${HEADER}function a(a, ...[b, c, d, e]: B) {}`;
  assert.deepEqual(brokenBy("src/a.ts", listed), ["parameters:2"]);
});

Deno.test("checkStyle() excuses long signatures by rows, each for some and no more than it says", () => {
  const faultsOf = (functions: number, count: number, reason = "they are one key") => {
    const text = HEADER + "function a(a, b, c, d, e) {}\n".repeat(functions);
    const signatures = [{ place: "src/a.ts", count, reason }];
    return checkStyle([parseSource("src/a.ts", text)], { ...NONE_EXCUSED, signatures })
      .filter(({ rule }) => rule === "parameters").map(({ path }) => path);
  };
  const TABLE = "scripts/checks/style_tables.ts";
  assert.deepEqual(faultsOf(1, 1), []);
  assert.deepEqual(faultsOf(1, 2), []);
  assert.deepEqual(faultsOf(0, 1), [TABLE]);
  assert.deepEqual(faultsOf(2, 1), ["src/a.ts", "src/a.ts", TABLE]);
  assert.deepEqual(faultsOf(1, 1, ""), ["src/a.ts", TABLE]);
});

Deno.test("checkStyle() refuses two exported functions of one name in src", () => {
  const rulesOf = (...paths: string[]) =>
    checkStyle(
      paths.map((path) => parseSource(path, `${HEADER}export function a() {}\nfunction b() {}`)),
      NONE_EXCUSED,
    ).filter(({ rule }) => rule === "same_name").map(({ path, line }) => `${path}:${line}`);
  assert.deepEqual(rulesOf("src/kv/a.ts"), []);
  assert.deepEqual(rulesOf("src/kv/a.ts", "src/kv/c.ts"), ["src/kv/c.ts:2"]);
  const apart = ["src/http/a.ts", "tests/kv/a_test.ts", "scripts/a.ts"];
  assert.deepEqual(rulesOf("src/kv/a.ts", ...apart), []);
});
