/** Shrinking makes a failing world smaller as long as it still fails. */

import assert from "node:assert/strict";
import { createCensus } from "./census.ts";
import { describeWorld, shrinkWeather } from "./shrink.ts";
import type { Weather } from "./weather.ts";
import { runWorld } from "./world.ts";

const STORM: Weather = {
  machines: 3,
  clients: 3,
  operationsEach: 7,
  thinkMsMax: 1_000,
  latencyMsMax: 300,
  faultShare: 0.3,
  deathsInCalls: 2,
  deathsInTime: 2,
  outages: 2,
  skewMsMax: 30_000,
  clockJumps: 2,
  deploys: 2,
  poison: "lasting",
  isDirect: true,
  entrance: "http",
  receivers: "stubborn",
  hasProjections: true,
  hasAnchors: true,
};
const CALM: Weather = {
  machines: 1,
  clients: 1,
  operationsEach: 1,
  thinkMsMax: 50,
  latencyMsMax: 1,
  faultShare: 0,
  deathsInCalls: 0,
  deathsInTime: 0,
  outages: 0,
  skewMsMax: 0,
  clockJumps: 0,
  deploys: 0,
  poison: "none",
  isDirect: false,
  entrance: "service",
  receivers: "none",
  hasProjections: false,
  hasAnchors: false,
};

Deno.test("what always fails becomes the smallest world there is", async () => {
  assert.deepEqual(await shrinkWeather(STORM, () => Promise.resolve(true)), CALM);
});

Deno.test("what the fault needs stays, and nothing else", async () => {
  const fails = ({ machines, deathsInTime, operationsEach, poison }: Weather) =>
    Promise.resolve(machines * deathsInTime >= 4 && operationsEach > 2 && poison !== "none");
  assert.deepEqual(await shrinkWeather(STORM, fails), {
    ...CALM,
    operationsEach: 3,
    machines: 2,
    deathsInTime: 2,
    poison: "passing",
  });
});

Deno.test("a world that fails as it is and in no other way stays as it is", async () => {
  assert.deepEqual(await shrinkWeather(STORM, () => Promise.resolve(false)), STORM);
});

Deno.test("a given weather is that of the world, and its story tells of all writes and commits", async () => {
  const world = await runWorld(3, createCensus(), { ...CALM, operationsEach: 2 });
  assert.deepEqual(world.weather, { ...CALM, operationsEach: 2 });
  const lines = describeWorld(world).split("\n");
  assert.equal(
    lines.filter((line) => line.startsWith("a client writes ")).length,
    world.journal.writes.length,
  );
  assert.equal(lines.filter((line) => line.includes(" ms: version ")).length, world.commits.size);
});
