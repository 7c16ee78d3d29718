/** `GET /{type}/{id}/events/{index}/effects`: everything that follows from an event, and how. */

import assert from "node:assert/strict";
import { PIECE_MS_MAX } from "../../../src/domain/fairness/pieces.ts";
import type { JsonObject } from "../../../src/domain/json.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import {
  type EffectsRequest,
  type EffectsView,
  prepareEffects,
} from "../../../src/features/reactions/read_effects.ts";
import type { Service } from "../../../src/features/service.ts";
import type { StreamKey } from "../../../src/domain/identifier.ts";
import { noteImplied } from "../../../src/store/effects.ts";
import { keys } from "../../../src/store/keys.ts";
import { erase } from "../../support/erasure_fixtures.ts";
import { deliver, scriptedSender, webhookSettings } from "../../support/listener_fixtures.ts";
import { drain, reactiveSpec, setOff, setOffAll, write } from "../../support/reactive_spec.ts";
import { typesOf } from "../../support/saga_fixtures.ts";
import {
  ACTOR,
  refusalOf,
  type ServiceFixture,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { exportText, imported, importText, openService } from "../../support/transfer_fixtures.ts";
import { anyOperator } from "../../support/access_fixtures.ts";

const ID = uuid(1);
const LEDGER = `ledger:${ID}`;
const ORDER = `order:${ID}`;
const FIRST = "000000000000";
const DAY_MS = 24 * 3600 * 1000;

async function effectsOf(
  service: Service,
  tenant: Tenant,
  request: Partial<EffectsRequest> = {},
): Promise<EffectsView> {
  const whole = { aggregateType: "order", id: ID, index: "0", depth: 1, ...request };
  return valueOf(await service.data.readEffects(tenant, whole));
}

/** The only entry of an answer. */
async function only(service: Service, tenant: Tenant, request: Partial<EffectsRequest> = {}) {
  const { data, truncated } = await effectsOf(service, tenant, request);
  assert.deepEqual([data.length, truncated], [1, false]);
  return data[0]!;
}

function withReactions(body: (fixture: ServiceFixture) => Promise<void>, isDirect?: boolean) {
  return withService(body, { spec: reactiveSpec, isDirect });
}

Deno.test("an event that sets nothing off has no effects, and leaves no rows", async () => {
  await withReactions(async ({ service, engine, tenants: { test } }) => {
    await write(service, test, setOff(ID, "was_reminded"));
    assert.deepEqual(await effectsOf(service, test), {
      data: [{
        depth: 0,
        key: ORDER,
        stream_id: FIRST,
        event_type: "was_reminded",
        implied: [],
        scheduled: [],
        sagas: [],
        deliveries: [],
      }],
      complete: true,
      truncated: false,
    });
    const rows = await engine.snapshot((tx) =>
      tx.getRange({
        begin: keys.effects(test.number, "", 0).begin,
        end: keys.allScheduleEffects(test.number).end,
      })
    );
    assert.deepEqual(rows, []);
  });
});

for (const isDirect of [true, false]) {
  Deno.test(`implied events are found, direct or not, and followed (direct: ${isDirect})`, async () => {
    await withReactions(async ({ service, tenants: { test } }) => {
      const ids = [uuid(11), uuid(12), uuid(13)];
      await write(service, test, setOff(ID, "was_reminded"));
      await write(service, test, setOff(ID, "was_spread", { ids }));
      await write(service, test, setOff(uuid(2), "was_spread", { ids: [uuid(12)] }));
      await drain(service);
      const { implied } = await only(service, test, { index: "1" });
      const noted = (id: string) => ({
        key: `ledger:${id}`,
        stream_id: FIRST,
        event_type: "was_noted",
      });
      const byKey = (a: { key: string }, b: { key: string }) => a.key < b.key ? -1 : 1;
      assert.deepEqual(implied.toSorted(byKey), ids.map(noted));
      const other = await only(service, test, { id: uuid(2) });
      assert.deepEqual(other.implied, [{ ...noted(uuid(12)), stream_id: "000000000001" }]);
      const followed = await effectsOf(service, test, { index: "000000000001", depth: 2 });
      assert.deepEqual(followed.data.map(({ depth, key }) => `${depth} ${key}`).toSorted(), [
        `0 ${ORDER}`,
        ...ids.map((id) => `1 ledger:${id}`),
      ]);
    }, isDirect);
  });
}

Deno.test("depth follows a chain of implied events, and no further", async () => {
  await withReactions(async ({ service, tenants: { test } }) => {
    await write(service, test, setOff(ID, "was_echoed"));
    await drain(service);
    for (const depth of [1, 2, 5, 8]) {
      const { data } = await effectsOf(service, test, { depth });
      assert.deepEqual(
        data.map((entry) => [entry.depth, Number(entry.stream_id), entry.implied.length]),
        Array.from({ length: depth }, (_, n) => [n, n, 1]),
      );
    }
  });
});

Deno.test("implied events that are not written yet are pending", async () => {
  await withReactions(async ({ service, tenants: { test } }) => {
    await service.data.pauseReactions(test, "ops");
    await write(service, test, setOff(ID, "was_placed"));
    const pending = { key: LEDGER, event_type: "was_noted", pending: true } as const;
    assert.deepEqual((await only(service, test)).implied, [pending]);
    await service.data.resumeReactions(test);
  });
});

Deno.test("a scheduled event is pending, then fired, with the event that it became", async () => {
  await withReactions(async ({ service, host, tenants: { test } }) => {
    await write(service, test, setOff(ID, "was_delayed"));
    const [pending] = (await only(service, test)).scheduled!;
    const listed = valueOf(await service.data.listScheduled(test, {})).data[0]!;
    const { scheduled_id, fire_at } = listed;
    const common = { scheduled_id, key: ORDER, event_type: "was_placed", fire_at };
    assert.deepEqual(pending, { ...common, state: "pending" });
    host.timeMs += 10_000;
    await drain(service);
    const [fired] = (await only(service, test)).scheduled!;
    const ended_at = new Date(host.timeMs).toISOString();
    assert.deepEqual(fired, { ...common, state: "fired", ended_at, stream_id: "000000000001" });
    const became = await only(service, test, { index: "1" });
    assert.deepEqual(became.implied.map(({ key }) => key), [LEDGER]);
  });
});

Deno.test("a scheduled event tells what has cancelled it: an event, a request or an operator", async () => {
  await withReactions(async ({ service, host, tenants: { test } }) => {
    const reason = async () => {
      const [ended] = (await only(service, test)).scheduled!;
      assert.equal(ended!.state, "cancelled");
      return ended!.cancelled_by;
    };
    await write(service, test, setOff(ID, "was_promised"));
    await write(service, test, setOff(ID, "was_paid"));
    const by = { reason: "event", key: ORDER, event_type: "was_paid", stream_id: "000000000001" };
    assert.deepEqual(await reason(), by);
    host.timeMs += 60_000;
    await drain(service);
    assert.deepEqual(await reason(), by, "it has not fired");
    for (
      const [n, end, told] of [
        [
          2,
          async (id: string) => valueOf(await service.data.cancelScheduled(test, id)),
          "request",
        ],
        [
          3,
          async () =>
            valueOf(
              await service.data.discardReactions(test, { by: "ops", filter: {}, requestId: "r" }),
            ),
          "operator",
        ],
      ] as const
    ) {
      await write(service, test, setOff(uuid(n), "was_promised"));
      const { scheduled_id } = valueOf(await service.data.listScheduled(test, {})).data[0]!;
      await end(scheduled_id);
      const [ended] = (await only(service, test, { id: uuid(n) })).scheduled!;
      assert.deepEqual([ended!.state, ended!.cancelled_by], ["cancelled", { reason: told }]);
    }
  });
});

Deno.test("a scheduled event that could not be written tells so", async () => {
  await withReactions(async ({ service, host, tenants: { test } }) => {
    await write(service, test, setOff(ID, "was_delayed"));
    const spec = { ...reactiveSpec, aggregate_types: typesOf({ order: ["was_delayed"] }) };
    valueOf(await service.specs.deploySpec(test, { spec, force: true, dryRun: false }));
    host.timeMs += 10_000;
    await drain(service);
    const [ended] = (await only(service, test)).scheduled!;
    assert.deepEqual([ended!.state, ended!.cancelled_by], ["cancelled", { reason: "failed" }]);
  });
});

Deno.test("very many that one event cancels at once tell its type, before and after their time", async () => {
  await withReactions(async ({ service, host, tenants: { test } }) => {
    const promised = Array.from({ length: 1_200 }, () => ({ type: "was_promised", data: {} }));
    await write(service, test, setOffAll(ID, promised));
    await write(service, test, setOff("global", "was_called_off"));
    const by = { reason: "event", key: "order:global", event_type: "was_called_off" };
    async function told(index: string) {
      const [ended] = (await only(service, test, { index })).scheduled!;
      assert.equal(ended!.cancelled_by?.stream_id, undefined, "too many to look at each");
      return [ended!.state, ended!.cancelled_by];
    }
    for (const index of ["0", "1199"]) {
      assert.deepEqual(await told(index), ["cancelled", by]);
    }
    host.timeMs += 61_000;
    await drain(service);
    assert.deepEqual(await told("1199"), ["cancelled", by]);
  });
});

Deno.test("what has ended is known for thirty days; then the answer is not complete", async () => {
  await withReactions(async ({ service, engine, host, tenants: { test } }) => {
    await write(service, test, setOff(ID, "was_delayed"));
    await write(service, test, setOff(uuid(2), "was_promised"));
    host.timeMs += 10_000;
    await drain(service);
    const all = keys.allScheduleEffects(test.number);
    const rows = async () => (await engine.snapshot((tx) => tx.getRange(all))).length;
    const sweepAll = async () => {
      for (let turn = 0; turn < 20; turn++) await service.background.sweep(50);
    };
    host.timeMs += 29 * DAY_MS;
    await sweepAll();
    assert.equal((await effectsOf(service, test)).data[0]!.scheduled!.length, 1);
    assert.equal((await effectsOf(service, test)).complete, true);
    host.timeMs += 2 * DAY_MS;
    await sweepAll();
    assert.equal(await rows(), 1, "the other one has not ended");
    const late = await effectsOf(service, test);
    assert.deepEqual([late.data[0]!.scheduled, late.complete], [[], false]);
    await write(service, test, setOff(uuid(3), "was_reminded"));
    assert.equal((await effectsOf(service, test, { id: uuid(3) })).complete, true);
  });
});

const sagaSpec: JsonObject = {
  agent_types: ["user"],
  aggregate_types: typesOf({
    order: ["was_placed", "was_confirmed"],
    payment: ["was_requested", "was_captured", "was_refused"],
  }),
  modules: {
    sagas: {
      charging: {
        trigger: { aggregate_type: "order", event_type: "was_placed" },
        steps: [{
          name: "charge",
          emit: { aggregate_type: "payment", id: "$.id", event_type: "was_requested" },
          await: {
            aggregate_type: "payment",
            event_types: ["was_captured"],
            failure_types: ["was_refused"],
          },
          timeout_ms: 60_000,
        }, {
          name: "confirm",
          emit: { aggregate_type: "order", id: "$.id", event_type: "was_confirmed" },
        }],
      },
    },
  },
};

function captured() {
  return {
    form: "single" as const,
    targets: [{
      aggregateType: "payment",
      id: ID,
      events: [{ type: "was_captured", data: {} }],
    }],
    metadata: { actor: ACTOR },
    requestId: "request-2",
  };
}

Deno.test("sagas that an event has started or moved on are shown with their steps", async () => {
  await withService(async ({ service, engine, host, tenants: { test } }) => {
    await write(service, test, setOff(ID, "was_placed"));
    await drain(service);
    const [started] = (await only(service, test)).sagas!;
    assert.deepEqual([started!.name, started!.state, started!.started], [
      "charging",
      "running",
      true,
    ]);
    assert.deepEqual(started!.steps.map(({ step, outcome }) => `${step} ${outcome}`), [
      "charge emitted",
    ]);
    valueOf(await service.data.writeEvents(test, captured()));
    await drain(service);
    const whole = valueOf(await service.data.readSaga(test, started!.saga_id));
    const view = { saga_id: whole.saga_id, name: "charging", state: "completed" };
    const moved = await only(service, test, { aggregateType: "payment", index: "1" });
    assert.deepEqual(moved.sagas, [{ ...view, started: false, steps: whole.history }]);
    assert.deepEqual((await only(service, test)).sagas, [
      { ...view, started: true, steps: whole.history },
    ]);
    for (const [aggregateType, index] of [["payment", "0"], ["order", "1"]] as const) {
      const own = await only(service, test, { aggregateType, index });
      assert.deepEqual(own.sagas, [], "what the saga has written has not moved it on");
    }
    host.timeMs += 31 * DAY_MS;
    for (let turn = 0; turn < 20; turn++) await service.background.sweep(50);
    for (const [stream, index] of [[ORDER, 0], [`payment:${ID}`, 1]] as const) {
      const rows = keys.effects(test.number, stream, index);
      assert.deepEqual(await engine.snapshot((tx) => tx.getRange(rows)), []);
    }
  }, { spec: sagaSpec });
});

const hookSpec: JsonObject = {
  ...reactiveSpec,
  modules: {
    listeners: {
      hook: {
        url: "https://hook.example.com/hook",
        secret: "0123456789abcdef",
        events: ["order.was_paid"],
      },
    },
  },
};

Deno.test("deliveries are shown by listener, while they are pending and after", async () => {
  const sender = scriptedSender();
  await withService(async (fixture) => {
    const { service, engine, host, tenants: { test } } = fixture;
    await write(service, test, setOff(ID, "was_paid"));
    const [pending] = (await only(service, test)).deliveries!;
    assert.deepEqual([pending!.listener, pending!.state], ["hook", "pending"]);
    await deliver(service);
    const [ended] = (await only(service, test)).deliveries!;
    const page = valueOf(
      await service.data.listDeliveries(test, { listener: "hook" } as never),
    );
    const { delivery_id, state } = page.data[0]!;
    assert.deepEqual(ended, { listener: "hook", delivery_id, state });
    assert.equal(ended!.delivery_id, pending!.delivery_id);
    host.timeMs += 60 * DAY_MS;
    for (let turn = 0; turn < 20; turn++) await service.background.sweep(50);
    const rows = keys.effects(test.number, ORDER, 0);
    assert.deepEqual(await engine.snapshot((tx) => tx.getRange(rows)), [], "gone with its record");
  }, { spec: hookSpec, webhooks: webhookSettings(sender) });
});

Deno.test("of an erased event only its implied events are shown, and of those that were erased", async () => {
  const sender = scriptedSender();
  await withService(async (fixture) => {
    const { service, tenants: { test } } = fixture;
    await write(service, test, setOff(ID, "was_placed"));
    await write(service, test, setOff(ID, "was_delayed"));
    await write(service, test, setOff(ID, "was_paid"));
    await drain(service);
    await deliver(service);
    await erase(fixture, ORDER);
    const erased = { depth: 0, key: ORDER, erased: true };
    const implied = [{ key: LEDGER, stream_id: FIRST, event_type: "was_noted" }];
    assert.deepEqual(await only(service, test), { ...erased, stream_id: FIRST, implied });
    for (const index of ["1", "2"]) {
      const stream_id = `00000000000${index}`;
      assert.deepEqual(await only(service, test, { index }), { ...erased, stream_id, implied: [] });
    }
    await erase(fixture, LEDGER);
    const gone = [{ key: LEDGER, stream_id: FIRST, erased: true }];
    assert.deepEqual((await only(service, test)).implied, gone);
  }, { spec: hookSpec, webhooks: webhookSettings(sender) });
});

Deno.test("an answer is bounded, and says that it ended early", async () => {
  await withReactions(async ({ service, tenants: { test } }) => {
    const ids = Array.from({ length: 600 }, (_, n) => uuid(n + 100));
    await write(service, test, setOff(ID, "was_spread", { ids }));
    await drain(service);
    const { data, truncated } = await effectsOf(service, test, { depth: 8 });
    assert.equal(truncated, true);
    assert.ok(data.length <= 1_000 && data[0]!.implied.length >= 500);
  });
});

/** Texts that make an implied event just too large for one value of the store. */
const LARGE_TEXT = "a".repeat(99_600);

Deno.test("large implied events that wait are read one at a time, up to the bytes of an answer", async () => {
  let [ms, turns] = [0, 0];
  const realHost = {
    monotonicMs: () => ms += PIECE_MS_MAX,
    yieldTurn: () => Promise.resolve(void turns++),
  };
  await withService(async ({ service, engine, tenants: { test } }) => {
    await service.data.pauseReactions(test, "ops");
    const ids = Array.from({ length: 70 }, (_, n) => uuid(n + 100));
    for (const id of [ID, uuid(2)]) {
      await write(service, test, setOff(id, "was_spread", { ids, text: LARGE_TEXT }));
    }
    const before = turns;
    assert.equal((await only(service, test)).implied.length, 70);
    assert.ok(turns - before >= 70, `${turns - before}`);
    const second = { stream: `order:${uuid(2)}` as StreamKey, index: 0 };
    await engine.transact((tx) => {
      noteImplied(tx, test.number, { stream: ORDER as StreamKey, index: 0 }, [second]);
      return Promise.resolve();
    });
    const { data, truncated } = await effectsOf(service, test, { depth: 2 });
    assert.equal(truncated, true);
    const counts = data.map(({ implied }) => implied.length);
    assert.equal(counts[0], 71);
    assert.ok(counts[1]! > 5 && counts[1]! < 20, `${counts}`);
  }, { spec: reactiveSpec, realHost, isDirect: false });
});

Deno.test("an answer shows every event that was read for it", async () => {
  await withReactions(async ({ service, engine, tenants: { test } }) => {
    await write(service, test, setOff(ID, "was_reminded"));
    const others = Array.from({ length: 998 }, (_, n) => uuid(n + 100));
    for (const id of others) await write(service, test, setOff(id, "was_reminded"));
    const implied = others.map((id) => ({ stream: `order:${id}` as StreamKey, index: 0 }));
    await engine.transact((tx) => {
      noteImplied(tx, test.number, { stream: ORDER as StreamKey, index: 0 }, implied);
      return Promise.resolve();
    });
    assert.equal((await only(service, test)).implied.length, 998);
    await engine.transact((tx) => {
      noteImplied(tx, test.number, { stream: ORDER as StreamKey, index: 0 }, [
        ...implied,
        ...implied,
      ]);
      return Promise.resolve();
    });
    const { data, truncated } = await effectsOf(service, test);
    assert.deepEqual([data[0]!.implied.length, truncated], [999, true]);
  });
});

Deno.test("an unknown type, id, index or event is refused", async () => {
  await withReactions(async ({ service, tenants: { test } }) => {
    await write(service, test, setOff(ID, "was_paid"));
    for (
      const [change, kind] of [
        [{ aggregateType: "parcel" }, "aggregate_type_unknown"],
        [{ id: "short" }, "identifier_invalid"],
        [{ index: "-1" }, "invalid_index"],
        [{ index: "first" }, "invalid_index"],
        [{ index: "1" }, "not_found"],
        [{ id: uuid(9) }, "not_found"],
      ] as const
    ) {
      const request = { aggregateType: "order", id: ID, index: "0", depth: 1, ...change };
      assert.equal(refusalOf(await service.data.readEffects(test, request)).kind, kind);
    }
  });
});

Deno.test("events from before effects were noted, or from elsewhere, are not complete", async () => {
  await withReactions(async ({ service, engine, host, tenants: { test } }) => {
    await write(service, test, setOff(ID, "was_delayed"));
    await prepareEffects(engine, host.timeMs + 5_000);
    await prepareEffects(engine, host.timeMs + 90_000_000);
    assert.equal((await effectsOf(service, test)).complete, false);
    host.timeMs += 6_000;
    await write(service, test, setOff(uuid(2), "was_delayed"));
    assert.equal((await effectsOf(service, test, { id: uuid(2) })).complete, true);
    const text = await exportText(engine, host, test);
    await withTemporaryEngine(async (other) => {
      const to = fakeHost("other");
      to.timeMs = host.timeMs + 60_000;
      await prepareEffects(other, to.timeMs);
      const { instanceId } = imported(await importText(other, to, text));
      const { service: there, close } = openService(other, to, "test");
      const tenant = valueOf(await there.access.resolveTenant(anyOperator, instanceId, "test"));
      const moved = await effectsOf(there, tenant, { id: uuid(2) });
      assert.deepEqual(moved.data[0]!.scheduled!.map(({ state }) => state), ["pending"]);
      assert.equal(moved.complete, false);
      await close();
    });
  });
});
