/** One write's reactions share a budget over all depths; what exceeds it is reported once. */

import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import { limits } from "../../../src/domain/limits.ts";
import { hourOf } from "../../../src/domain/reaction/root.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import type { Service } from "../../../src/features/service.ts";
import { countRecurring } from "../../../src/store/reactions/roots.ts";
import { drain } from "../../support/reactive_spec.ts";
import { ACTOR, uuid, valueOf, withService } from "../../support/service_fixture.ts";

const plain = { schema: true, handler: [] };
const HOUR_MS = 3_600_000;

/** One aggregate type, `loop`, with what each of its event types implies. */
function loopSpec(implications: Record<string, JsonValue>, more: JsonObject = {}): JsonObject {
  const events = Object.fromEntries(
    Object.entries(implications).map((
      [type, implied],
    ) => [type, { ...plain, ...(implied !== null && { implications: implied }) }]),
  );
  return { aggregate_types: { loop: { events } }, agent_types: ["user"], ...more };
}

function emitOf(eventType: string, id: JsonValue = "$.id"): JsonObject {
  return { aggregate_type: "loop", id, event_type: eventType, data: "$.data" };
}

function times(count: number, eventType: string): JsonObject[] {
  return Array.from({ length: count }, () => ({ emit: emitOf(eventType) }));
}

function looped(type: string, count = 1, id = uuid(1)) {
  const events = Array.from({ length: count }, () => ({ type, data: {} }));
  return {
    form: count === 1 ? "single" as const : "batch" as const,
    targets: [{ aggregateType: "loop", id, events }],
    metadata: { actor: ACTOR },
    requestId: "request-1",
  };
}

async function lengthOf(service: Service, tenant: Tenant, id = uuid(1)): Promise<number> {
  return valueOf(await service.data.readLength(tenant, "loop", id));
}

async function errorsOf(service: Service, tenant: Tenant) {
  return valueOf(await service.data.listErrors(tenant, { limit: 50 })).data;
}

async function untilStill(service: Service): Promise<void> {
  while (await drain(service) > 0);
}

Deno.test("an event with 100 implications of its own type ends after 10,000 events", async () => {
  const spec = loopSpec({ was_looped: times(100, "was_looped") });
  await withService(async ({ service, host, tenants: { test } }) => {
    const written = valueOf(await service.data.writeEvents(test, looped("was_looped")));
    assert.equal(written.impliedCount, 100);
    host.timeMs += 2_000;
    await untilStill(service);
    assert.equal(await lengthOf(service, test), 1 + 10_000);
    const [error, ...more] = await errorsOf(service, test);
    assert.deepEqual(more, []);
    assert.equal(error!.error_type, "reaction_limit_exceeded");
    assert.equal(error!.context.root_key, `loop:${uuid(1)}`);
    assert.equal(error!.context.set_off, 10_000);
    assert.equal(error!.context.limit, 10_000);
    assert.equal(error!.request_id, "request-1");
    const { errorRecords } = service.operations.counters;
    assert.equal(errorRecords.get("reaction_limit_exceeded"), 1);
  }, { spec });
});

Deno.test("a branch may have all that the others do not need", async () => {
  const spec = loopSpec({
    was_begun: [...times(60, "was_noted"), ...times(1, "was_spread")],
    was_spread: times(99, "was_widened"),
    was_widened: times(99, "was_noted"),
    was_noted: null,
  });
  await withService(async ({ service, host, tenants: { test } }) => {
    valueOf(await service.data.writeEvents(test, looped("was_begun")));
    host.timeMs += 2_000;
    await untilStill(service);
    assert.equal(await lengthOf(service, test), 1 + 61 + 99 + 99 * 99);
    assert.deepEqual(await errorsOf(service, test), [], "that is 9,961");
  }, { spec });
});

Deno.test("the events of a batch share one budget, and writes do not", async () => {
  const spec = loopSpec({ was_looped: times(70, "was_looped") });
  await withService(async ({ service, host, tenants: { test } }) => {
    valueOf(await service.data.writeEvents(test, looped("was_looped", 100)));
    valueOf(await service.data.writeEvents(test, looped("was_looped", 1, uuid(2))));
    host.timeMs += 2_000;
    await untilStill(service);
    assert.equal(await lengthOf(service, test), 100 + 10_000);
    assert.equal(await lengthOf(service, test, uuid(2)), 1 + 10_000);
    assert.equal((await errorsOf(service, test)).length, 2);
  }, { spec });
});

Deno.test("scheduled events draw on the budget of the write that set them", async () => {
  const spec = loopSpec({
    was_begun: [{ schedule: { delay: "10s", emit: emitOf("was_looped") } }],
    was_looped: times(100, "was_looped"),
  });
  await withService(async ({ service, host, tenants: { test } }) => {
    valueOf(await service.data.writeEvents(test, looped("was_begun")));
    host.timeMs += 10_000;
    await untilStill(service);
    host.timeMs += 2_000;
    await untilStill(service);
    assert.equal(await lengthOf(service, test), 1 + 10_000);
    assert.equal((await errorsOf(service, test)).length, 1);
  }, { spec });
});

Deno.test("a timer that sets itself again goes on beyond the budget of its root", async () => {
  const again = { schedule: { delay: "10s", emit: emitOf("was_ticked") } };
  const spec = loopSpec({
    was_begun: [again, ...times(99, "was_wide")],
    was_wide: times(100, "was_noted"),
    was_ticked: [again],
    was_noted: null,
  });
  await withService(async ({ service, host, tenants: { test } }) => {
    valueOf(await service.data.writeEvents(test, looped("was_begun")));
    host.timeMs += 2_000;
    await untilStill(service);
    const before = await lengthOf(service, test);
    assert.equal(before, 1 + 9_999, "one of the 10,000 is a timer that has not fired");
    for (let round = 1; round <= 5; round++) {
      host.timeMs += 10_000;
      await untilStill(service);
      assert.equal(await lengthOf(service, test), before + round);
    }
  }, { spec });
});

Deno.test("recurring timers fire in the next hour where this one is spent", async () => {
  const again = { schedule: { delay: "10s", emit: emitOf("was_ticked") } };
  const spec = loopSpec({ was_ticked: [again, ...times(3, "was_noted")], was_noted: null });
  await withService(async ({ service, engine, host, tenants: { test } }) => {
    valueOf(await service.data.writeEvents(test, looped("was_ticked")));
    host.timeMs += 10_000;
    await untilStill(service);
    assert.equal(await lengthOf(service, test), 4 + 4, "the first that the root's budget is for");
    const hour = hourOf(host.timeMs);
    const left = 3;
    await engine.transact((tx) => {
      const spent = limits.recurringEventsPerHourMax - left;
      countRecurring(tx, test.number, { hour, events: spent, subject: "other timers" });
      return Promise.resolve();
    });
    host.timeMs += 10_000;
    await untilStill(service);
    assert.equal(await lengthOf(service, test), 8 + 1 + 2, "the timer, and two of three events");
    const [error, ...more] = await errorsOf(service, test);
    assert.deepEqual([error!.error_type, more], ["reaction_limit_exceeded", []]);
    host.timeMs += 10_000;
    await untilStill(service);
    assert.equal(await lengthOf(service, test), 11, "the next one waits");
    host.timeMs = (hour + 2) * HOUR_MS - 1;
    await untilStill(service);
    assert.equal(await lengthOf(service, test), 11 + 4);
  }, { spec });
});

const saga = {
  trigger: { aggregate_type: "loop", event_type: "was_begun" },
  steps: [
    { name: "first", emit: emitOf("was_noted") },
    { name: "second", emit: emitOf("was_noted") },
  ],
};

Deno.test("sagas draw on the budget of their trigger's root before they start", async () => {
  const spec = loopSpec(
    {
      was_widened: times(99, "was_spread"),
      was_spread: times(50, "was_begun"),
      was_begun: null,
      was_noted: null,
    },
    { modules: { sagas: { follow: saga } } },
  );
  await withService(async ({ service, host, tenants: { test } }) => {
    valueOf(await service.data.writeEvents(test, looped("was_widened")));
    host.timeMs += 2_000;
    await untilStill(service);
    // 99 and 4,950 are implied; 2 for each saga fit into the 4,951 that are left.
    assert.equal(await lengthOf(service, test), 1 + 99 + 4_950 + 2 * 2_475);
    const [error, ...more] = await errorsOf(service, test);
    assert.deepEqual(more, []);
    assert.equal(error!.error_type, "reaction_limit_exceeded");
  }, { spec });
});

Deno.test("a deploy that takes implications out stops what waits because of them", async () => {
  const looping = loopSpec({ was_looped: times(100, "was_looped"), was_noted: null });
  await withService(async ({ service, host, tenants: { test } }) => {
    const writing = service.data.writeEvents(test, looped("was_looped"));
    while (await lengthOf(service, test) === 0) await host.yieldTurn();
    const still = loopSpec({ was_looped: null, was_noted: null });
    valueOf(await service.specs.deploySpec(test, { spec: still, force: false, dryRun: false }));
    valueOf(await writing);
    host.timeMs += 2_000;
    await untilStill(service);
    const length = await lengthOf(service, test);
    assert.ok(length < 10_001, `${length} events`);
    const types = (await errorsOf(service, test)).map(({ error_type }) => error_type);
    assert.equal(types.filter((type) => type === "implication_dropped").length, 1);
    host.timeMs += 60_000;
    await untilStill(service);
    assert.equal(await lengthOf(service, test), length);
  }, { spec: looping });
});
