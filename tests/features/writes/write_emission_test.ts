/**
 * Implied and scheduled events that a module's handler judges. One that fails becomes an error
 * record; its trigger stays. See docs/reference/reactions.md.
 */

import assert from "node:assert/strict";
import { eventsOf } from "../../support/reactive_spec.ts";
import { valueOf } from "../../support/service_fixture.ts";
import {
  type EventTypes,
  type ModuleWorld,
  seats,
  withModules,
} from "../../support/wasm/module_world.ts";

const EMIT = { aggregate_type: "show", id: "a", event_type: "was_booked" };
const EVENTS: EventTypes = {
  was_wanted: { handler: [], implications: [{ emit: EMIT }] },
  was_wished: { handler: [], implications: [{ schedule: { delay: "1m", emit: EMIT } }] },
  was_booked: { wasm: "seats" },
};

async function errorsOf({ service, tenant }: ModuleWorld) {
  return valueOf(await service.data.listErrors(tenant, {})).data;
}

Deno.test("an implied event that its handler refuses is given up with a record, its trigger stays", async () => {
  await withModules({ seats: await seats() }, EVENTS, async (world) => {
    for (let wish = 0; wish < 5; wish++) valueOf(await world.write("b", ["was_wanted"]));
    await world.service.background.drainOutbox(100);
    const { service, tenant } = world;
    assert.equal((await eventsOf(service, tenant, "show", "b")).length, 5);
    assert.equal((await eventsOf(service, tenant, "show", "a")).length, 3);
    const errors = await errorsOf(world);
    assert.equal(errors.length, 2);
    for (const { error_type, message, context } of errors) {
      assert.equal(error_type, "implication_failed");
      assert.match(message, /sold_out: All seats are taken/);
      assert.deepEqual([context.implied_key, context.implied_event_type], ["show:a", "was_booked"]);
    }
    assert.equal(await service.background.drainOutbox(100), 0, "and it is not tried again");
  });
});

Deno.test("a scheduled event is judged when it fires, on the state of then", async () => {
  await withModules({ seats: await seats() }, EVENTS, async (world) => {
    const { service, host, tenant } = world;
    valueOf(await world.write("b", ["was_wished"]));
    valueOf(await world.write("c", ["was_wished"]));
    valueOf(await world.write("a", ["was_booked", "was_booked"]));
    host.timeMs += 60_000;
    await service.background.drainTimers(100);
    assert.equal((await eventsOf(service, tenant, "show", "a")).length, 3);
    const [{ error_type, context }, ...more] = await errorsOf(world) as [
      Awaited<ReturnType<typeof errorsOf>>[0],
    ];
    assert.deepEqual(more, []);
    assert.deepEqual([error_type, context.operation], ["implication_failed", "fire_scheduled"]);
    assert.equal(await service.background.drainTimers(100), 0, "and it is not tried again");
  });
});
