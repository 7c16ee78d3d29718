/** The program behind `deno task test`: what it counts, and what it gives a process of its own. */

import assert from "node:assert/strict";
import { CLUSTER_SUITES, CLUSTER_TESTS, ordinaryTests } from "../../scripts/tests/suites.ts";
import { addSummaries, formatSummary, readSummary } from "../../scripts/tests/summary.ts";
import { testFilesOf } from "../support/test_files.ts";

const ROOT = new URL("../../", import.meta.url);

Deno.test("readSummary() reads the last summary, through colours", () => {
  const output = "ok | 900 passed | 0 failed (1s)\n" +
    "\x1b[31mFAILED\x1b[0m | 7 passed (20 steps) | 2 failed (5 steps) | 3 ignored (1 step) (2m3s)\n" +
    "error: Test failed\n";
  assert.deepEqual(readSummary(output, false), {
    passed: 7,
    failed: 2,
    ignored: 3,
    failures: [],
  });
});

Deno.test("readSummary() names each test that failed once, with its place and reason", () => {
  const output = "ok | 3 passed | 0 failed (1s)\n\n ERRORS \n\n" +
    "what is late => ./tests/a_test.ts:3:6\nerror: AssertionError: 1\n  2\n    at f (a.ts:1:2)\nb\n\n FAILURES \n\n" +
    "\x1b[1mwhat is late\x1b[0m => ./tests/a_test.ts:3:6\n" +
    "(in step) => not a place\n\nFAILED | 2 passed | 1 failed (1s)\n";
  const failure = "what is late => ./tests/a_test.ts:3:6\n    error: AssertionError: 1\n      2";
  assert.deepEqual(readSummary(output, false).failures, [failure]);
  assert.deepEqual(readSummary(output, true).failures, []);
});

Deno.test("readSummary() counts a run that broke as one failure", () => {
  const { failures, ...silent } = readSummary("", true);
  assert.deepEqual(silent, { passed: 0, failed: 1, ignored: 0 });
  assert.deepEqual(failures, ["a run ended without its summary, at: before its first test"]);
  const crashed = readSummary("ok | 5 passed | 0 failed (1s)\n", false);
  assert.deepEqual(crashed, { passed: 5, failed: 1, ignored: 0, failures: [] });
});

Deno.test("readSummary() names the test in which a run was killed", () => {
  const output = "running 2 tests from ./tests/a_test.ts\nwhat is quick ... ok (3ms)\n" +
    "\nrunning 3 tests from ./tests/b_test.ts\nwhat is quick too ... ok (3ms)\n" +
    "what never ends ... ";
  assert.deepEqual(readSummary(output, false).failures, [
    "a run ended without its summary, at: what never ends ... of ./tests/b_test.ts",
  ]);
});

Deno.test("formatSummary() writes what readSummary() and the runner's count read", () => {
  const parts = [{ passed: 3, failed: 0, ignored: 1, failures: [] }, {
    passed: 1_200,
    failed: 0,
    ignored: 0,
    failures: [],
  }];
  const total = addSummaries(parts);
  assert.deepEqual(total, { passed: 1_203, failed: 0, ignored: 1, failures: [] });
  assert.equal(formatSummary(total, 185), "ok | 1203 passed | 0 failed | 1 ignored (3m5s)");
  assert.deepEqual(readSummary(formatSummary(total, 185), true), total);
  const failing = { passed: 1, failed: 2, ignored: 0, failures: [] };
  assert.deepEqual(readSummary(formatSummary(failing, 1), false), failing);
});

Deno.test("the tests that need a cluster are exactly those left out of the ordinary run", async () => {
  const found: string[] = [];
  for (const path of await testFilesOf(["tests"])) {
    const text = await Deno.readTextFile(new URL(path, ROOT));
    const imports = [...text.matchAll(/^import .*? from "(.*?)";$|^\} from "(.*?)";$/gm)];
    const names = imports.map(([, one, many]) => one ?? many ?? "");
    if (names.some((name) => /\/(foundationdb_cluster|cluster_process)\.ts$/.test(name))) {
      found.push(path);
    }
  }
  assert.deepEqual(found.sort(), [...CLUSTER_TESTS].sort());
  const paths = CLUSTER_SUITES.flat().flatMap(({ paths }) => paths);
  for (const path of CLUSTER_TESTS) {
    assert.ok(paths.some((place) => path === place || path.startsWith(`${place}/`)), path);
  }
});

Deno.test("each test that needs no cluster is in the ordinary run, once", async () => {
  const { serving, computing } = await ordinaryTests();
  const all = await testFilesOf(["tests", ...CLUSTER_TESTS.map((path) => `!${path}`)]);
  assert.ok(all.length > 400);
  const processes = [...serving, ...computing];
  assert.deepEqual(processes.flat().sort(), all.sort());
  for (const files of processes) assert.ok(files.length > 10);
});

Deno.test("tests that call modules are not among those that wait for the processor", async () => {
  const { computing } = await ordinaryTests();
  assert.equal(computing.length, 2);
  for (const path of computing.flat()) {
    const text = await Deno.readTextFile(new URL(path, ROOT));
    assert.doesNotMatch(text, /withModules|withPool|openPool/, path);
  }
});
