/** What `deno task test` leaves of the message of a failed assertion. */

import assert from "node:assert/strict";
import { MESSAGE_CHARACTERS_MAX, shortenFailures } from "../../scripts/tests/short_failures.ts";

const SUMMARY = "\n FAILURES \n\nwhat is late => ./tests/a_test.ts:3:6\n\n" +
  "FAILED | 2 passed | 1 failed (1s)\n";

/** What is left of an output that comes in pieces of `size` bytes. */
async function shortened(output: string, size = output.length): Promise<string> {
  const sent: Uint8Array[] = [];
  const short = shortenFailures((bytes) => Promise.resolve(void sent.push(bytes)));
  const bytes = new TextEncoder().encode(output);
  for (let at = 0; at < bytes.length; at += size) await short.write(bytes.slice(at, at + size));
  await short.end();
  const decoder = new TextDecoder();
  return sent.map((each) => decoder.decode(each, { stream: true })).join("");
}

function failure(message: string, frames = "    at file:///tests/a_test.ts:4:9\n"): string {
  return `what is late => ./tests/a_test.ts:3:6\nerror: ${message}\n${frames}`;
}

/** The text between the heading of the failure and its stack. */
function messageIn(output: string): string {
  return /a_test\.ts:3:6\n([\s\S]*?)\n? {4}at /.exec(output)![1]!;
}

Deno.test("shortenFailures() passes an output without failures as it is, at once", async () => {
  const output = `a ... ok (1ms)\n${"x".repeat(9_000)}\nok | 3 passed | 0 failed (1s)\n`;
  assert.equal(await shortened(output), output);
  const sent: string[] = [];
  const short = shortenFailures((bytes) =>
    Promise.resolve(void sent.push(new TextDecoder().decode(bytes)))
  );
  await short.write(new TextEncoder().encode("a test that takes its time ..."));
  assert.deepEqual(sent, ["a test that takes its time ..."]);
});

Deno.test("shortenFailures() passes a message of 500 characters, with its colours", async () => {
  const text = "m".repeat(MESSAGE_CHARACTERS_MAX - "error: ".length - 1);
  const message = `\x1b[31m${text}\x1b[0m`;
  const output = `one ... FAILED (1ms)\n\n\x1b[1m ERRORS \x1b[0m\n\n${failure(message)}${SUMMARY}`;
  assert.equal(await shortened(output), output);
});

Deno.test("shortenFailures() cuts what is longer to 500 with a note of the command that shows it", async () => {
  for (const length of [501, 2_000, 200_000]) {
    const message = "m".repeat(length - "error: ".length - 1);
    const output = await shortened(`\n ERRORS \n\n${failure(message)}${SUMMARY}`);
    const left = messageIn(output);
    assert.ok(left.length <= MESSAGE_CHARACTERS_MAX, `${left.length}`);
    const [text, note] = left.split("\n");
    assert.match(text!, /^error: m{300,}$/);
    assert.equal(
      note,
      `[${length - text!.length} characters more: deno test -A ./tests/a_test.ts]`,
    );
    assert.ok(output.endsWith(SUMMARY));
    assert.ok(output.includes("    at file:///tests/a_test.ts:4:9\n"));
  }
});

Deno.test("shortenFailures() keeps a note within 500 where the path is long", async () => {
  const path = `./tests/${"folder/".repeat(12)}a_test.ts`;
  const told = failure("m".repeat(1_000_000)).replace("./tests/a_test.ts", path);
  const left = messageIn(await shortened(`\n ERRORS \n\n${told}${SUMMARY}`));
  assert.ok(left.includes(path));
  assert.ok(left.length <= MESSAGE_CHARACTERS_MAX, `${left.length}`);
});

Deno.test("shortenFailures() cuts messages of many lines, of causes, and of what no test has caught", async () => {
  const lines = failure("+ actual - expected\n" + "-   { a: 1 },\n".repeat(400));
  const cause = failure("outer", "    at a (file:///a.ts:1:1)\n") +
    `Caused by: Error: ${"inner ".repeat(300)}\n    at file:///tests/a_test.ts:1:62\n`;
  const uncaught = "./tests/a_test.ts (uncaught error)\nerror: (in promise) Error: " +
    `${"late ".repeat(300)}\n    at file:///tests/a_test.ts:1:57\nThis error was not caught.\n`;
  for (const told of [lines, cause, uncaught]) {
    const output = await shortened(`\n ERRORS \n\n${told}${SUMMARY}`);
    assert.match(output, /\n\[\d+ characters more: deno test -A \.\/tests\/a_test\.ts\]\n/);
    assert.ok(output.length < 900, output);
    assert.ok(output.endsWith(SUMMARY));
  }
});

Deno.test("shortenFailures() leaves the failure behind a long one whole", async () => {
  const short = failure("Expected values to be strictly equal:\n\n1 !== 2\n");
  const output = await shortened(`\n ERRORS \n\n${failure("m".repeat(900))}\n${short}${SUMMARY}`);
  assert.ok(output.includes(short));
});

Deno.test("shortenFailures() gives the same however the output is cut into pieces", async () => {
  const output = "é ... ok (1ms)\n\n ERRORS \n\n" + failure("é".repeat(700)) + "\n" +
    failure("two lines\n\nof it") + SUMMARY;
  const whole = await shortened(output);
  for (const size of [1, 2, 3, 7, 64]) assert.equal(await shortened(output, size), whole);
});

Deno.test("shortenFailures() tells what it has heard of a run that ends in the middle", async () => {
  const output = "\n ERRORS \n\nwhat is late => ./tests/a_test.ts:3:6\nerror: it ended";
  assert.equal(await shortened(output), `${output}\n`);
});

Deno.test("deno task test shows at most 500 characters of a failed comparison", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/long_test.ts`;
    await Deno.writeTextFile(
      path,
      `import assert from "node:assert/strict";\n` +
        `Deno.test("long", () => assert.equal("a".repeat(9_000), "b".repeat(9_000)));\n`,
    );
    const { code, stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "scripts/run_tests.ts", path],
      cwd: new URL("../../", import.meta.url),
      env: { NO_COLOR: "1" },
    }).output();
    const output = new TextDecoder().decode(stdout);
    assert.equal(code, 1);
    assert.ok(output.length < 1_500, output);
    assert.match(output, /\n\[1\d{4} characters more: deno test -A \S*long_test\.ts\]\n/);
    assert.match(output, /\nFAILED \| 0 passed \| 1 failed \(/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
