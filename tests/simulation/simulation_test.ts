/**
 * Thousands of small worlds, each from one number, in which every effect happens exactly once.
 * Nodes die, the engine fails, clocks jump, clients retry, and specs are deployed in between.
 */

import assert from "node:assert/strict";
import { createCensus, describeCensus, missingKinds } from "./census.ts";
import { judgeWorld } from "./judge.ts";
import { describeWorld, shrinkWeather } from "./shrink.ts";
import { createRandom } from "../crash/random.ts";
import { drawWeather, type Weather } from "./weather.ts";
import { type EndedWorld, runWorld } from "./world.ts";

const SEEDS = 1_000;
/** More failures than this teach nothing new in one run. */
const FAILED_MAX = 10;

const only = numberOf("SIMULATION_SEED");
const count = only === undefined ? numberOf("SIMULATION_SEEDS") ?? SEEDS : 1;
const first = only ?? numberOf("SIMULATION_FIRST") ?? 1;

Deno.test(`in ${count} worlds, from seed ${first} on, each effect happens once and in time`, async () => {
  const census = createCensus();
  const failed: string[] = [];
  for (let seed = first; seed < first + count && failed.length < FAILED_MAX; seed++) {
    const { world, faults } = await judgeWorld(seed, census);
    if (faults.length === 0) continue;
    failed.push(`seed ${seed}: ${faults.join("\n  ")}`);
    if (world !== undefined && failed.length === 1) failed.push(await tellSmallest(seed, world));
    console.log(`repeat with: SIMULATION_SEED=${seed} deno test -A tests/simulation`);
  }
  console.log(`${count} worlds:\n${describeCensus(census)}`);
  assert.deepEqual(failed, []);
  // A few worlds cannot meet every kind.
  if (count >= SEEDS) assert.deepEqual(missingKinds(census), []);
});

/** The weather of the seed, with everything that a world may have. */
function wholeWeather(seed: number): Weather {
  const drawn = drawWeather(createRandom(seed));
  return { ...drawn, entrance: "http", receivers: "flaky", hasProjections: true, hasAnchors: true };
}

Deno.test("the same seed is the same world: every commit, its time and what it wrote, every answer", async () => {
  const run = (seed: number) => runWorld(seed, createCensus(), wholeWeather(seed));
  for (let seed = first; seed < first + 5; seed++) {
    const [one, two] = [await run(seed), await run(seed)];
    assert.equal(one.trace, two.trace, `seed ${seed}`);
    assert.deepEqual(one.journal, two.journal);
    assert.deepEqual(one.arrivals, two.arrivals);
    assert.deepEqual(one.bundles, two.bundles);
    assert.ok(one.commits.size > 10);
  }
  assert.notEqual((await run(first)).trace, (await run(first + 1)).trace);
});

/** Shrinks the first failing world to what its failure needs, and describes it. */
async function tellSmallest(seed: number, { weather }: EndedWorld): Promise<string> {
  const judge = (smaller: Weather) => judgeWorld(seed, createCensus(), smaller);
  const smallest = await shrinkWeather(
    weather,
    async (smaller) => (await judge(smaller)).faults.length > 0,
  );
  const { world, faults } = await judge(smallest);
  return `the smallest world of seed ${seed} that fails:\n${faults.join("\n")}\n${
    world === undefined ? JSON.stringify(smallest) : describeWorld(world)
  }`;
}

function numberOf(name: string): number | undefined {
  const text = Deno.env.get(name);
  if (text === undefined) return undefined;
  assert.match(text, /^[1-9][0-9]*$/, `${name} is a number from 1 on`);
  return Number(text);
}
