/** Options of the programs that people run. */

import assert from "node:assert/strict";
import configuration from "../../deno.json" with { type: "json" };
import {
  nameList,
  positiveNumber,
  readOptions,
  seedOption,
  taskCommand,
  wholeNumber,
} from "../../scripts/options.ts";

function read(...args: string[]) {
  const command = taskCommand("try", "Tries something.")
    .option("--rounds <number>", "how many", wholeNumber, 200)
    .option("--minutes <number>", "how long", positiveNumber)
    .option("--only <names>", "which", nameList)
    .addOption(seedOption());
  return readOptions<Record<string, unknown>>(command, args);
}

Deno.test("readOptions() reads what is given behind a bare --, and has defaults for the rest", () => {
  const { seed, ...rest } = read("--", "--minutes", "0.5", "--only", "one, two words,");
  assert.deepEqual(rest, { rounds: 200, minutes: 0.5, only: ["one", "two words"] });
  assert.ok(Number.isInteger(seed) && Number(seed) > 0 && Number(seed) < 2 ** 31);
  assert.equal(read("--seed", "77").seed, 77);
});

Deno.test("wholeNumber() and positiveNumber() refuse what is none", () => {
  for (const text of ["", "0", "-1", "1.5", "1e3", "0x10", "2147483648", "99999999999", "ten"]) {
    assert.throws(() => wholeNumber(text), /whole number from 1 to 2147483647/, text);
  }
  assert.equal(wholeNumber("2147483647"), 2_147_483_647);
  for (const text of ["", "0", "-1", "NaN", "Infinity", "1 minute"]) {
    assert.throws(() => positiveNumber(text), /number above 0/, text);
  }
  assert.equal(positiveNumber("0.25"), 0.25);
});

Deno.test("a program that is called wrongly says what is wrong, and ends with 2", async () => {
  const run = (...args: string[]) =>
    new Deno.Command(Deno.execPath(), {
      args: ["run", "--allow-all", "--no-check", "tests/differential/differential_run.ts", ...args],
      env: { NO_COLOR: "1" },
    }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  const unknown = await run("--sead", "7");
  assert.equal(unknown.code, 2);
  assert.match(text(unknown.stderr), /unknown option '--sead'\n\(Did you mean --seed\?\)/);
  const wrong = await run("--operations", "none");
  assert.equal(wrong.code, 2);
  assert.match(text(wrong.stderr), /--operations <number>' argument 'none' is invalid/);
  const help = await run("--help");
  assert.equal(help.code, 0);
  assert.match(text(help.stdout), /--seed <number> +repeats a run \(default: a new one\)/);
});

/** Tasks that people call with options. */
const TASKS = Object.entries(configuration.tasks).flatMap(([task, given]) => {
  const command = typeof given === "string" ? given : given.command;
  const program = /^deno run (?:--allow-[^ ]+ )+((?:scripts|tests)[^ ]+\.ts)$/.exec(command)?.[1];
  const isOurs = program !== undefined && Deno.readTextFileSync(program).includes("taskCommand(");
  return isOurs ? [task] : [];
});

Deno.test("each task of people tells its options, with the permissions it has", async () => {
  assert.ok(TASKS.length >= 8, `only ${TASKS}`);
  for (const task of TASKS) {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["task", task, "--", "--help"],
      env: { NO_COLOR: "1" },
    }).output();
    const [told, fault] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    assert.equal(code, 0, fault);
    assert.ok(told!.startsWith(`Usage: deno task ${task} -- [options]`), `${task}: ${told}`);
  }
});
