/**
 * Requesting an erasure: refusals, the grace period, and cancelling. See
 * docs/reference/erasure.md.
 */

import assert from "node:assert/strict";
import type { Environment } from "../../../src/domain/tenant.ts";
import { drainErasures, erasureOf, eventsOf } from "../../support/erasure_fixtures.ts";
import { copyOfExampleSpec } from "../../support/example_spec.ts";
import {
  noteWrite,
  orderWrite,
  refusalOf,
  type ServiceFixture,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";

const HOUR_MS = 3_600_000;
const ORDER = `order:${uuid(1)}`;

async function typesOf({ service, tenants }: ServiceFixture, environment: Environment = "test") {
  const events = await eventsOf(service, tenants[environment], uuid(1));
  return events.map(({ raw }) => JSON.parse(raw).type);
}

async function work({ service }: ServiceFixture) {
  await service.background.drainTimers(100);
  await drainErasures(service);
}

Deno.test("production has 72 hours of grace at least, the other environments none", async () => {
  await withService(async (fixture) => {
    const { service, tenants } = fixture;
    for (const environment of ["production", "staging", "test"] as const) {
      const tenant = tenants[environment];
      valueOf(await service.data.writeEvents(tenant, noteWrite(uuid(1), "one")));
      const least = environment === "production" ? 72 : 0;
      for (const grace_hours of [least - 1, 1.5, 366 * 24 + 1, NaN]) {
        const request = erasureOf(ORDER, { grace_hours });
        const refusal = refusalOf(await service.erasure.request(tenant, request));
        assert.deepEqual(
          [refusal.kind, "path" in refusal && refusal.path],
          ["operator_input_invalid", "grace_hours"],
        );
      }
      const request = erasureOf(ORDER, { grace_hours: least });
      const { requested_at, execute_at } = valueOf(await service.erasure.request(tenant, request));
      assert.equal(Date.parse(execute_at) - Date.parse(requested_at), least * HOUR_MS);
    }
  });
});

Deno.test("without grace_hours it is 72 hours everywhere, and not a millisecond less", async () => {
  await withService(async (fixture) => {
    const { service, host, tenants: { test } } = fixture;
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "one")));
    const request = erasureOf(ORDER, { grace_hours: undefined });
    const { id, state, grace_hours } = valueOf(await service.erasure.request(test, request));
    assert.deepEqual([state, grace_hours], ["pending", 72]);
    host.timeMs += 72 * HOUR_MS - 1;
    await work(fixture);
    assert.deepEqual(await typesOf(fixture), ["was_noted"]);
    host.timeMs += 1;
    await work(fixture);
    assert.deepEqual(await typesOf(fixture), ["_was_tombstoned"]);
    assert.equal(valueOf(await service.erasure.read(test, id)).state, "completed");
  });
});

Deno.test("what is written between the request and the execution is erased too", async () => {
  await withService(async (fixture) => {
    const { service, host, tenants: { test } } = fixture;
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "one")));
    valueOf(await service.erasure.request(test, erasureOf(ORDER, { grace_hours: 1 })));
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "two")));
    host.timeMs += HOUR_MS;
    await work(fixture);
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "three")));
    assert.deepEqual(await typesOf(fixture), ["_was_tombstoned", "_was_tombstoned", "was_noted"]);
  });
});

Deno.test("a request that is taken back erases nothing, whether its time had come or not", async () => {
  await withService(async (fixture) => {
    const { service, host, tenants: { test } } = fixture;
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "one")));
    for (const grace_hours of [1, 0]) {
      const request = erasureOf(ORDER, { grace_hours });
      const { id } = valueOf(await service.erasure.request(test, request));
      const cancelled = valueOf(await service.erasure.cancel(test, id));
      assert.equal(cancelled.state, "cancelled");
      host.timeMs += HOUR_MS;
      await work(fixture);
      assert.deepEqual(valueOf(await service.erasure.cancel(test, id)), cancelled);
      assert.deepEqual(valueOf(await service.erasure.read(test, id)), cancelled);
    }
    assert.deepEqual(await typesOf(fixture), ["was_noted"]);
    const left = (await service.background.measureQueues()).filter(({ depth }) => depth > 0);
    assert.deepEqual(left, []);
  });
});

Deno.test("where the clock that ended the grace was ahead, the stream waits for its time after all", async () => {
  await withService(async (fixture) => {
    const { service, host, tenants: { test } } = fixture;
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "one")));
    const request = erasureOf(ORDER, { grace_hours: 1 });
    const { id } = valueOf(await service.erasure.request(test, request));
    host.timeMs += HOUR_MS;
    await service.background.drainTimers(100);
    host.timeMs -= HOUR_MS / 2;
    await work(fixture);
    assert.equal(valueOf(await service.erasure.read(test, id)).state, "pending");
    assert.deepEqual(await typesOf(fixture), ["was_noted"]);
    host.timeMs += HOUR_MS / 2;
    await work(fixture);
    assert.deepEqual(await typesOf(fixture), ["_was_tombstoned"]);
  });
});

Deno.test("what has begun cannot be taken back", async () => {
  await withService(async (fixture) => {
    const { service, tenants: { test } } = fixture;
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "one")));
    const { id } = valueOf(await service.erasure.request(test, erasureOf(ORDER)));
    let asked = 0;
    // Stops before the second step: the markers are in place, the copies are not removed yet.
    await service.erasure.eraseDue(100, () => ++asked > 1);
    const running = refusalOf(await service.erasure.cancel(test, id));
    assert.deepEqual(running, { kind: "erasure_begun", state: "running" });
    await drainErasures(service);
    const over = refusalOf(await service.erasure.cancel(test, id));
    assert.deepEqual(over, { kind: "erasure_begun", state: "completed" });
  });
});

Deno.test("a stream has one open request at most, and another one when that is over", async () => {
  await withService(async (fixture) => {
    const { service, tenants: { test } } = fixture;
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "one")));
    const later = erasureOf(ORDER, { grace_hours: 5 });
    const first = valueOf(await service.erasure.request(test, later));
    const upper = erasureOf(`order:${uuid(1).toUpperCase()}`);
    const refusal = refusalOf(await service.erasure.request(test, upper));
    assert.equal(refusal.kind, "already_exists");
    assert.match("message" in refusal ? refusal.message : "", new RegExp(first.id));
    valueOf(await service.erasure.cancel(test, first.id));
    const second = valueOf(await service.erasure.request(test, upper));
    assert.equal(second.key, ORDER);
    const { data } = valueOf(await service.erasure.list(test, {}));
    assert.deepEqual(data.map(({ id }) => id).toSorted(), [first.id, second.id].toSorted());
  });
});

Deno.test("what names no stream with events is refused, and so are texts that are too long", async () => {
  await withService(async (fixture) => {
    const { service, tenants: { test } } = fixture;
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "one")));
    const kindOf = async (change: Parameters<typeof erasureOf>[1]) =>
      refusalOf(await service.erasure.request(test, erasureOf(ORDER, change))).kind;
    for (const key of [`order:${uuid(2)}`, `ghost:${uuid(1)}`, "order:nobody"]) {
      assert.equal(await kindOf({ key }), "stream_not_found", key);
    }
    for (const key of ["", "order", ":", `:${uuid(1)}`, "order:", `order:${"x".repeat(600)}`]) {
      assert.equal(await kindOf({ key }), "operator_input_invalid", key);
    }
    for (const reason of ["", "x".repeat(1_001), "\ud800"]) {
      assert.equal(await kindOf({ reason }), "operator_input_invalid");
      assert.equal(await kindOf({ legal_basis: reason }), "operator_input_invalid");
    }
    const missing = refusalOf(await service.erasure.read(test, "tmb_00"));
    assert.equal(missing.kind, "not_found");
    assert.equal(refusalOf(await service.erasure.cancel(test, "tmb_00")).kind, "not_found");
  });
});

Deno.test("a stream of a type that the spec has no more can be erased", async () => {
  await withService(async (fixture) => {
    const { service, tenants: { test } } = fixture;
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "one")));
    const spec = copyOfExampleSpec();
    delete (spec.aggregate_types as Record<string, unknown>).order;
    valueOf(await service.specs.deploySpec(test, { spec, force: true, dryRun: false }));
    const { id } = valueOf(await service.erasure.request(test, erasureOf(ORDER)));
    await drainErasures(service);
    assert.equal(valueOf(await service.erasure.read(test, id)).state, "completed");
  });
});

Deno.test("list() pages from the newest to the oldest", async () => {
  await withService(async (fixture) => {
    const { service, host, tenants: { test } } = fixture;
    const ids: string[] = [];
    for (const number of [1, 2, 3]) {
      valueOf(
        await service.data.writeEvents(
          test,
          orderWrite(uuid(number), [
            { type: "was_noted", data: { text: "x" } },
          ]),
        ),
      );
      const request = erasureOf(`order:${uuid(number)}`, { grace_hours: 1 });
      ids.unshift(valueOf(await service.erasure.request(test, request)).id);
      host.timeMs += 1;
    }
    const first = valueOf(await service.erasure.list(test, { limit: 2 }));
    assert.deepEqual(first.data.map(({ id }) => id), ids.slice(0, 2));
    assert.deepEqual([first.truncated, first.next_start], [true, ids[1]]);
    const rest = valueOf(await service.erasure.list(test, { limit: 2, start: first.next_start }));
    assert.deepEqual([rest.data.map(({ id }) => id), rest.truncated], [ids.slice(2), false]);
  });
});
