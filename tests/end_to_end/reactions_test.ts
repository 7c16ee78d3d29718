/** Reactions to a written event as clients see them: implied and scheduled events, sagas. */

import assert from "node:assert/strict";
import type { JsonObject } from "../../src/domain/json.ts";
import { poisonedEngine } from "../support/poisoned_engine.ts";
import { drain } from "../support/reactive_spec.ts";
import { uuid } from "../support/service_fixture.ts";
import { withWorld, type World } from "./world.ts";

const plain = { schema: true, handler: [] };
const MINUTE_MS = 60_000;

/** An order reserves stock, requests its payment through a saga, and schedules a reminder. */
const spec: JsonObject = {
  aggregate_types: {
    order: {
      events: {
        was_placed: {
          ...plain,
          implications: [
            {
              emit: {
                aggregate_type: "customer",
                id: "$.data.customer",
                event_type: "had_order",
                data: { order: "$.id" },
              },
            },
            {
              schedule: {
                delay: "30s",
                emit: { aggregate_type: "order", id: "$.id", event_type: "was_reminded" },
                cancel_on: [{ aggregate_type: "payment", id: "$.id", event_type: "was_captured" }],
              },
            },
          ],
        },
        was_reminded: plain,
        was_confirmed: plain,
      },
    },
    customer: {
      events: {
        had_order: {
          schema: { type: "object", properties: { order: { type: "string", maxLength: 9 } } },
          handler: { append: { target: "orders", value: "$.data.order" } },
        },
      },
    },
    inventory: { events: { was_reserved: plain, was_released: plain } },
    payment: { events: { was_requested: plain, was_captured: plain, was_refused: plain } },
  },
  agent_types: ["user"],
  singletons: ["stock"],
  modules: {
    sagas: {
      fulfilment: {
        trigger: { aggregate_type: "order", event_type: "was_placed" },
        steps: [
          {
            name: "reserve",
            emit: { aggregate_type: "inventory", id: "stock", event_type: "was_reserved" },
            compensate: { aggregate_type: "inventory", id: "stock", event_type: "was_released" },
          },
          {
            name: "charge",
            emit: { aggregate_type: "payment", id: "$.id", event_type: "was_requested" },
            await: {
              aggregate_type: "payment",
              event_types: ["was_captured"],
              failure_types: ["was_refused"],
            },
            timeout_ms: MINUTE_MS,
          },
          {
            name: "confirm",
            emit: { aggregate_type: "order", id: "$.id", event_type: "was_confirmed" },
          },
        ],
      },
    },
  },
};

const ORDER = "0RDER0001";
const actor = { type: "user", id: "global" };

function place({ send }: World, id = ORDER) {
  const body = { data: { customer: uuid(1) }, metadata: { actor } };
  return send("POST", `/order/${id}/was_placed`, { body });
}

function pay({ send }: World, type: string, id = ORDER) {
  return send("POST", `/payment/${id}/${type}`, { body: { data: {}, metadata: { actor } } });
}

async function typesIn({ send }: World, stream: string): Promise<string[]> {
  const { body } = await send("GET", `/${stream}/events`);
  return body.data.map(({ event }: { event: { type: string } }) => event.type);
}

async function sagaState({ send }: World): Promise<string> {
  const { body: { data: [{ saga_id }] } } = await send("GET", "/_sagas");
  const { body: { saga } } = await send("GET", `/_sagas/${saga_id}`);
  return saga.state;
}

Deno.test("an order that is paid: implied events, the saga's steps, and no reminder", async () => {
  await withWorld(async (world) => {
    const { send, service, host } = world;
    const placed = await place(world);
    assert.equal(placed.status, 201);
    assert.deepEqual(placed.body, { ok: true, stream_id: "000000000000", implied_count: 2 });
    const customer = await send("GET", `/customer/${uuid(1)}`);
    assert.deepEqual(customer.body.data, { orders: [ORDER] });
    assert.deepEqual(await typesIn(world, "inventory/stock"), ["was_reserved"]);
    assert.deepEqual(await typesIn(world, `payment/${ORDER}`), ["was_requested"]);
    assert.equal(await sagaState(world), "running");
    assert.equal((await send("GET", "/_scheduled")).body.data.length, 1);

    await pay(world, "was_captured");
    assert.deepEqual(await typesIn(world, `order/${ORDER}`), ["was_placed", "was_confirmed"]);
    assert.equal(await sagaState(world), "completed");
    assert.deepEqual((await send("GET", "/_scheduled")).body.data, []);
    host.timeMs += 10 * MINUTE_MS;
    assert.equal(await drain(service), 0);
    assert.deepEqual((await send("GET", "/_errors")).body.data, []);
  }, { spec });
});

Deno.test("what an order has set off can be read from its event", async () => {
  await withWorld(async (world) => {
    const { send, keys } = world;
    await place(world);
    await pay(world, "was_captured");
    const path = `/order/${ORDER}/events/000000000000/effects`;
    const { status, body } = await send("GET", `${path}?depth=2`, { token: keys.test.read });
    assert.deepEqual([status, body.ok, body.complete, body.truncated], [200, true, true, false]);
    const [order, customer] = body.data;
    const had = { key: `customer:${uuid(1)}`, stream_id: "000000000000", event_type: "had_order" };
    assert.deepEqual(order.implied, [had]);
    assert.deepEqual(customer, {
      depth: 1,
      ...had,
      implied: [],
      scheduled: [],
      sagas: [],
      deliveries: [],
    });
    const [{ state, event_type, cancelled_by }] = order.scheduled;
    assert.deepEqual([state, event_type, cancelled_by], ["cancelled", "was_reminded", {
      reason: "event",
      key: `payment:${ORDER}`,
      event_type: "was_captured",
      stream_id: "000000000001",
    }]);
    const [saga] = order.sagas;
    assert.deepEqual([saga.name, saga.state, saga.started], ["fulfilment", "completed", true]);
    const { body: paid } = await send("GET", `/payment/${ORDER}/events/1/effects`);
    assert.deepEqual(paid.data[0].sagas, [{ ...saga, started: false }]);
  }, { spec });
});

Deno.test("an order that nobody pays: a reminder, then the stock is released", async () => {
  await withWorld(async (world) => {
    const { service, host } = world;
    await place(world);
    host.timeMs += 30_000;
    await drain(service);
    assert.deepEqual(await typesIn(world, `order/${ORDER}`), ["was_placed", "was_reminded"]);
    host.timeMs += 30_000;
    await drain(service);
    assert.deepEqual(await typesIn(world, "inventory/stock"), ["was_reserved", "was_released"]);
    assert.equal(await sagaState(world), "compensated");
    await pay(world, "was_captured");
    assert.deepEqual(await typesIn(world, `order/${ORDER}`), ["was_placed", "was_reminded"]);
  }, { spec });
});

Deno.test("many orders at once: every saga ends, the stock is even", async () => {
  await withWorld(async (world) => {
    const ids = Array.from({ length: 40 }, (_, n) => `0RDER${String(n).padStart(4, "0")}`);
    await Promise.all(ids.map((id) => place(world, id)));
    await Promise.all(ids.map((id, n) => pay(world, n % 2 ? "was_captured" : "was_refused", id)));
    await drain(world.service);
    const stock = await typesIn(world, "inventory/stock");
    assert.equal(stock.filter((type) => type === "was_reserved").length, 40);
    assert.equal(stock.filter((type) => type === "was_released").length, 20);
    for (const [state, count] of [["completed", 20], ["compensated", 20], ["running", 0]]) {
      const { body } = await world.send("GET", `/_sagas?state=${state}&limit=200`);
      assert.equal(body.data.length, count, `${state}`);
    }
    for (const [name, count] of [["fulfilment", 40], ["fulfilments", 0]]) {
      const { body } = await world.send("GET", `/_sagas?name=${name}&limit=200`);
      assert.equal(body.data.length, count, `${name}`);
    }
  }, { spec });
});

Deno.test("a scheduled event is shown, and cancelled with a write key alone", async () => {
  await withWorld(async (world) => {
    const { send, service, host, keys } = world;
    await place(world);
    const { body: list } = await send("GET", "/_scheduled?limit=1", { token: keys.test.read });
    const [{ scheduled_id: id, fire_at, key, event_type }] = list.data;
    assert.deepEqual([fire_at, key, event_type], [
      "2026-01-01T00:00:30.000Z",
      `order:${ORDER}`,
      "was_reminded",
    ]);
    const path = `/_scheduled/${id}`;
    assert.equal((await send("DELETE", path, { token: keys.test.read })).status, 403);
    assert.equal((await send("GET", path)).body.scheduled.scheduled_id, id);
    assert.deepEqual((await send("DELETE", path)).body, { ok: true });
    assert.equal((await send("DELETE", path)).status, 404);
    assert.equal((await send("GET", path)).status, 404);
    host.timeMs += 30_000;
    await drain(service);
    assert.deepEqual(await typesIn(world, `order/${ORDER}`), ["was_placed"]);
  }, { spec });
});

Deno.test("what could not be implied is listed under /_errors, newest first", async () => {
  await withWorld(async (world) => {
    const { send, host } = world;
    for (const n of [2, 3]) {
      // Too long for the schema of the customer's event.
      assert.equal((await place(world, uuid(n))).status, 201);
      host.timeMs += 1_000;
    }
    const { body } = await send("GET", "/_errors");
    const keysFound = body.data.map(({ context }: { context: JsonObject }) => context.event_key);
    assert.deepEqual(keysFound, [`order:${uuid(3)}`, `order:${uuid(2)}`]);
    const page = (await send("GET", "/_errors?limit=1")).body;
    assert.deepEqual([page.truncated, page.next_start], [true, page.data[0].error_id]);
    const rest = (await send("GET", `/_errors?start=${page.next_start}`)).body;
    assert.deepEqual([...page.data, ...rest.data], body.data);
    const [first] = body.data;
    assert.equal(first.error_type, "implication_failed");
    assert.deepEqual((await send("GET", `/_errors/${first.error_id}`)).body.error, first);
    host.timeMs += 24 * 60 * MINUTE_MS;
    assert.deepEqual((await send("GET", "/_errors")).body.data, []);
  }, { spec });
});

Deno.test("a bug in what follows never fails the write, and a saga goes on after its timeout", async () => {
  let poison: string | undefined;
  await withWorld(async (world) => {
    const { service, host } = world;
    poison = "customer:";
    assert.equal((await place(world)).status, 201);
    assert.deepEqual(await typesIn(world, `payment/${ORDER}`), ["was_requested"]);
    poison = "inventory:";
    host.timeMs += MINUTE_MS;
    for (let round = 0; round < 3; round++) {
      await service.background.drainTimers(100);
      host.timeMs += MINUTE_MS;
    }
    assert.equal(await sagaState(world), "running", "its compensation cannot be written");
    poison = undefined;
    for (let round = 0; round < 3; round++) {
      host.timeMs += MINUTE_MS;
      await drain(service);
    }
    assert.equal(await sagaState(world), "compensated");
    assert.deepEqual(await typesIn(world, "inventory/stock"), ["was_reserved", "was_released"]);
    assert.deepEqual(await typesIn(world, `customer/${uuid(1)}`), ["had_order"]);
  }, { spec, wrap: (engine) => poisonedEngine(engine, () => poison) });
});
