/**
 * `deno task torture -- --minutes 60`: runs every way of breaking the product in turn.
 *
 * Each run has a new seed, until the time is over. Prints each run with the command that
 * repeats it, and a table at the end. Exits with 1 if a run failed; its output is printed in
 * full.
 */

import {
  nameList,
  positiveNumber,
  readOptions,
  seedOption,
  taskCommand,
  WHOLE_NUMBER_MAX,
} from "./options.ts";
import { commandFor, describeRuns, type Run } from "./torture/summary.ts";
import { type Way, WAYS } from "./torture/ways.ts";

interface TortureOptions {
  readonly minutes: number;
  readonly seed: number;
  readonly only?: readonly string[];
  readonly scale: number;
}

const names = WAYS.map(({ name }) => name).join(", ");
const { minutes, seed: first, only, scale } = readOptions<TortureOptions>(
  taskCommand("torture", "Every way of breaking the product in turn, with new seeds.")
    .option("--minutes <number>", "no run but the first begins later", positiveNumber, 10)
    .option("--only <names>", `some of: ${names}`, nameList)
    .option("--scale <number>", "so many times the cases of each run", positiveNumber, 1)
    .addOption(seedOption()),
);
const ways = chooseWays(only).map((way) => (
  { ...way, cases: Math.max(1, Math.round(way.cases * scale)) }
));
const runs: Run[] = [];
const endsMs = performance.now() + minutes * 60_000;
console.log(`${minutes} minutes, seed ${first}: ${ways.map(({ name }) => name).join(", ")}\n`);
for (let number = 0; number === 0 || performance.now() < endsMs; number++) {
  const way = ways[number % ways.length]!;
  // Far apart, because some suites go through a range of seeds.
  const seed = 1 + (first + number * 1_000_003) % WHOLE_NUMBER_MAX;
  const leftMinutes = ((endsMs - performance.now()) / 60_000).toFixed(1);
  console.log(
    `${leftMinutes} minutes left: ${way.cases} ${way.unit}: ${commandFor({ way, seed })}`,
  );
  runs.push(await runOnce(way, seed));
}
console.log(`\n${describeRuns(runs)}`);
const failed = runs.filter(({ isGood }) => !isGood);
for (const run of failed) console.log(`failed: ${commandFor(run)}`);
Deno.exit(failed.length === 0 ? 0 : 1);

function chooseWays(only: readonly string[] | undefined): readonly Way[] {
  if (only === undefined) return WAYS;
  const unknown = only.find((name) => !WAYS.some((way) => way.name === name));
  if (unknown === undefined) return WAYS.filter(({ name }) => only.includes(name));
  console.error(`There is no way '${unknown}': ${names}`);
  Deno.exit(2);
}

async function runOnce(way: Way, seed: number): Promise<Run> {
  const beganMs = performance.now();
  const child = new Deno.Command(Deno.execPath(), {
    args: ["test", "--allow-all", "--no-check", way.path],
    env: { ...way.env(seed, way.cases), NO_COLOR: "1" },
    stdout: "piped",
    stderr: "piped",
  });
  const { code, stdout, stderr } = await child.output();
  const seconds = (performance.now() - beganMs) / 1000;
  if (code !== 0) {
    await Deno.stdout.write(stdout);
    await Deno.stdout.write(stderr);
  }
  return { way, seed, seconds, isGood: code === 0 };
}
