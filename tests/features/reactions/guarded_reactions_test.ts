/**
 * Guards judge what the service itself writes, too: a failed one becomes an error record, and for
 * a saga a failed step. Modules and guards judge the same events. Imports are not judged. See
 * docs/reference/guards.md.
 */

import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/domain/json.ts";
import {
  noteWrite,
  refusalOf,
  type ServiceFixture,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";
import { seats, withModules } from "../../support/wasm/module_world.ts";
import { parsedState } from "../../support/parsed_state.ts";

const STOCK: JsonObject = {
  was_stocked: { schema: true, handler: { increment: { target: "stock" } } },
  was_reserved: {
    schema: true,
    handler: { decrement: { target: "stock" } },
    guards: [{ require: { gt: ["@.stock", 0] }, message: "Sold out" }],
  },
  was_released: { schema: true, handler: { increment: { target: "stock" } } },
};

const RESERVE = { aggregate_type: "stock", id: "global", event_type: "was_reserved" };

function shopSpec(placed: JsonObject, modules: JsonObject = {}): JsonObject {
  return {
    agent_types: ["user"],
    modules,
    aggregate_types: {
      stock: { events: STOCK },
      order: {
        events: {
          was_noted: { schema: true, handler: [], ...placed },
          was_accepted: { schema: true, handler: [] },
          was_rejected: { schema: true, handler: [] },
        },
      },
    },
  };
}

async function stock({ service: { data }, tenants: { test } }: ServiceFixture): Promise<void> {
  const targets = [{
    aggregateType: "stock",
    id: "global",
    events: [{ type: "was_stocked", data: {} }],
  }];
  valueOf(await data.writeEvents(test, { ...noteWrite(uuid(0), ""), targets }));
}

async function stateOf({ service: { data }, tenants: { test } }: ServiceFixture): Promise<unknown> {
  const request = { aggregateType: "stock", id: "global", synchronous: true };
  return parsedState(valueOf(await data.readAggregate(test, request)));
}

async function errors({ service: { data }, tenants: { test } }: ServiceFixture) {
  return valueOf(await data.listErrors(test, {})).data;
}

Deno.test("an implied event whose guard fails becomes an error record; its trigger stays", async () => {
  await withService(async (fixture) => {
    const { service: { data }, tenants: { test } } = fixture;
    await stock(fixture);
    for (const number of [1, 2]) valueOf(await data.writeEvents(test, noteWrite(uuid(number), "")));
    assert.deepEqual(await stateOf(fixture), { stock: 0 });
    const [record, ...more] = await errors(fixture);
    assert.equal(more.length, 0);
    assert.equal(record!.error_type, "implication_failed");
    assert.equal(record!.message, "A guard refused the event (guards[0]): Sold out");
    assert.equal(valueOf(await data.readLength(test, "order", uuid(2))), 1);
  }, { spec: shopSpec({ implications: [{ emit: RESERVE }] }) });
});

Deno.test("a scheduled event is judged when it fires", async () => {
  await withService(async (fixture) => {
    const { service, host, tenants: { test } } = fixture;
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "")));
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(2), "")));
    assert.equal((await errors(fixture)).length, 0);
    await stock(fixture);
    host.timeMs += 60_000;
    await service.background.drainTimers(100);
    assert.deepEqual(await stateOf(fixture), { stock: 0 });
    const [record, ...more] = await errors(fixture);
    assert.equal(more.length, 0);
    assert.match(record!.message, /Sold out/);
  }, { spec: shopSpec({ implications: [{ schedule: { delay: "1m", emit: RESERVE } }] }) });
});

const SAGA: JsonObject = {
  trigger: { aggregate_type: "order", event_type: "was_noted" },
  steps: [
    {
      name: "accept",
      emit: { aggregate_type: "order", id: "$.id", event_type: "was_accepted" },
      compensate: { aggregate_type: "order", id: "$.id", event_type: "was_rejected" },
    },
    { name: "reserve", emit: RESERVE },
  ],
};

Deno.test("for a saga a failed guard is a failed step: what was done before is compensated", async () => {
  await withService(async (fixture) => {
    const { service: { data }, tenants: { test } } = fixture;
    await stock(fixture);
    for (const number of [1, 2]) valueOf(await data.writeEvents(test, noteWrite(uuid(number), "")));
    assert.deepEqual(await stateOf(fixture), { stock: 0 });
    const typesIn = async (id: string) => {
      const request = { aggregateType: "order", id, direction: "forwards" as const };
      const { entries } = valueOf(await data.readEvents(test, request));
      return entries.map(({ raw }) => JSON.parse(raw).type);
    };
    assert.deepEqual(await typesIn(uuid(1)), ["was_noted", "was_accepted"]);
    assert.deepEqual(await typesIn(uuid(2)), ["was_noted", "was_accepted", "was_rejected"]);
  }, { spec: shopSpec({}, { sagas: { selling: SAGA } }) });
});

/** These tests are about what guards see, not about how fast a busy machine calls a module. */
const SEATS = { wasm: { blob_name: "seats", timeout_ms: 5_000 } };

const BOOKED = {
  was_booked: {
    handler: SEATS,
    guards: [{ require: { not: { eq: ["@.n", "aa"] } }, message: "Two are enough" }],
  },
  was_named: {
    handler: { set: { target: "name", value: "$.type" } },
    guards: [{ require: { exists: "@.n" }, message: "Nothing is booked" }],
  },
};

Deno.test("guards see the states that modules have computed, in batches and beside other writes", async () => {
  await withModules({ seats: await seats() }, BOOKED, async (world) => {
    assert.equal(refusalOf(await world.write("a", ["was_named"])).kind, "guard_failed");
    const three = ["was_booked", "was_booked", "was_booked"];
    const refusal = refusalOf(await world.write("a", three));
    assert.deepEqual(refusal, {
      kind: "guard_failed",
      message: "Two are enough",
      guard: 0,
      eventType: "was_booked",
      eventIndex: 2,
    });
    const writes = Array.from({ length: 12 }, () => world.write("a", ["was_booked"]));
    const outcomes = await Promise.all(writes);
    assert.equal(outcomes.filter(({ ok }) => ok).length, 2);
    for (const each of outcomes) if (!each.ok) assert.equal(each.refusal.kind, "guard_failed");
    valueOf(await world.write("a", ["was_named"]));
    assert.deepEqual(await world.stateOf("a", true), { n: "aa", name: "was_named" });
  });
});

Deno.test("a precondition beside a write that a module judges sees what that has computed", async () => {
  await withModules({ seats: await seats() }, { was_booked: SEATS }, async (world) => {
    const { service: { data }, tenant } = world;
    const targets = [{
      aggregateType: "audit",
      id: "b",
      events: [{ type: "was_noted", data: {} }],
    }];
    const preconditions = [{ key: "show:a", require: { in: ["@.n", [null, "a", "aa", "aaa"]] } }];
    for (let round = 0; round < 3; round++) {
      const [booked, noted] = await Promise.all([
        world.write("a", ["was_booked"]),
        data.writeEvents(tenant, { ...noteWrite("b", ""), targets, preconditions }),
      ]);
      valueOf(booked);
      valueOf(noted);
    }
    const now = [{ key: "show:a", require: { eq: ["@.n", "aaa"] } }];
    valueOf(await data.writeEvents(tenant, { ...noteWrite("b", ""), targets, preconditions: now }));
  });
});
