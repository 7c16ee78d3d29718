/** The last line of a full run: its counts come from the test runner's own summary. */

import assert from "node:assert/strict";

/** What `count_results` makes of an output and an exit code. */
async function countResults(output: string, status: number): Promise<string> {
  const child = new Deno.Command("bash", {
    args: ["-c", `. .ci/count_results.sh; count_results ${status}`],
    cwd: new URL("../../", import.meta.url),
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(output));
  await writer.close();
  const { stdout } = await child.output();
  return new TextDecoder().decode(stdout).trim();
}

Deno.test("count_results reads a summary of tests that all passed", async () => {
  const output = "running 2 tests\na ... ok (1ms)\n\nok | 123 passed | 0 failed (4s)\n";
  assert.equal(await countResults(output, 0), "123 0");
});

Deno.test("count_results leaves steps, ignored and filtered tests out", async () => {
  const output = "FAILED | 7 passed (20 steps) | 2 failed (5 steps) | 3 ignored (1 step) (2m3s)\n" +
    "error: Test failed\n";
  assert.equal(await countResults(output, 1), "7 2");
  const filtered = "ok | 5 passed (3 steps) | 0 failed | 2 filtered out (9ms)\n";
  assert.equal(await countResults(filtered, 0), "5 0");
});

Deno.test("count_results reads through colours", async () => {
  const output = "\x1b[0m\x1b[32mok\x1b[0m | 22 passed | 0 failed \x1b[38;5;245m(428ms)\x1b[0m\n";
  assert.equal(await countResults(output, 0), "22 0");
});

Deno.test("count_results takes the last summary, not one that a test printed", async () => {
  const output = "ok | 900 passed | 0 failed (1s)\nok | 3 passed | 0 failed (2s)\n";
  assert.equal(await countResults(output, 0), "3 0");
});

Deno.test("count_results counts a run without a summary as one failure", async () => {
  assert.equal(await countResults("error: Type checking failed.\n", 1), "0 1");
  assert.equal(await countResults("", 0), "0 1");
});

Deno.test("count_results counts a failed run without a failed test as one", async () => {
  assert.equal(await countResults("ok | 10 passed | 0 failed (1s)\n", 124), "10 1");
});
