/**
 * A worker is slower than its lease: another takes over, and both do the same work. The worker
 * sleeps, its clock is behind, or its work is due later than the lease lasts.
 *
 * Published by: Bull, Hangfire, graphile-worker, Oban, Celery, Quartz.NET, Quartz.
 */

import assert from "node:assert/strict";
import { setOff } from "../support/reactive_spec.ts";
import { uuid } from "../support/service_fixture.ts";
import { withTemporaryEngine } from "../support/temporary_engine.ts";
import {
  countLeft,
  countNotes,
  outlive,
  OUTLIVE_MS,
  typesOf,
  withShop,
  workOn,
  writeAndDie,
} from "./shop.ts";
import { STORIES } from "./stories.ts";

const HOUR_MS = 3_600_000;

// OptimalBits/bull#308: a worker that could not renew its lock in time went on, while the
// stalled job was given to another. HangfireIO/Hangfire#514 and graphile/worker#169: a job that
// runs longer than a fixed time is started a second time beside itself.
// https://hexdocs.pm/oban/2.11.0/Oban.Plugins.Lifeline.html: a rescue by time alone may run a
// job twice that is still executing.
for (const { name, spec, begin, waitMs, look, before, after } of STORIES) {
  Deno.test(`${name}: its worker sleeps past its lease and wakes when another has done it: once (Bull, Hangfire, graphile-worker, Oban)`, async () => {
    await withShop(async (shop) => {
      const { tenant } = shop;
      await begin(shop);
      const { node: sleeper, held } = shop.startHeld();
      shop.pass(waitMs);
      await outlive(shop, sleeper);
      const commit = held.hold();
      const sleeping = workOn(sleeper);
      await commit.reached;
      const other = shop.start();
      await outlive(shop, other);
      assert.deepEqual(await look(other, tenant), before);
      await workOn(other);
      assert.deepEqual(await look(other, tenant), after, "the other has done it");
      commit.release();
      await sleeping;
      shop.pass(OUTLIVE_MS);
      for (const node of [sleeper, other]) await workOn(node);
      assert.deepEqual(await look(other, tenant), after);
    }, spec);
  });
}

Deno.test("the same sleep doubles an effect that commits without a look at its job", async () => {
  await withTemporaryEngine(async (engine) => {
    const [job, effects] = ["job", "effects"].map((text) => new TextEncoder().encode(text));
    await engine.transact((tx) => Promise.resolve(tx.set(job!, Uint8Array.of(1))));
    const doze = Promise.withResolvers<void>();
    const awake = Promise.withResolvers<void>();
    const sleeping = doJob(() => (doze.resolve(), awake.promise));
    await doze.promise;
    await doJob(() => Promise.resolve());
    awake.resolve();
    await sleeping;
    const done = await engine.snapshot((tx) => tx.get(effects!));
    assert.equal(done![0], 2);

    async function doJob(sleep: () => Promise<void>): Promise<void> {
      if (await engine.snapshot((tx) => tx.get(job!)) === undefined) return;
      await sleep();
      await engine.transact((tx) => {
        tx.add(effects!, 1n);
        return Promise.resolve(tx.clear(job!));
      });
    }
  });
});

// celery/celery#4766 and celery/celery#2599: a task that is due later than the broker's
// visibility timeout is given to another worker at each timeout, and runs that often.
Deno.test("what is due long after several leases is done once (Celery)", async () => {
  await withShop(async (shop) => {
    const { tenant } = shop;
    const nodes = [shop.start(), shop.start()] as const;
    await writeAndDie(shop, setOff(uuid(1), "was_promised"));
    const types = () => typesOf(nodes[0], tenant, "order", uuid(1));
    for (let turn = 1; (turn - 2) * OUTLIVE_MS < 60_000; turn++) {
      const node = nodes[turn % 2]!;
      // It takes what the other one has held until now.
      await outlive(shop, node);
      await workOn(node);
      const isDue = turn * OUTLIVE_MS >= 60_000;
      assert.deepEqual(await types(), isDue ? ["was_promised", "was_reminded"] : ["was_promised"]);
    }
  });
});

// quartznet/quartznet#3515: a node whose clock is ahead declares healthy ones failed and takes
// over their work. quartz-scheduler/quartz#849: after an outage one node did the jobs while
// another recovered them, and thousands of records were processed twice.
Deno.test("a node an hour ahead takes nothing from one that is at it: each effect once (Quartz.NET, Quartz)", async () => {
  await withShop(async (shop) => {
    const { tenant } = shop;
    const numbers = Array.from({ length: 20 }, (_, n) => n);
    for (const n of numbers) await writeAndDie(shop, setOff(uuid(n), "was_placed"));
    const { node: punctual, held } = shop.startHeld();
    await outlive(shop, punctual);
    const ahead = shop.start();
    ahead.host.timeMs += HOUR_MS;
    await punctual.service.background.renewShare();
    await ahead.service.background.renewShare();
    const commit = held.hold();
    const working = punctual.service.background.drainOutbox(100);
    await commit.reached;
    assert.equal(await ahead.service.background.drainOutbox(100), 0);
    commit.release();
    assert.equal(await working, 20);
    for (const node of [punctual, ahead]) await workOn(node);
    assert.deepEqual(await countNotes(punctual, tenant, numbers), numbers.map(() => 1));
    assert.equal(await countLeft(punctual), 0);
  });
});
