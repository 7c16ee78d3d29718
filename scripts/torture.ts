/**
 * `deno task torture -- --minutes 60`: every way of breaking the product in turn, with new seeds,
 * until the time is over. Prints each run with how to repeat it, and a table at the end; exits 1
 * where one failed, which is printed whole. `--only simulation,histories` takes some ways,
 * `--seed 7` other seeds, `--scale 0.1` a tenth of the cases in each run.
 */

import { parseArgs } from "node:util";
import { commandFor, describeRuns, type Run } from "./torture/summary.ts";
import { type Way, WAYS } from "./torture/ways.ts";

const SEED_MAX = 2 ** 31 - 1;

const { values } = parseArgs({
  // A bare `--` is what `deno task torture -- ...` leaves in front.
  args: Deno.args.filter((argument) => argument !== "--"),
  options: {
    minutes: { type: "string", default: "10" },
    seed: { type: "string" },
    only: { type: "string" },
    scale: { type: "string", default: "1" },
  },
});
const minutes = Number(values.minutes);
const first = Number(values.seed ?? 1 + Math.floor(Math.random() * SEED_MAX));
if (!(minutes > 0) || !Number.isSafeInteger(first) || first < 1 || first > SEED_MAX) {
  console.error(`--minutes is a number above 0, --seed a whole number from 1 to ${SEED_MAX}`);
  Deno.exit(2);
}
const scale = Number(values.scale);
if (!(scale > 0)) {
  console.error("--scale is a number above 0");
  Deno.exit(2);
}
const ways = chooseWays(values.only).map((way) => (
  { ...way, cases: Math.max(1, Math.round(way.cases * scale)) }
));
const runs: Run[] = [];
const endsMs = performance.now() + minutes * 60_000;
console.log(`${minutes} minutes, seed ${first}: ${ways.map(({ name }) => name).join(", ")}\n`);
for (let number = 0; performance.now() < endsMs; number++) {
  const way = ways[number % ways.length]!;
  // Far apart, for some suites go through a range of seeds.
  const seed = 1 + (first + number * 1_000_003) % SEED_MAX;
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

function chooseWays(only: string | undefined): readonly Way[] {
  if (only === undefined) return WAYS;
  const names = only.split(",");
  const unknown = names.filter((name) => !WAYS.some((way) => way.name === name));
  if (unknown.length === 0) return WAYS.filter(({ name }) => names.includes(name));
  console.error(`There is no way '${unknown[0]}': ${WAYS.map(({ name }) => name).join(", ")}`);
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
