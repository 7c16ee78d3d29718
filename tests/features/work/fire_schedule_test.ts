/** Scheduled events fire at their time, exactly once, unless they were cancelled before. */

import assert from "node:assert/strict";
import { limits } from "../../../src/domain/limits.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import { createService, type Service } from "../../../src/features/service.ts";
import {
  drain,
  eventsOf,
  reactiveSpec,
  setOff,
  setOffAll,
  specWithoutLedger,
  write,
} from "../../support/reactive_spec.ts";
import { heldEngine } from "../../support/held_engine.ts";
import { refusalOf, uuid, valueOf, withService } from "../../support/service_fixture.ts";

const options = { spec: reactiveSpec };
const MINUTE_MS = 60_000;

async function listed(service: Service, tenant: Tenant) {
  return valueOf(await service.data.listScheduled(tenant, {})).data;
}

/** How many reminders of an order have fired. */
async function reminders(service: Service, tenant: Tenant, id: string): Promise<number> {
  const events = await eventsOf(service, tenant, "order", id);
  return events.filter(({ type }) => type === "was_reminded").length;
}

Deno.test("a scheduled event fires at its time, with the scheduler as its actor", async () => {
  await withService(async ({ service, host, tenants: { test } }) => {
    const startMs = host.timeMs;
    const written = await write(service, test, setOff(uuid(1), "was_promised"));
    assert.equal(written.impliedCount, 1);
    const [pending] = await listed(service, test);
    host.timeMs = startMs + MINUTE_MS - 1;
    assert.equal(await drain(service), 0);
    host.timeMs = startMs + MINUTE_MS;
    assert.equal(await drain(service), 1);
    const [, event, ...more] = await eventsOf(service, test, "order", uuid(1));
    assert.deepEqual(more, []);
    assert.deepEqual(event!.metadata, {
      actor: { type: "system_agent", id: "event_scheduler" },
      timestamp: (startMs + MINUTE_MS) / 1000,
      scheduled: { scheduled_id: pending!.scheduled_id, fire_at: "2026-01-01T00:01:00.000Z" },
    });
    assert.deepEqual(event!.data, { of: `order:${uuid(1)}` });
    assert.deepEqual(await listed(service, test), []);
    host.timeMs += 100 * MINUTE_MS;
    assert.equal(await drain(service), 0, "and only once");
  }, options);
});

Deno.test("a scheduled event shows what it will write, when, and what cancels it", async () => {
  await withService(async ({ service, tenants: { test, staging } }) => {
    await write(service, test, setOff(uuid(1), "was_promised"));
    const [view] = await listed(service, test);
    assert.deepEqual({ ...view, scheduled_id: "" }, {
      scheduled_id: "",
      fire_at: "2026-01-01T00:01:00.000Z",
      created_at: "2026-01-01T00:00:00.000Z",
      key: `order:${uuid(1)}`,
      event_type: "was_reminded",
      data: { of: `order:${uuid(1)}` },
      cancel_on: [
        { aggregate_type: "order", id: uuid(1), event_type: "was_paid" },
        { aggregate_type: "order", id: "global", event_type: "was_called_off" },
      ],
      scheduled_by: {
        key: `order:${uuid(1)}`,
        event_type: "was_promised",
        stream_id: "000000000000",
      },
    });
    assert.deepEqual(valueOf(await service.data.readScheduled(test, view!.scheduled_id)), view);
    assert.deepEqual(await listed(service, staging), [], "another environment sees nothing");
  }, options);
});

Deno.test("the list of scheduled events comes in pages", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const events = Array.from({ length: 7 }, () => ({ type: "was_promised", data: {} }));
    await write(service, test, setOffAll(uuid(1), events));
    const ids: string[] = [];
    let start: string | undefined;
    do {
      const page = valueOf(await service.data.listScheduled(test, { limit: 3, start }));
      ids.push(...page.data.map(({ scheduled_id }) => scheduled_id));
      start = page.next_start;
    } while (start !== undefined);
    assert.equal(new Set(ids).size, 7);
    assert.deepEqual(ids, [...ids].sort());
  }, options);
});

for (
  const [name, id, type] of [
    ["of its own aggregate", uuid(1), "was_paid"],
    ["of another aggregate", "global", "was_called_off"],
  ] as const
) {
  Deno.test(`a matching event ${name} cancels it`, async () => {
    await withService(async ({ service, host, tenants: { test } }) => {
      await write(service, test, setOff(uuid(1), "was_promised"));
      await write(service, test, setOff(uuid(2), "was_paid"));
      assert.equal((await listed(service, test)).length, 1, "that of another one does not");
      await write(service, test, setOff(id, type));
      assert.deepEqual(await listed(service, test), []);
      host.timeMs += MINUTE_MS;
      assert.equal(await drain(service), 0);
      assert.equal(await reminders(service, test, uuid(1)), 0);
    }, options);
  });
}

Deno.test("events of one batch cancel what came before them in it, and nothing after them", async () => {
  await withService(async ({ service, host, tenants: { test } }) => {
    const types = ["was_promised", "was_promised", "was_paid", "was_promised"];
    const events = types.map((type) => ({ type, data: {} }));
    const written = await write(service, test, setOffAll(uuid(1), events));
    assert.equal(written.impliedCount, 3);
    host.timeMs += MINUTE_MS;
    assert.equal(await drain(service), 1);
    assert.equal(await reminders(service, test, uuid(1)), 1);
  }, options);
});

Deno.test("concurrent writes that share a transaction cancel in their order", async () => {
  await withService(async ({ service, host, tenants: { test } }) => {
    const types = ["was_promised", "was_paid", "was_promised", "was_promised", "was_paid"];
    await Promise.all(types.map((type) => write(service, test, setOff(uuid(1), type))));
    assert.deepEqual(await listed(service, test), []);
    host.timeMs += MINUTE_MS;
    assert.equal(await drain(service), 0);
  }, options);
});

Deno.test("one event cancels any number of scheduled events, and those made after it stay", async () => {
  await withService(async ({ service, host, tenants: { test } }) => {
    const count = 2 * limits.cancelledOneByOneMax;
    const events = Array.from({ length: count }, () => ({ type: "was_promised", data: {} }));
    await write(service, test, setOffAll(uuid(1), events));
    await write(service, test, setOff("global", "was_called_off"));
    assert.deepEqual(await listed(service, test), []);
    await write(service, test, setOff(uuid(1), "was_promised"));
    host.timeMs += MINUTE_MS;
    await drain(service);
    assert.equal(await reminders(service, test, uuid(1)), 1);
    const page = valueOf(await service.data.listScheduled(test, { limit: 200 }));
    assert.deepEqual(page.data, []);
    assert.equal(page.truncated, false, "those that were cancelled are gone at their time");
  }, options);
});

for (const cancelFirst of [true, false]) {
  const order = cancelFirst ? "before" : "after";
  Deno.test(`an event written ${order} the time in the same turn: one of both happens`, async () => {
    await withService(async ({ service, host, tenants: { test } }) => {
      await write(service, test, setOff(uuid(1), "was_promised"));
      host.timeMs += MINUTE_MS;
      const cancel = () => write(service, test, setOff(uuid(1), "was_paid"));
      const fire = () => service.background.drainTimers(1_600);
      await Promise.all(cancelFirst ? [cancel(), fire()] : [fire(), cancel()]);
      await drain(service);
      const types = (await eventsOf(service, test, "order", uuid(1))).map(({ type }) => type);
      const fired = types.filter((type) => type === "was_reminded").length;
      assert.ok(fired <= 1);
      // Either the cancelling event or the fired one came first in the stream.
      if (fired === 1) assert.ok(types.indexOf("was_reminded") < types.indexOf("was_paid"));
      assert.deepEqual(await listed(service, test), []);
    }, options);
  });
}

Deno.test("a mass cancellation and a firing in one transaction: the one that comes first", async () => {
  await withService(async ({ service, host, tenants: { test } }) => {
    const count = limits.cancelledOneByOneMax + 100;
    const events = Array.from({ length: count }, () => ({ type: "was_promised", data: {} }));
    await write(service, test, setOffAll(uuid(1), events));
    host.timeMs += MINUTE_MS;
    await Promise.all([
      service.background.drainTimers(1_600),
      write(service, test, setOff("global", "was_called_off")),
      service.background.drainTimers(1_600),
    ]);
    await drain(service);
    const fired = await reminders(service, test, uuid(1));
    assert.ok(fired <= count);
    assert.deepEqual(await listed(service, test), []);
  }, options);
});

Deno.test("what a mass cancellation has cancelled just before its event is written is not written", async () => {
  await withService(async ({ service, engine, access, host, tenants: { test } }) => {
    const count = limits.cancelledOneByOneMax + 1;
    const events = Array.from({ length: count }, () => ({ type: "was_promised", data: {} }));
    await write(service, test, setOffAll(uuid(1), events));
    host.timeMs += MINUTE_MS;
    const slow = heldEngine(engine);
    const other = createService(slow, host, access);
    const held = slow.hold();
    const firing = other.background.drainTimers(1);
    await held.reached;
    await write(service, test, setOff("global", "was_called_off"));
    held.release();
    await firing;
    await drain(service);
    await other.close();
    assert.equal(await reminders(service, test, uuid(1)), 0);
    assert.deepEqual(await listed(service, test), []);
  }, options);
});

Deno.test("cancelling by hand: it never fires, and is not found a second time", async () => {
  await withService(async ({ service, host, tenants: { test } }) => {
    await write(service, test, setOff(uuid(1), "was_promised"));
    const [{ scheduled_id: id } = { scheduled_id: "" }] = await listed(service, test);
    valueOf(await service.data.cancelScheduled(test, id));
    const read = await service.data.readScheduled(test, id);
    for (const outcome of [read, await service.data.cancelScheduled(test, id)]) {
      assert.equal(refusalOf(outcome).kind, "not_found");
    }
    host.timeMs += MINUTE_MS;
    assert.equal(await drain(service), 0);
    assert.equal(await reminders(service, test, uuid(1)), 0);
  }, options);
});

Deno.test("a fired event sets off what its type implies", async () => {
  await withService(async ({ service, host, tenants: { test } }) => {
    await write(service, test, setOff(uuid(1), "was_delayed"));
    host.timeMs += 10_000;
    await drain(service);
    const [event] = await eventsOf(service, test, "ledger", uuid(1));
    assert.equal(event!.metadata.implied_by!.depth, 1);
    assert.deepEqual(event!.metadata.actor, { type: "system_agent", id: "event_scheduler" });
  }, options);
});

Deno.test("a clock that is set back makes it wait, one that jumps ahead fires it once", async () => {
  await withService(async ({ service, host, tenants: { test } }) => {
    await write(service, test, setOff(uuid(1), "was_promised"));
    host.timeMs -= 100 * MINUTE_MS;
    assert.equal(await drain(service), 0);
    host.timeMs += 1_000 * MINUTE_MS;
    assert.equal(await drain(service), 1);
    host.timeMs -= 900 * MINUTE_MS;
    assert.equal(await drain(service), 0);
    assert.equal(await reminders(service, test, uuid(1)), 1);
  }, options);
});

Deno.test("the worker sleeps until the next timer it saw, and half a second at most", async () => {
  await withService(async ({ service, host, tenants: { test } }) => {
    await drain(service);
    assert.equal(service.background.timerPauseMs(), 500);
    await write(service, test, setOff(uuid(1), "was_promised"));
    host.timeMs += MINUTE_MS - 120;
    await drain(service);
    assert.equal(service.background.timerPauseMs(), 120);
  }, options);
});

Deno.test("it fires after a restart that lasted longer than it had to wait", async () => {
  await withService(async ({ service, engine, host, access, tenants: { test } }) => {
    await write(service, test, setOff(uuid(1), "was_promised"));
    host.timeMs += 10 * MINUTE_MS;
    const next = createService(engine, host, access);
    assert.equal(await drain(next), 1);
    assert.equal(await reminders(next, test, uuid(1)), 1);
    await next.close();
  }, options);
});

Deno.test("one that fits the spec no more at its time becomes an error record", async () => {
  await withService(async ({ service, host, tenants: { test } }) => {
    await write(service, test, setOff(uuid(1), "was_promised"));
    const request = { spec: specWithoutLedger(), force: true, dryRun: false };
    valueOf(await service.specs.deploySpec(test, request));
    host.timeMs += MINUTE_MS;
    assert.equal(await drain(service), 1);
    const { data: [error] } = valueOf(await service.data.listErrors(test, {}));
    assert.equal(error!.context.operation, "fire_scheduled");
    assert.match(error!.message, /'was_reminded' not found in spec/);
    assert.deepEqual(await listed(service, test), []);
  }, options);
});

Deno.test("a later spec does not keep an older schedule from being cancelled", async () => {
  await withService(async ({ service, host, tenants: { test } }) => {
    await write(service, test, setOff(uuid(1), "was_promised"));
    const spec = structuredClone(reactiveSpec);
    // deno-lint-ignore no-explicit-any
    const { events } = (spec.aggregate_types as any).order;
    delete events.was_promised;
    valueOf(await service.specs.deploySpec(test, { spec, force: true, dryRun: false }));
    await write(service, test, setOff(uuid(1), "was_paid"));
    host.timeMs += MINUTE_MS;
    assert.equal(await drain(service), 0);
  }, options);
});
