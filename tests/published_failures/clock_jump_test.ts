/**
 * The clock is set while work waits for it. Set back, whatever sleeps by it sleeps too long.
 * Set ahead, everything that was missed happens at once, or happens again.
 *
 * Published by: Quartz.NET, APScheduler, CUBA, sidekiq-scheduler.
 */

import assert from "node:assert/strict";
import { setOff, write } from "../support/reactive_spec.ts";
import { uuid } from "../support/service_fixture.ts";
import { countNotes, outlive, typesOf, withShop, workOn, writeAndDie } from "./shop.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A worker never sleeps longer than this without a look at the store. */
const SLEEP_MS_MAX = 500;

// quartznet/quartznet#3148: the time to sleep was the difference of two clock readings. When
// the clock was set back by an hour, the misfire handler and the cluster's check-ins slept for
// that hour.
Deno.test("no worker sleeps longer because the clock was set back (Quartz.NET)", async () => {
  await withShop(async (shop) => {
    const { service, host } = shop.start();
    await write(service, shop.tenant, setOff(uuid(1), "was_promised"));
    await service.background.drainTimers(100);
    const { timerPauseMs } = service.background;
    assert.equal(timerPauseMs(), SLEEP_MS_MAX);
    host.timeMs += 59_900;
    assert.equal(timerPauseMs(), 100, "it wakes when the next timer is due");
    host.timeMs -= HOUR_MS;
    assert.equal(timerPauseMs(), SLEEP_MS_MAX);
  });
});

// agronholm/apscheduler#351: when the clock was set back by two minutes, no job ran for two
// minutes. cuba-platform/cuba#3206: when it was set back while a task ran, the scheduler
// stopped working.
Deno.test("work goes on after the clock of all was set back, and what is scheduled then fires in time (APScheduler, CUBA)", async () => {
  await withShop(async (shop) => {
    const { tenant } = shop;
    const nodes = [shop.start(), shop.start()] as const;
    const shareWork = async (turns: number) => {
      for (let turn = 0; turn < turns; turn++) {
        shop.pass(3_000);
        for (const node of nodes) await workOn(node);
      }
    };
    await shareWork(3);
    await writeAndDie(shop, setOff(uuid(1), "was_placed"));
    shop.pass(-HOUR_MS);
    await writeAndDie(shop, setOff(uuid(2), "was_placed"));
    await writeAndDie(shop, setOff(uuid(3), "was_promised"));
    await shareWork(1);
    assert.deepEqual(await countNotes(nodes[0], tenant, [1, 2]), [1, 1]);
    await shareWork(20);
    const types = await typesOf(nodes[0], tenant, "order", uuid(3));
    assert.deepEqual(types, ["was_promised", "was_reminded"]);
  });
});

// The same issue from the other end: nothing may have to wait for times that a clock running
// ahead has stored.
Deno.test("leases of a process whose clock was a day ahead are free when it is dead (CUBA)", async () => {
  await withShop(async (shop) => {
    const { tenant } = shop;
    const ahead = shop.start();
    ahead.host.timeMs += DAY_MS;
    await ahead.service.background.renewShare();
    const numbers = [1, 2, 3, 4, 5];
    for (const n of numbers) await writeAndDie(shop, setOff(uuid(n), "was_placed"));
    const next = shop.start();
    await outlive(shop, next);
    await workOn(next);
    assert.deepEqual(await countNotes(next, tenant, numbers), numbers.map(() => 1));
  });
});

// sidekiq-scheduler/sidekiq-scheduler#283: set ahead, all recurring jobs ran at once; set back,
// none ever ran again.
Deno.test("ahead by a year and back again: each timer fires once, and new ones in time (sidekiq-scheduler)", async () => {
  await withShop(async (shop) => {
    const { tenant } = shop;
    const node = shop.start();
    const numbers = [1, 2, 3];
    for (const n of numbers) await write(node.service, tenant, setOff(uuid(n), "was_promised"));
    const fired = ["was_promised", "was_reminded"];
    const look = (n: number) => typesOf(node, tenant, "order", uuid(n));
    shop.pass(365 * DAY_MS);
    for (let turn = 0; turn < 3; turn++) await workOn(node);
    for (const n of numbers) assert.deepEqual(await look(n), fired);
    shop.pass(-365 * DAY_MS);
    await write(node.service, tenant, setOff(uuid(4), "was_promised"));
    await workOn(node);
    assert.deepEqual(await look(4), ["was_promised"]);
    shop.pass(60_000);
    await workOn(node);
    for (const n of [...numbers, 4]) assert.deepEqual(await look(n), fired);
  });
});
