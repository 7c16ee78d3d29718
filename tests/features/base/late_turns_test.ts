/** A turn that takes long delays its own environment alone, and not too many go on at once. */

import assert from "node:assert/strict";
import {
  LATE_TURNS_MAX,
  type LateTurns,
  openLateTurns,
  SLOW_TURNS_MAX,
} from "../../../src/features/base/late_turns.ts";
import { EngineUnavailable } from "../../../src/kv/engine.ts";
import { type FakeHost, fakeHost } from "../../support/fake_host.ts";

interface World {
  readonly host: FakeHost;
  readonly late: LateTurns;
  /** Begun turns, in their order. */
  readonly begun: number[];
  /** Turns that do not end by themselves, by environment. */
  readonly open: Map<number, PromiseWithResolvers<number>>;
  /** Timers that were set and neither ran nor were cancelled. */
  timers(): number;
  /** A round over the environments, of which those in `slow` do not end. */
  round(tenants: readonly number[], slow?: readonly number[]): Promise<number>;
  /** Ends a turn. */
  end(tenant: number, done?: number): Promise<void>;
}

function openWorld(): World {
  const host = fakeHost();
  const { startTimer } = host;
  let timers = 0;
  host.startTimer = (ms, run) => {
    timers++;
    const cancel = startTimer(ms, () => (timers--, run()));
    return () => (timers--, cancel());
  };
  const late = openLateTurns(host);
  const begun: number[] = [];
  const open: World["open"] = new Map();

  function turnOf(tenant: number, isSlow: boolean): Promise<number> {
    begun.push(tenant);
    if (!isSlow) return Promise.resolve(1);
    const turn = Promise.withResolvers<number>();
    open.set(tenant, turn);
    return turn.promise;
  }

  async function round(tenants: readonly number[], slow: readonly number[] = []): Promise<number> {
    let done = late.collect();
    for (const tenant of late.inTurn(tenants, Number)) {
      done += await late.take(tenant, () => turnOf(tenant, slow.includes(tenant)));
    }
    return done;
  }

  async function end(tenant: number, done = 1): Promise<void> {
    open.get(tenant)!.resolve(done);
    open.delete(tenant);
    await host.yieldTurn();
  }

  return { host, late, begun, open, timers: () => timers, round, end };
}

/** Moves the clock by as much as a round waits, as often as it takes that many turns. */
async function lateRound(
  { host, begun, round }: World,
  tenants: readonly number[],
  slow: readonly number[],
): Promise<number> {
  let isOver = false;
  const running = round(tenants, slow).finally(() => isOver = true);
  for (let steps = 0; !isOver; steps++) {
    assert.ok(steps < 100, `the round goes on; begun: ${begun}`);
    host.timeMs += 1_500;
    await host.yieldTurn();
  }
  return await running;
}

Deno.test("a turn that is late goes on beside the rounds, and its environment is left out", async () => {
  const world = openWorld();
  const { begun, round, end } = world;
  assert.equal(await lateRound(world, [1, 2, 3], [2]), 2);
  assert.equal(await round([1, 2, 3]), 2);
  assert.deepEqual(begun, [1, 2, 3, 1, 3]);
  await end(2, 10);
  assert.equal(await round([1, 2, 3]), 13, "what it has done is counted in the next round");
  assert.equal(await round([1, 2, 3]), 3);
});

Deno.test("a turn is waited for until it is late, and no timer is left of it", async () => {
  const { host, late, timers, ...world } = openWorld();
  const round = world.round([1, 2], [1]);
  host.timeMs += 1_499;
  await world.end(1);
  assert.equal(await round, 2);
  assert.equal(timers(), 0);
  await late.settle();
});

Deno.test("an environment that was late is waited for 50 ms, and for long again a minute later", async () => {
  const world = openWorld();
  const { host, round, end } = world;
  async function waitedMs(): Promise<number> {
    const beganMs = host.timeMs;
    let isOver = false;
    const running = round([1], [1]).finally(() => isOver = true);
    while (!isOver) {
      host.timeMs += 50;
      await host.yieldTurn();
    }
    await running;
    return host.timeMs - beganMs;
  }
  assert.equal(await waitedMs(), 1_500);
  host.timeMs += 100_000;
  await end(1);
  host.timeMs += 59_000;
  assert.equal(await waitedMs(), 50);
  await end(1);
  host.timeMs += 60_000;
  assert.equal(await waitedMs(), 1_500);
  await end(1);
});

Deno.test("of environments known as slow few have turns at once, and all the same number", async () => {
  const world = openWorld();
  const { begun, open, end } = world;
  const slow = [1, 2, 3, 4, 5];
  const all = [...slow, 6];
  for (const tenant of slow) {
    await lateRound(world, [tenant], slow);
    await end(tenant);
  }
  begun.length = 0;
  for (let round = 0; round < 50; round++) {
    await lateRound(world, all, slow);
    assert.ok(open.size <= SLOW_TURNS_MAX, `${open.size} are late`);
    // The one that began first ends.
    await end([...open.keys()][0]!);
  }
  const counts = all.map((tenant) => begun.filter((each) => each === tenant).length);
  assert.equal(counts[5], 50, "who is not slow has a turn in each round");
  const turns = counts.slice(0, 5);
  assert.ok(Math.min(...turns) >= 10 && Math.max(...turns) <= 11, `turns: ${turns}`);
});

Deno.test("an environment that is passed over for long is still known as slow", async () => {
  const world = openWorld();
  const { host, begun, end } = world;
  await lateRound(world, [3], [3]);
  await end(3);
  await lateRound(world, [1, 2, 3], [1, 2]);
  begun.length = 0;
  for (let round = 0; round < 10; round++) {
    host.timeMs += 30_000;
    await world.round([1, 2, 3]);
  }
  assert.deepEqual(begun, []);
});

Deno.test("a round waits while more turns are late than may be", async () => {
  const world = openWorld();
  const { host, begun, end } = world;
  const slow = Array.from({ length: LATE_TURNS_MAX + 1 }, (_, at) => at + 1);
  const next = slow.length + 1;
  const round = lateRound(world, [...slow, next], slow);
  while (begun.length < slow.length) await host.yieldTurn();
  host.timeMs += 1_500;
  for (let turn = 0; turn < 5; turn++) await host.yieldTurn();
  assert.ok(!begun.includes(next), "the round waits");
  await end(1);
  assert.equal(await round, 1);
  assert.equal(begun.at(-1), next);
});

Deno.test("what fails late is thrown by the next round, and what fails in time by its own", async () => {
  const { host, late } = openWorld();
  const turn = Promise.withResolvers<number>();
  const taken = late.take(1, () => turn.promise);
  host.timeMs += 1_500;
  assert.equal(await taken, 0);
  turn.reject(new EngineUnavailable("away"));
  await late.settle();
  assert.throws(() => late.collect(), EngineUnavailable);
  assert.equal(late.collect(), 0, "it is thrown once");
  await assert.rejects(late.take(1, () => Promise.reject(new Error("broken"))), /broken/);
});
