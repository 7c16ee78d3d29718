/**
 * Sagas whose events are judged by modules: a refusal fails the step, and implications follow.
 * See docs/reference/sagas.md and docs/reference/modules.md.
 */

import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import { eventsOf } from "../../support/reactive_spec.ts";
import { valueOf } from "../../support/service_fixture.ts";
import {
  answering,
  type EventTypes,
  misbehaving,
  type ModuleWorld,
  seats,
  showSpec,
  TRAPS,
  withModules,
} from "../../support/wasm/module_world.ts";

/**
 * Takes a note, then books a seat at `a`; if there is no seat, it notes that the first is
 * undone.
 */
const BOOKING: JsonObject = {
  trigger: { aggregate_type: "show", event_type: "was_wanted" },
  steps: [
    {
      name: "announce",
      emit: { aggregate_type: "audit", id: "global", event_type: "was_noted" },
      compensate: {
        aggregate_type: "audit",
        id: "global",
        event_type: "was_noted",
        data: { undone: true },
      },
    },
    { name: "book", emit: { aggregate_type: "show", id: "a", event_type: "was_booked" } },
  ],
};

const EVENTS: EventTypes = {
  was_wanted: [],
  was_booked: { wasm: "seats" },
};

function sagaSpec(events: EventTypes): JsonObject {
  return { ...showSpec(events), modules: { sagas: { booking: BOOKING } } };
}

async function withSagas(
  file: Uint8Array<ArrayBuffer>,
  body: (world: ModuleWorld) => Promise<void>,
  events = EVENTS,
  more: Record<string, Uint8Array<ArrayBuffer>> = {},
): Promise<void> {
  await withModules({ seats: file, ...more }, {}, async (world) => {
    valueOf(await world.deploy(sagaSpec(events)));
    await body(world);
  });
}

async function drain({ service }: ModuleWorld): Promise<void> {
  for (let round = 0; round < 100; round++) {
    const found = await service.background.drainOutbox(100) +
      await service.background.drainTimers(100);
    if (found === 0) return;
  }
  throw new Error("there is always something left");
}

async function sagaStates({ service, tenant }: ModuleWorld): Promise<string[]> {
  const { data } = valueOf(await service.data.listSagas(tenant, {}));
  return data.map(({ state }) => state).sort();
}

async function typesOf(world: ModuleWorld, type: string, id: string): Promise<string[]> {
  return (await eventsOf(world.service, world.tenant, type, id)).map((event) => event.type);
}

Deno.test("a saga's event is judged by its handler, and refused it fails the step", async () => {
  await withSagas(await seats(), async (world) => {
    for (let wish = 0; wish < 5; wish++) valueOf(await world.write("b", ["was_wanted"]));
    await drain(world);
    assert.deepEqual(await typesOf(world, "show", "a"), ["was_booked", "was_booked", "was_booked"]);
    const states = await sagaStates(world);
    assert.deepEqual(states, ["compensated", "compensated", "completed", "completed", "completed"]);
    const notes = await eventsOf(world.service, world.tenant, "audit", "global");
    assert.equal(notes.filter(({ data }) => data.undone === true).length, 2);
    assert.deepEqual(await world.stateOf("a", true), { n: "aaa" });
  });
});

Deno.test("many sagas at once that want the same seats get just as many as there are", async () => {
  await withSagas(await seats(), async (world) => {
    const wishes = Array.from({ length: 12 }, () => world.write("b", ["was_wanted"]));
    const bookings = Array.from({ length: 2 }, () => world.write("a", ["was_booked"]));
    for (const outcome of await Promise.all(wishes)) valueOf(outcome);
    await Promise.all(bookings);
    await drain(world);
    assert.equal((await typesOf(world, "show", "a")).length, 3);
    const states = await sagaStates(world);
    assert.equal(
      states.filter((state) => state !== "completed" && state !== "compensated").length,
      0,
    );
    assert.deepEqual(await world.stateOf("a", true), { n: "aaa" });
  });
});

Deno.test("a handler that traps fails the step, and the history says why", async () => {
  await withSagas(await misbehaving(TRAPS), async (world) => {
    valueOf(await world.write("b", ["was_wanted"]));
    await drain(world);
    assert.deepEqual(await sagaStates(world), ["compensated"]);
    const [saga] = valueOf(await world.service.data.listSagas(world.tenant, {})).data;
    const view = valueOf(await world.service.data.readSaga(world.tenant, saga!.saga_id));
    assert.match(JSON.stringify(view), /wasm_trap/);
    assert.deepEqual(await typesOf(world, "show", "a"), []);
  });
});

Deno.test("what a module implies from a saga's event is written", async () => {
  const emit: JsonValue = { key: "audit:global", event_type: "was_noted", data: { implied: 1 } };
  const notes = await answering({ actions: [{ emit }] });
  const events: EventTypes = {
    ...EVENTS,
    was_booked: { handler: { wasm: "seats" }, implications: [{ wasm: "notes" }] },
  };
  await withSagas(
    await seats(),
    async (world) => {
      valueOf(await world.write("b", ["was_wanted"]));
      await drain(world);
      assert.deepEqual(await sagaStates(world), ["completed"]);
      const noted = await eventsOf(world.service, world.tenant, "audit", "global");
      assert.equal(noted.filter(({ data }) => data.implied === 1).length, 1);
    },
    events,
    { notes },
  );
});
