/**
 * A process dies with work in its hands, and after the restart nothing knows of that work. It
 * was taken from the queue and not done yet, scheduled in memory, or about to be queued after
 * the commit.
 *
 * Published by: Sidekiq, NServiceBus, Automatonymous (MassTransit), Lago, Eventuous.
 */

import assert from "node:assert/strict";
import { type Fault, faultyEngine } from "../support/faulty_engine.ts";
import { idsOf, readLog, timesSeenOf } from "../support/log_reader.ts";
import { setOff, write } from "../support/reactive_spec.ts";
import { uuid } from "../support/service_fixture.ts";
import type { Node } from "../support/two_nodes.ts";
import {
  countLeft,
  countNotes,
  outlive,
  OUTLIVE_MS,
  type Shop,
  typesOf,
  withShop,
  workOn,
  writeAndDie,
} from "./shop.ts";
import { STORIES, type Story } from "./stories.ts";

/** Commits of one worker that does one thing. */
const COMMITS_MAX = 20;

/**
 * Starts a process whose commit number `diesAt` is its last call; counts the commits it begins.
 */
function startDying(shop: Shop, diesAt: number, landed: boolean) {
  const life = { commits: 0 };
  const plan = (): Fault | undefined => {
    const commit = life.commits++;
    if (commit < diesAt) return undefined;
    return { kind: "unavailable", landed: landed && commit === diesAt };
  };
  return { node: shop.start((engine) => faultyEngine(engine, plan)), life };
}

/**
 * Lets a worker die at one commit and another continue after a restart; returns how many
 * commits the first one began.
 */
async function dieAt(story: Story, diesAt: number, landed: boolean): Promise<number> {
  let commits = 0;
  await withShop(async (shop) => {
    await story.begin(shop);
    shop.pass(story.waitMs);
    const { node, life } = startDying(shop, diesAt, landed);
    await outlive(shop, node).then(() => workOn(node)).catch(() => {});
    commits = life.commits;
    await shop.restart();
    const next = shop.start();
    await outlive(shop, next);
    await workOn(next);
    const found = await story.look(next, shop.tenant);
    assert.deepEqual(found, story.after, `died at commit ${diesAt}, landed: ${landed}`);
    assert.equal(await countLeft(next), 0);
  }, story.spec);
  return commits;
}

// sidekiq/sidekiq#1831: a job is taken out of the queue before it runs, and is lost if its
// process dies. Particular/NServiceBus#2885: a due timeout was removed and then sent; if
// sending failed it was gone. Particular/NServiceBus#245: a timeout that had fired was still
// stored, and fired again after a restart.
for (const story of STORIES) {
  Deno.test(`${story.name}: its worker dies at any of its commits: once (Sidekiq, NServiceBus)`, async () => {
    for (const landed of [true, false]) {
      let diesAt = 0;
      // In the last round the worker outlives its work.
      while (await dieAt(story, diesAt, landed) > diesAt) {
        diesAt++;
        assert.ok(diesAt < COMMITS_MAX);
      }
      assert.ok(diesAt >= 2, "a lease and the effect at least");
    }
  });
}

// MassTransit/Automatonymous#50: a saga's reminders for the coming days were gone after a
// restart.
Deno.test("what is scheduled outlives restarts before its time, at it and after it (Automatonymous)", async () => {
  await withShop(async (shop) => {
    const { tenant } = shop;
    const ids = [1, 2].map(uuid);
    for (const id of ids) await write(shop.start().service, tenant, setOff(id, "was_promised"));
    const look = (node: Node) => Promise.all(ids.map((id) => typesOf(node, tenant, "order", id)));
    const waits = [[59_999 - OUTLIVE_MS, false], [1, true], [600_000, true]] as const;
    for (const [passMs, isFired] of waits) {
      await shop.restart();
      shop.pass(passMs);
      const node = shop.start();
      await outlive(shop, node);
      await workOn(node);
      const types = isFired ? ["was_promised", "was_reminded"] : ["was_promised"];
      assert.deepEqual(await look(node), ids.map(() => types));
    }
  });
});

// sidekiq/sidekiq#3906: the database has committed, and then the job cannot be queued.
// getlago/lago-api#6319: the event was stored and its job never ran, and sending it again was
// refused as a duplicate.
for (const landed of [true, false]) {
  Deno.test(`a process that dies as its write commits leaves both or nothing (landed: ${landed}) (Sidekiq, Lago)`, async () => {
    await withShop(async (shop) => {
      const { tenant } = shop;
      const { node } = startDying(shop, 0, landed);
      const writing = write(node.service, tenant, setOff(uuid(1), "was_placed"));
      await assert.rejects(writing, { name: "EngineUnavailable" });
      await shop.restart();
      shop.pass(1_000);
      const next = shop.start();
      await workOn(next);
      const orders = await typesOf(next, tenant, "order", uuid(1));
      assert.deepEqual(orders, landed ? ["was_placed"] : []);
      assert.deepEqual(await countNotes(next, tenant, [1]), [landed ? 1 : 0]);
    });
  });
}

// Eventuous/eventuous#291: after a restart the reader asked for what comes after its checkpoint
// plus one, and so skipped the first new event.
Deno.test("the first event after a restart is read (Eventuous)", async () => {
  await withShop(async (shop) => {
    const { tenant: { number } } = shop;
    const ids = idsOf(4);
    const writeAll = async (some: readonly string[]) => {
      const { service } = shop.start();
      for (const id of some) await write(service, shop.tenant, setOff(id, "was_paid"));
    };
    await writeAll(ids.slice(0, 2));
    await readLog(shop.engine, number);
    await shop.restart();
    await writeAll(ids.slice(2));
    await readLog(shop.engine, number);
    assert.deepEqual(await timesSeenOf(shop.engine, number, ids), [1, 1, 1, 1]);
  });
});

// sidekiq/sidekiq#2625: the new process looked for the old one's work before the old one was
// dead; work left behind afterwards waited for the next restart.
Deno.test("a process that began before the old one died takes over what that leaves later (Sidekiq)", async () => {
  await withShop(async (shop) => {
    const { tenant } = shop;
    let isDead = false;
    const old = shop.start((engine) => faultyEngine(engine, [], { isAway: () => isDead }));
    const next = shop.start();
    for (let turn = 0; turn < 4; turn++) {
      shop.pass(3_000);
      for (const { service } of [old, next]) await service.background.renewShare();
    }
    const numbers = Array.from({ length: 40 }, (_, n) => n);
    for (const n of numbers) await writeAndDie(shop, setOff(uuid(n), "was_placed"));
    isDead = true;
    shop.pass(1_000);
    const done = await workOn(next);
    assert.ok(done > 0 && done < numbers.length, `${done}: they share the work`);
    await outlive(shop, next);
    await workOn(next);
    assert.deepEqual(await countNotes(next, tenant, numbers), numbers.map(() => 1));
  });
});
