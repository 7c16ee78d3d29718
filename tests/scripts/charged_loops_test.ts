/** The rule of charged loops: each form of a loop that keeps it, and each that breaks it. */

import assert from "node:assert/strict";
import { chargedLoops } from "../../scripts/checks/charged_loops.ts";
import { parseSource } from "../../scripts/checks/source_tree.ts";

const STRICT = "src/domain/handler/example.ts";

/** The lines of the faults found in a file of this text. */
function faultLines(path: string, text: string): number[] {
  return chargedLoops(parseSource(path, text)).map(({ line }) => line);
}

const LOOPS = [
  "for (const each of list) step(each);",
  "for (let index = 0; index < list.length; index++) step(index);",
  "for (const name in list) step(name);",
  "while (more()) step();",
  "do { step(); } while (more());",
  "list.some((each) => step(each));",
  "list.map(step);",
];

Deno.test("chargedLoops() refuses every form of a loop that draws on no budget", () => {
  for (const loop of LOOPS) {
    assert.deepEqual(faultLines(STRICT, `function run(list) {\n  ${loop}\n}\n`), [2], loop);
  }
});

Deno.test("chargedLoops() takes a loop that charges, or passes the budget on", () => {
  for (
    const loop of [
      "for (const each of list) charge(budget, 1);",
      "for (const each of list) { copy(each, budget); }",
      "list.every((each) => equal(each, evaluation.budget));",
    ]
  ) {
    assert.deepEqual(faultLines(STRICT, `function run(list, budget) {\n  ${loop}\n}\n`), [], loop);
  }
});

Deno.test("chargedLoops() takes a loop that says what bounds it, and no excuse that names nothing", () => {
  const loop = "for (const each of list) step(each);";
  const run = (comment: string) => `function run(list) {\n  ${comment}\n  ${loop}\n}\n`;
  assert.deepEqual(faultLines(STRICT, run("// Bounded: segments of one path.")), []);
  assert.deepEqual(faultLines(STRICT, run("// Bounded:")), [3]);
  assert.deepEqual(faultLines(STRICT, run("// It is short.")), [3]);
});

Deno.test("chargedLoops() takes all loops of a file whose header says what bounds them", () => {
  const loop = "function run(list) {\n  for (const each of list) step(each);\n}\n";
  const header = (line: string) => `/**\n * Owns an example.\n * ${line}\n */\n\n`;
  assert.deepEqual(faultLines(STRICT, header("Bounded: the text of one query.") + loop), []);
  assert.deepEqual(faultLines(STRICT, header("It is short.") + loop), [7]);
});

Deno.test("chargedLoops() takes loops that compile, but not those of what they make", () => {
  const loop = "for (const each of list) step(each);";
  assert.deepEqual(faultLines(STRICT, `function at(list, site) {\n  ${loop}\n}\n`), []);
  const made = `function at(list, site) {\n  return (evaluation) => {\n    ${loop}\n  };\n}\n`;
  assert.deepEqual(faultLines(STRICT, made), [3]);
});

Deno.test("chargedLoops() judges folders that run what clients size, and no others", () => {
  const text = "function run(list) {\n  for (const each of list) step(each);\n}\n";
  assert.deepEqual(faultLines("src/domain/saga/example.ts", text), [2]);
  assert.deepEqual(faultLines("src/domain/spec/example.ts", text), []);
  assert.deepEqual(faultLines("src/http/example.ts", text), []);
});
