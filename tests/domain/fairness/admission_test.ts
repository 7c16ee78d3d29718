/** Requests are admitted a few at a time, as far as a turn has time for them. */

import assert from "node:assert/strict";
import { type Admission, openAdmission } from "../../../src/domain/fairness/admission.ts";

interface World {
  readonly admission: Admission;
  /** Owners of the requests that have begun, with the turn in which they did. */
  readonly begun: [owner: string, turn: number][];
  /** A request that takes so long, and waits for nothing. */
  ask(owner: string, ms: number): Promise<void>;
  /** Runs turns until all requests have begun. Returns the longest of them in milliseconds. */
  run(): Promise<number>;
}

function openWorld(): World {
  let [nowMs, turn, asked, endTurn] = [0, 0, 0, () => {}];
  const admission = openAdmission({
    nowMs: () => nowMs,
    next: () => new Promise((resolve) => endTurn = resolve),
  });
  const begun: World["begun"] = [];

  async function ask(owner: string, ms: number): Promise<void> {
    asked++;
    if (!admission.enter()) await admission.wait(owner);
    begun.push([owner, turn]);
    // A request awaits many things that are there already.
    for (let steps = 0; steps < 12; steps++) await undefined;
    nowMs += ms;
  }

  async function run(): Promise<number> {
    let longestMs = 0;
    for (let beganMs = nowMs; turn < 1_000; turn++, beganMs = nowMs) {
      await new Promise((resolve) => setTimeout(resolve));
      longestMs = Math.max(longestMs, nowMs - beganMs);
      endTurn();
      if (begun.length === asked) return longestMs;
    }
    throw new Error(`${begun.length} of ${asked} have begun`);
  }

  return { admission, begun, ask, run };
}

function askMany({ ask }: World, owner: string, count: number, ms: number): void {
  for (let asked = 0; asked < count; asked++) void ask(owner, ms);
}

Deno.test("many requests that take long begin one in a turn, all but the first few", async () => {
  const world = openWorld();
  askMany(world, "a", 100, 15);
  const longestMs = await world.run();
  const perTurn = Map.groupBy(world.begun, ([, turn]) => turn);
  assert.equal(perTurn.get(0)!.length, 8, "nobody knows yet what they cost");
  assert.deepEqual(
    new Set([...perTurn.values()].slice(1).map(({ length }) => length)),
    new Set([1]),
  );
  assert.equal(longestMs, 8 * 15);
});

Deno.test("a turn has as many quick requests as fit into four milliseconds", async () => {
  const world = openWorld();
  askMany(world, "a", 200, 0.125);
  await world.run();
  const perTurn = [...Map.groupBy(world.begun, ([, turn]) => turn).values()];
  assert.deepEqual(perTurn.map(({ length }) => length), [32, 32, 32, 32, 32, 32, 8]);
});

Deno.test("quick requests behind some that took long begin many in a turn again", async () => {
  const world = openWorld();
  askMany(world, "a", 8, 15);
  askMany(world, "a", 100, 0.0625);
  await world.run();
  const perTurn = [...Map.groupBy(world.begun, ([, turn]) => turn).values()];
  // In the second turn 1, 2 and 4 begin, then 8 at a time.
  assert.deepEqual(perTurn.map(({ length }) => length), [8, 1 + 2 + 4 + 8 * 8, 29]);
});

Deno.test("an owner's request begins soon, however many of another one wait", async () => {
  const world = openWorld();
  askMany(world, "a", 300, 15);
  askMany(world, "b", 3, 1);
  await world.run();
  const places = world.begun.flatMap(([owner], at) => owner === "b" ? [at] : []);
  assert.deepEqual(places, [9, 11, 13], "they take turns behind the first eight");
});

Deno.test("requests of an owner begin in the order in which they came", async () => {
  const { admission } = openWorld();
  const order: number[] = [];
  while (admission.enter());
  const all = Array.from({ length: 50 }, async (_, number) => {
    await admission.wait("a");
    order.push(number);
  });
  assert.equal(admission.waiting, 50);
  assert.equal(admission.waitingOf("a"), 50);
  await Promise.all(all);
  assert.deepEqual(order, Array.from({ length: 50 }, (_, number) => number));
  assert.equal(admission.waiting, 0);
});

Deno.test("a request that comes alone does not wait, turn after turn", async () => {
  const world = openWorld();
  for (let turns = 0; turns < 10; turns++) {
    const asking = world.ask("a", 5);
    assert.equal(world.admission.waiting, 0);
    await asking;
    await world.run();
  }
});
