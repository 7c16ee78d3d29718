/** Every other copy of an erased stream's data is removed, and nothing of other streams. */

import assert from "node:assert/strict";
import { QUEUE_SHARDS } from "../../../src/domain/fairness/work_share.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { poisonedEngine } from "../../support/poisoned_engine.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import type { JsonObject } from "../../../src/domain/json.ts";
import { storeErrorRecord } from "../../../src/store/error_records.ts";
import { listOutbox } from "../../../src/store/reactions/outbox.ts";
import { listSchedules } from "../../../src/store/reactions/schedules.ts";
import { checkStore } from "../../../src/features/checks/check_store.ts";
import { geoSpec, geoWrite, nearbyVans, seen } from "../../support/geo_spec.ts";
import { settleProjections } from "../../support/settle_projections.ts";
import { erase, keysWith } from "../../support/erasure_fixtures.ts";
import { deliver, deliveries, note, withListeners } from "../../support/listener_fixtures.ts";
import {
  depthsOf,
  drain,
  eventsOf,
  reactiveSpec,
  setOff,
  write,
} from "../../support/reactive_spec.ts";
import { FULFILMENT, SHOP } from "../../support/saga_fixtures.ts";
import {
  ACTOR,
  type ServiceFixture,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";

const SECRET = "Grete Samsa";
const ORDER = streamKey("order", uuid(1));
const MINUTE_MS = 60_000;

function outboxOf({ engine }: ServiceFixture) {
  return engine.snapshot(async (tx) => {
    const shards = Array.from({ length: QUEUE_SHARDS.outbox }, (_, shard) => shard);
    const pages = await Promise.all(
      shards.map((shard) => listOutbox(tx, shard, { limit: 100 })),
    );
    return pages.flatMap(({ works }) => works.map(({ place }) => place.stream)).toSorted();
  });
}

Deno.test("what an erased event has set off and nobody has done yet is removed, that of others is done", async () => {
  let poison: string | undefined = "ledger:";
  const wrap = (engine: Engine) => poisonedEngine(engine, () => poison);
  await withService(async (fixture) => {
    const { service, engine, host, tenants: { test } } = fixture;
    for (const number of [1, 2]) {
      const data = { ids: [uuid(10 + number), uuid(20 + number)], text: SECRET + number };
      await write(service, test, setOff(uuid(number), "was_spread", data));
    }
    assert.equal((await keysWith(engine, `${SECRET}1`)).length, 3, "the event and two entries");
    await erase(fixture, ORDER);
    assert.deepEqual(await keysWith(engine, `${SECRET}1`), []);
    assert.deepEqual(new Set(await outboxOf(fixture)), new Set([streamKey("order", uuid(2))]));
    poison = undefined;
    host.timeMs += MINUTE_MS;
    await drain(service);
    assert.equal((await eventsOf(service, test, "ledger", uuid(11))).length, 0);
    assert.equal((await eventsOf(service, test, "ledger", uuid(12))).length, 1);
  }, { spec: reactiveSpec, isDirect: false, wrap });
});

Deno.test("what has failed too often to be tried again is removed too", async () => {
  const wrap = (engine: Engine) => poisonedEngine(engine, () => "ledger:");
  await withService(async (fixture) => {
    const { service, engine, host, tenants: { test } } = fixture;
    for (const number of [1, 2]) {
      const data = { ids: [uuid(10 + number)], text: SECRET + number };
      await write(service, test, setOff(uuid(number), "was_spread", data));
    }
    for (let round = 0; round < 10; round++) {
      host.timeMs += MINUTE_MS;
      await service.background.drainOutbox(100);
    }
    assert.deepEqual(await depthsOf(service), { parked: 2 });
    await erase(fixture, ORDER);
    assert.deepEqual(await depthsOf(service), { parked: 1 });
    assert.deepEqual(await keysWith(engine, `${SECRET}1`), []);
  }, { spec: reactiveSpec, isDirect: false, wrap });
});

Deno.test("scheduled events that an erased stream has set off, or that are for it, never fire", async () => {
  await withService(async (fixture) => {
    const { service, engine, host, tenants: { test } } = fixture;
    for (const number of [1, 2]) await write(service, test, setOff(uuid(number), "was_promised"));
    await erase(fixture, ORDER);
    const left = await engine.snapshot((tx) => listSchedules(tx, test.number, { limit: 10 }));
    assert.deepEqual(left.records.map(({ by }) => by.key), [streamKey("order", uuid(2))]);
    // An event scheduled by an event behind the markers belongs to that event.
    await write(service, test, setOff(uuid(1), "was_promised"));
    host.timeMs += 2 * MINUTE_MS;
    await drain(service);
    const types = (await eventsOf(service, test, "order", uuid(1))).map(({ type }) => type);
    assert.deepEqual(types, ["_was_tombstoned", "was_promised", "was_reminded"]);
    assert.equal((await eventsOf(service, test, "order", uuid(2))).length, 2);
  }, { spec: reactiveSpec });
});

/** A saga whose steps carry data of the order. */
const SAGA_SPEC = { ...SHOP, modules: { sagas: { fulfilment: FULFILMENT } } } as JsonObject;

function place(id: string, data: JsonObject) {
  return {
    form: "single" as const,
    targets: [{ aggregateType: "order", id, events: [{ type: "was_placed", data }] }],
    metadata: { actor: ACTOR },
    requestId: "request-1",
  };
}

async function pay({ service, tenants: { test } }: ServiceFixture, id: string) {
  const events = [{ type: "was_captured", data: { card: SECRET } }];
  const targets = [{ aggregateType: "payment", id, events }];
  const request = { form: "single" as const, targets, metadata: { actor: ACTOR }, requestId: "r" };
  valueOf(await service.data.writeEvents(test, request));
  await drain(service);
}

Deno.test("a saga that an erased stream has started goes on without its data, one that has ended is removed", async () => {
  await withService(async (fixture) => {
    const { service, engine, host, tenants: { test } } = fixture;
    for (const [id, name] of [["o1", `${SECRET} 1`], ["o2", `${SECRET} 2`]] as const) {
      const request = place(id, { sku: "stock", name });
      valueOf(await service.data.writeEvents(test, request));
      await drain(service);
    }
    const sagas = async () => valueOf(await service.data.listSagas(test, {})).data;
    assert.deepEqual((await sagas()).map(({ state }) => state), ["running", "running"]);
    assert.ok((await keysWith(engine, `${SECRET} 1`)).length > 1, "the saga has it");
    await erase(fixture, streamKey("order", "o1"));
    assert.deepEqual(await keysWith(engine, `${SECRET} 1`), []);
    await pay(fixture, "o1");
    const events = await eventsOf(service, test, "order", "o1");
    assert.deepEqual(events.map(({ type }) => type), ["_was_tombstoned", "was_confirmed"]);
    assert.equal((await sagas()).filter(({ state }) => state === "completed").length, 1);
    await erase(fixture, streamKey("order", "o1"));
    const left = await sagas();
    assert.deepEqual(left.map(({ trigger, state }) => [trigger.key, state]), [
      ["order:o2", "running"],
    ]);
    assert.ok((await keysWith(engine, `${SECRET} 2`)).length > 1);
    host.timeMs += MINUTE_MS;
    await drain(service);
    const released = await eventsOf(service, test, "inventory", "stock");
    assert.equal(released.filter(({ type }) => type === "was_released").length, 1);
  }, { spec: SAGA_SPEC });
});

Deno.test("a saga of another stream keeps no data of an erased event that it has awaited", async () => {
  await withService(async (fixture) => {
    const { service, engine, tenants: { test } } = fixture;
    valueOf(await service.data.writeEvents(test, place("o1", { sku: "stock" })));
    await drain(service);
    await pay(fixture, "o1");
    await erase(fixture, streamKey("payment", "o1"));
    assert.deepEqual(await keysWith(engine, SECRET), []);
    const { data } = valueOf(await service.data.listSagas(test, {}));
    assert.deepEqual(data.map(({ state }) => state), ["completed"]);
  }, { spec: SAGA_SPEC });
});

Deno.test("deliveries of an erased stream are removed, what waits is never sent, others are", async () => {
  await withListeners(async (fixture) => {
    const { service, sender, host, test } = fixture;
    sender.answer = ({ payload }) => ({ status: payload.event.key === ORDER ? 500 : 200 });
    for (const number of [1, 2]) await note(service, test, uuid(number), `${SECRET} ${number}`);
    await deliver(service);
    await note(service, test, uuid(1), SECRET);
    await erase(fixture, ORDER);
    const before = sender.sent.length;
    host.timeMs += 10 * MINUTE_MS;
    await deliver(service);
    assert.equal(sender.sent.length, before);
    const states = await Promise.all(
      (["pending", "dead", "dropped", "delivered"] as const).map((state) =>
        deliveries(service, test, state)
      ),
    );
    assert.deepEqual(states.map((found) => found.map(({ event }) => event.key)), [
      [],
      [],
      [],
      [streamKey("order", uuid(2))],
    ]);
    sender.answer = () => ({ status: 200 });
    await note(service, test, uuid(1), "behind the markers");
    await deliver(service);
    assert.equal(sender.sent.at(-1)!.payload.event.data.text, "behind the markers");
  });
});

Deno.test("deliveries that are over are removed with the log of their tries", async () => {
  await withListeners(async (fixture) => {
    const { service, test } = fixture;
    for (const number of [1, 2]) await note(service, test, uuid(number), "one", "two");
    await deliver(service);
    await erase(fixture, ORDER);
    const left = await deliveries(service, test, "delivered");
    const others = streamKey("order", uuid(2));
    assert.deepEqual(left.map(({ event }) => event.key), [others, others]);
  });
});

Deno.test("error records that name an erased stream are removed", async () => {
  await withService(async (fixture) => {
    const { service, engine, tenants: { test } } = fixture;
    await note(service, test, uuid(1), "one");
    await engine.transact((tx) => {
      for (const number of [1, 2]) {
        storeErrorRecord(tx, test.number, {
          error_id: `err_00000000000${number}`,
          error_type: "internal",
          message: "Internal error",
          context: { event_key: streamKey("order", uuid(number)) },
          request_id: "request-1",
          occurred_at: new Date(fixture.host.timeMs).toISOString(),
        });
      }
      return Promise.resolve();
    });
    await erase(fixture, ORDER);
    const { data } = valueOf(await service.data.listErrors(test, {}));
    assert.deepEqual(data.map(({ context }) => context.event_key), [streamKey("order", uuid(2))]);
  });
});

Deno.test("the point of an erased stream is found nowhere, until it has one again", async () => {
  await withService(async (fixture) => {
    const { service, engine, tenants: { test } } = fixture;
    const place = { lat: 48.2, lng: 16.37 };
    for (const number of [1, 2]) {
      valueOf(await service.data.writeEvents(test, geoWrite("van", uuid(number), [seen(place)])));
    }
    assert.equal((await nearbyVans(service, test, place)).entries.length, 2);
    await erase(fixture, streamKey("van", uuid(1)));
    assert.deepEqual((await nearbyVans(service, test, place)).entries.map(({ id }) => id), [
      uuid(2),
    ]);
    assert.deepEqual((await checkStore(engine, true)).faults, []);
    valueOf(await service.data.writeEvents(test, geoWrite("van", uuid(1), [seen(place)])));
    assert.equal((await nearbyVans(service, test, place)).entries.length, 2);
    assert.deepEqual((await checkStore(engine, true)).faults, []);
  }, { spec: geoSpec });
});

Deno.test("rows of projections lose their data with the erasure, and are computed anew from the markers", async () => {
  await withService(async (fixture) => {
    const { service, engine, tenants: { test } } = fixture;
    for (const number of [1, 2]) await note(service, test, uuid(number), `${SECRET} ${number}`);
    const projection = {
      name: "orders_seen",
      for_each: "order",
      sources: { order: "$key" },
      select: { notes: "$.order.notes" },
    };
    valueOf(await service.projections.deploy(test, projection));
    await settleProjections(service);
    await erase(fixture, ORDER);
    assert.deepEqual(await keysWith(engine, `${SECRET} 1`), []);
    await settleProjections(service);
    assert.deepEqual(await keysWith(engine, `${SECRET} 1`), []);
    assert.ok((await keysWith(engine, `${SECRET} 2`)).length > 1, "the other row is there");
  });
});
