/** Which implied events are written in the transaction of their trigger, and which are not. */

import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/domain/json.ts";
import type { StoredEvent } from "../../../src/domain/event.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import { wrapEngine } from "../../../src/kv/calls.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import type { Service } from "../../../src/features/service.ts";
import { faultyEngine } from "../../support/faulty_engine.ts";
import { poisonedEngine } from "../../support/poisoned_engine.ts";
import { drain, eventsOf, setOff, setOffAll, write } from "../../support/reactive_spec.ts";
import { ACTOR, uuid, valueOf, withService } from "../../support/service_fixture.ts";

const plain = { schema: true, handler: [] };

/** One event for each of `data.lines`, in the ledger that the line names. */
function listed(eventType: string) {
  const emit = {
    aggregate_type: "ledger",
    id: "$item.id",
    event_type: eventType,
    data: { number: "$item.number" },
  };
  return { map: { in: "$.data.lines", emit } };
}

const spec: JsonObject = {
  agent_types: ["user"],
  aggregate_types: {
    order: {
      events: {
        was_placed: { ...plain, implications: [listed("was_noted")] },
        was_begun: { ...plain, implications: [listed("was_begun"), listed("was_noted")] },
        was_promised: {
          ...plain,
          implications: [{
            schedule: {
              delay: "60s",
              emit: { aggregate_type: "order", id: "$.id", event_type: "was_reminded", data: {} },
              cancel_on: [{ aggregate_type: "ledger", id: "$.id", event_type: "was_noted" }],
            },
          }],
        },
        was_doubled: {
          ...plain,
          implications: [{
            emit: { aggregate_type: "order", id: "$.id", event_type: "was_reminded", data: {} },
          }],
        },
        was_reminded: plain,
        was_shown: { ...plain, implications: [listed("was_shown")] },
      },
    },
    ledger: {
      events: {
        was_noted: {
          handler: [],
          schema: {
            type: "object",
            properties: { number: { type: "integer", maximum: 100 } },
            required: ["number"],
          },
        },
        was_begun: {
          ...plain,
          implications: [{
            emit: { aggregate_type: "order", id: "$.id", event_type: "was_reminded", data: {} },
          }],
        },
        was_opened: plain,
        was_shown: plain,
      },
    },
  },
};

/** The same spec with a saga that waits for an event in a ledger. */
const sagaSpec: JsonObject = {
  ...spec,
  modules: {
    sagas: {
      waiting: {
        trigger: { aggregate_type: "order", event_type: "was_reminded" },
        steps: [{
          name: "note",
          emit: { aggregate_type: "ledger", id: "$.id", event_type: "was_opened", data: {} },
          await: { aggregate_type: "ledger", id: "$.id", event_types: ["was_shown"] },
        }],
      },
    },
  },
};

interface Line {
  readonly id: string;
  readonly number: number;
}

function place(service: Service, tenant: Tenant, id: string, lines: readonly Line[]) {
  return write(service, tenant, setOff(id, "was_placed", { lines: lines as never }));
}

/** Counts transactions. */
function counting(inner: (engine: Engine) => Engine = (engine) => engine) {
  const counter = {
    count: 0,
    wrap(engine: Engine): Engine {
      const wrapped = inner(engine);
      return wrapEngine(wrapped, {
        transact(body) {
          counter.count++;
          return wrapped.transact(body);
        },
      });
    },
  };
  return counter;
}

function numbersOf(events: readonly StoredEvent[]) {
  return events.map(({ data }) => data.number);
}

Deno.test("a trigger and what it implies are one transaction", async () => {
  const counter = counting();
  await withService(async ({ service, host, tenants: { test } }) => {
    counter.count = 0;
    const lines = [1, 2, 3].map((n) => ({ id: uuid(n), number: n }));
    assert.equal((await place(service, test, uuid(9), lines)).impliedCount, 3);
    assert.equal(counter.count, 1);
    const timestamp = Math.floor(host.timeMs / 1000);
    const by = { key: `order:${uuid(9)}`, event_type: "was_placed", stream_id: "000000000000" };
    for (const n of [1, 2, 3]) {
      assert.deepEqual(await eventsOf(service, test, "ledger", uuid(n)), [{
        key: `ledger:${uuid(n)}`,
        type: "was_noted",
        data: { number: n },
        metadata: { actor: ACTOR, timestamp, implied_by: { ...by, depth: 1 } },
      }]);
    }
    assert.equal(service.operations.counters.eventsWritten.get("implied"), 3);
    host.timeMs += 60_000;
    assert.equal(await drain(service), 0, "nothing is left in the outbox");
  }, { spec, wrap: counter.wrap });
});

Deno.test("triggers that share a transaction imply into one stream in their order", async () => {
  const counter = counting();
  await withService(async ({ service, tenants: { test } }) => {
    counter.count = 0;
    const numbers = Array.from({ length: 50 }, (_, n) => n);
    await Promise.all(
      numbers.map((number) => place(service, test, uuid(number), [{ id: uuid(99), number }])),
    );
    assert.equal(counter.count, 1);
    assert.deepEqual(numbersOf(await eventsOf(service, test, "ledger", uuid(99))), numbers);
  }, { spec, wrap: counter.wrap });
});

Deno.test("to a stream that is being written it goes through the outbox", async () => {
  const counter = counting();
  await withService(async ({ service, tenants: { test } }) => {
    counter.count = 0;
    const noted = setOff(uuid(1), "was_noted", { number: 7 });
    const targets = noted.targets.map((target) => ({ ...target, aggregateType: "ledger" }));
    const metadata = { actor: ACTOR, previous_length: 0 };
    const [, direct] = await Promise.all([
      place(service, test, uuid(2), [{ id: uuid(1), number: 1 }]),
      service.data.writeEvents(test, { ...noted, targets, metadata }),
    ]);
    // The client's guard holds, although the trigger came first.
    valueOf(direct);
    assert.equal(counter.count, 2);
    assert.deepEqual(numbersOf(await eventsOf(service, test, "ledger", uuid(1))), [7, 1]);
  }, { spec, wrap: counter.wrap });
});

Deno.test("what is implied into the stream of its own trigger comes after all of the write", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const events = [1, 2].map(() => ({ type: "was_doubled", data: {} }));
    await write(service, test, setOffAll(uuid(1), events));
    const types = (await eventsOf(service, test, "order", uuid(1))).map(({ type }) => type);
    assert.deepEqual(types, ["was_doubled", "was_doubled", "was_reminded", "was_reminded"]);
  }, { spec });
});

Deno.test("of many events for one stream some go through the outbox, and none overtakes another", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const lines = Array.from({ length: 40 }, (_, number) => ({ id: uuid(1), number }));
    await place(service, test, uuid(2), lines);
    const numbers = lines.map(({ number }) => number);
    assert.deepEqual(numbersOf(await eventsOf(service, test, "ledger", uuid(1))), numbers);
    // The first implied event has implications itself, so it goes to the outbox; the second
    // waits for it.
    const begun = setOff(uuid(3), "was_begun", { lines: [{ id: uuid(4), number: 1 }] });
    await write(service, test, begun);
    const types = (await eventsOf(service, test, "ledger", uuid(4))).map(({ type }) => type);
    assert.deepEqual(types, ["was_begun", "was_noted"]);
    assert.equal((await eventsOf(service, test, "order", uuid(4))).length, 1);
  }, { spec });
});

Deno.test("an event that its type does not take is an error record, and the others are written", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const lines = [1, 200, 3].map((number, n) => ({ id: uuid(n), number }));
    await place(service, test, uuid(9), lines);
    const lengths = lines.map(({ id }) => service.data.readLength(test, "ledger", id));
    assert.deepEqual((await Promise.all(lengths)).map(valueOf), [1, 0, 1]);
    const { data } = valueOf(await service.data.listErrors(test, {}));
    assert.deepEqual(data.map(({ context }) => context.implied_key), [`ledger:${uuid(1)}`]);
  }, { spec });
});

Deno.test("an implied event cancels what is scheduled until then", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    await write(service, test, setOff(uuid(1), "was_promised"));
    assert.equal(valueOf(await service.data.listScheduled(test, {})).data.length, 1);
    await place(service, test, uuid(2), [{ id: uuid(1), number: 1 }]);
    assert.deepEqual(valueOf(await service.data.listScheduled(test, {})).data, []);
  }, { spec });
});

for (const later of [undefined, spec]) {
  const when = later === undefined ? "of the current spec" : "that the current spec has no more";
  Deno.test(`an implied event is shown to a saga ${when}`, async () => {
    await withService(async ({ service, tenants: { test } }) => {
      await write(service, test, setOff(uuid(1), "was_reminded"));
      const states = async () =>
        valueOf(await service.data.listSagas(test, {})).data.map(({ state }) => state);
      assert.deepEqual(await states(), ["running"]);
      if (later !== undefined) {
        const request = { spec: later, force: true, dryRun: false };
        valueOf(await service.specs.deploySpec(test, request));
      }
      const lines = [{ id: uuid(1), number: 1 }];
      await write(service, test, setOff(uuid(2), "was_shown", { lines }));
      assert.deepEqual(await states(), ["completed"]);
    }, { spec: sagaSpec });
  });
}

Deno.test("a stream that cannot be written never keeps a trigger from being written", async () => {
  let poison: string | undefined;
  const wrap = (engine: Engine) => poisonedEngine(engine, () => poison);
  await withService(async ({ service, host, tenants: { test } }) => {
    poison = `ledger:${uuid(1)}`;
    for (const n of [1, 2]) await place(service, test, uuid(n), [{ id: uuid(n), number: n }]);
    for (const n of [1, 2]) {
      assert.equal((await eventsOf(service, test, "order", uuid(n))).length, 1);
    }
    assert.equal((await eventsOf(service, test, "ledger", uuid(2))).length, 1);
    assert.equal((await eventsOf(service, test, "ledger", uuid(1))).length, 0);
    poison = undefined;
    host.timeMs += 60_000;
    assert.equal(await drain(service), 1);
    assert.equal((await eventsOf(service, test, "ledger", uuid(1))).length, 1);
  }, { spec, wrap });
});

Deno.test("after a conflict what is implied goes through the outbox for a second", async () => {
  let conflicts = 0;
  const counter = counting((engine) =>
    faultyEngine(engine, () => conflicts-- > 0 ? { kind: "conflict", times: 1 } : undefined)
  );
  await withService(async ({ service, host, tenants: { test } }) => {
    async function transactionsOf(number: number): Promise<number> {
      counter.count = 0;
      await place(service, test, uuid(number), [{ id: uuid(99), number }]);
      return counter.count;
    }
    conflicts = 1;
    assert.equal(await transactionsOf(1), 2);
    assert.equal(await transactionsOf(2), 2);
    host.timeMs += 1_000;
    assert.equal(await transactionsOf(3), 1);
    assert.deepEqual(numbersOf(await eventsOf(service, test, "ledger", uuid(99))), [1, 2, 3]);
  }, { spec, wrap: counter.wrap });
});
