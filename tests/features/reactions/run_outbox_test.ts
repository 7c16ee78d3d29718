/**
 * Implied events in the outbox, from the write that implies them to the workers that finish.
 * For those that are written with their trigger see `direct_events_test.ts`.
 */

import { wrapEngine } from "../../../src/kv/calls.ts";
import assert from "node:assert/strict";
import { limits } from "../../../src/domain/limits.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { keys } from "../../../src/store/keys.ts";
import { createService } from "../../../src/features/service.ts";
import { CHANGE_MS_MAX } from "../../../src/features/writes/gather_writes.ts";
import {
  depthsOf,
  drain,
  eventsOf,
  reactiveSpec,
  setOff,
  setOffAll,
  specWithoutLedger,
  write,
} from "../../support/reactive_spec.ts";
import { ACTOR, refusalOf, uuid, valueOf, withService } from "../../support/service_fixture.ts";
import { until } from "../../support/until.ts";
import { parsedState } from "../../support/parsed_state.ts";

const options = { spec: reactiveSpec, isDirect: false };

Deno.test("an implied event can be read when the reply to its trigger is there", async () => {
  await withService(async ({ service, host, tenants: { test } }) => {
    const written = await write(service, test, setOff(uuid(1), "was_placed"));
    assert.equal(written.impliedCount, 1);
    const [event, ...more] = await eventsOf(service, test, "ledger", uuid(1));
    assert.deepEqual(more, []);
    assert.deepEqual(event, {
      key: `ledger:${uuid(1)}`,
      type: "was_noted",
      data: { order: `order:${uuid(1)}` },
      metadata: {
        actor: ACTOR,
        timestamp: Math.floor(host.timeMs / 1000),
        implied_by: {
          key: `order:${uuid(1)}`,
          event_type: "was_placed",
          stream_id: "000000000000",
          depth: 1,
        },
      },
    });
    assert.equal(await drain(service), 0, "nothing is left to the workers");
  }, options);
});

Deno.test("an implied event is listed, folded and counted like a client's", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    await write(service, test, setOff(uuid(1), "was_placed"));
    const request = { aggregateType: "ledger", id: uuid(1), synchronous: false };
    const view = valueOf(await service.data.readAggregate(test, request));
    assert.deepEqual(parsedState(view), { notes: [{ order: `order:${uuid(1)}` }] });
    const list = { aggregateType: "ledger", resolve: false, synchronous: false };
    const { entries } = valueOf(await service.data.listAggregates(test, list));
    assert.deepEqual(entries, [{ id: uuid(1) }]);
  }, options);
});

Deno.test("one write may imply 10,000 events, and not one more", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const ids = Array.from({ length: 2_500 }, (_, n) => code(n % 100));
    const events = Array.from({ length: 4 }, () => ({ type: "was_spread", data: { ids } }));
    const written = await write(service, test, setOffAll(uuid(1), events));
    assert.equal(written.impliedCount, 10_000);
    for (const n of [0, 99]) {
      assert.equal(valueOf(await service.data.readLength(test, "ledger", code(n))), 100);
    }
    const one = setOffAll(uuid(1), [...events, { type: "was_placed", data: {} }]);
    const refusal = refusalOf(await service.data.writeEvents(test, one));
    assert.equal(refusal.kind === "payload_too_large" && refusal.limit, 10_000);
    const length = valueOf(await service.data.readLength(test, "order", uuid(1)));
    assert.equal(length, 4, "the refused write left nothing");
  }, options);
});

/** A humane code with `number` at its end. */
function code(number: number): string {
  return String(number).padStart(9, "0");
}

Deno.test("what implied events store counts into what a write may store", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const ids = Array.from({ length: 100 }, (_, n) => uuid(n));
    const large = setOff(uuid(1), "was_spread", { ids, text: "x".repeat(90_000) });
    const refusal = refusalOf(await service.data.writeEvents(test, large));
    assert.equal(refusal.kind === "payload_too_large" && refusal.limit, limits.writeStoredBytesMax);
    const fits = setOff(uuid(1), "was_spread", {
      ids: ids.slice(0, 80),
      text: "x".repeat(90_000),
    });
    await write(service, test, fits);
    await drain(service);
    assert.equal(valueOf(await service.data.readLength(test, "ledger", uuid(79))), 1);
  }, options);
});

Deno.test("an outbox entry larger than a value of the store is kept in pieces", async () => {
  const spec = structuredClone(reactiveSpec);
  await withService(async ({ service, tenants: { test } }) => {
    const text = "\u{20AC}".repeat(33_500);
    await write(service, test, setOff(uuid(1), "was_spread", { ids: [uuid(2)], text }));
    const [event] = await eventsOf(service, test, "ledger", uuid(2));
    assert.equal(event!.data.text, text);
    assert.equal(await drain(service), 0);
  }, { spec });
});

Deno.test("events imply events down to depth 8, where an error record tells why no more", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const written = await write(service, test, setOff(uuid(1), "was_echoed"));
    assert.equal(written.impliedCount, 1);
    const events = await eventsOf(service, test, "order", uuid(1));
    const depths = events.map(({ metadata }) => metadata.implied_by?.depth);
    assert.deepEqual(depths, [undefined, 1, 2, 3, 4, 5, 6, 7, 8]);
    const { data } = valueOf(await service.data.listErrors(test, {}));
    assert.deepEqual(data.map(({ error_type }) => error_type), ["implication_depth_exceeded"]);
    assert.equal(data[0]!.request_id, "request-1");
    assert.equal(data[0]!.context.event_key, `order:${uuid(1)}`);
  }, options);
});

Deno.test("an implied event that fails its schema becomes an error record; the others are written", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const written = await write(service, test, setOff(uuid(1), "was_counted", { count: "many" }));
    assert.equal(written.impliedCount, 2);
    const events = await eventsOf(service, test, "ledger", uuid(1));
    assert.deepEqual(events.map(({ type }) => type), ["was_noted"]);
    const { data: [error] } = valueOf(await service.data.listErrors(test, {}));
    assert.equal(error!.error_type, "implication_failed");
    assert.match(error!.message, /data\.count/);
    assert.equal(error!.context.implied_key, `ledger:${uuid(1)}`);
    const found = valueOf(await service.data.readError(test, error!.error_id));
    assert.deepEqual(found, error);
    assert.equal(await drain(service), 0);
  }, options);
});

Deno.test("an entry that comes to nothing is an error record that commits with the event", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const written = await write(service, test, setOff(uuid(1), "was_sent", { id: "nobody" }));
    assert.equal(written.impliedCount, 1);
    const { data: [error] } = valueOf(await service.data.listErrors(test, {}));
    assert.equal(error!.error_type, "implication_failed");
    assert.equal(error!.context.path, "aggregate_types.order.events.was_sent.implications[0]");
    assert.equal((await eventsOf(service, test, "ledger", uuid(1))).length, 1);
  }, options);
});

for (
  const { failures, leftOut } of [
    { failures: limits.implicationErrorsMax, leftOut: [] },
    { failures: limits.implicationErrorsMax + 1, leftOut: [2] },
    { failures: 10_000, leftOut: [10_000 - limits.implicationErrorsMax + 1] },
  ]
) {
  Deno.test(`a write that fails in ${failures} ways leaves at most 100 error records, and tells the rest`, async () => {
    await withService(async ({ service, tenants: { test } }) => {
      const events = Array.from({ length: failures }, () => ({
        type: "was_sent",
        data: { id: "nobody" },
      }));
      const written = await write(service, test, setOffAll(uuid(1), events));
      assert.equal(written.impliedCount, failures, "the other entry of each");
      const page = valueOf(await service.data.listErrors(test, { limit: 200 }));
      assert.equal(page.data.length, 100);
      assert.equal(page.truncated, false);
      const told = page.data.filter(({ context }) => context.left_out !== undefined);
      assert.deepEqual(told.map(({ context }) => context.left_out), leftOut);
    }, options);
  });
}

Deno.test("a replay answers with the implied_count of the write that landed, and implies nothing", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const idempotency = { key: "k", bodyHash: "ab".repeat(32) };
    const request = { ...setOff(uuid(1), "was_placed"), idempotency };
    for (const replayed of [false, true]) {
      const written = valueOf(await service.data.writeEvents(test, request));
      assert.deepEqual([written.replayed, written.impliedCount], [replayed, 1]);
    }
    await drain(service);
    assert.equal((await eventsOf(service, test, "ledger", uuid(1))).length, 1);
  }, options);
});

Deno.test("implied events of one stream come in the order of their triggers", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const writes = Array.from(
      { length: 100 },
      (_, n) =>
        write(service, test, setOff(uuid(1), "was_spread", { ids: [uuid(2)], text: `${n}` })),
    );
    await Promise.all(writes);
    const events = await eventsOf(service, test, "ledger", uuid(2));
    const indexes = events.map(({ metadata }) => Number(metadata.implied_by!.stream_id));
    assert.deepEqual(indexes, Array.from({ length: 100 }, (_, n) => n));
  }, options);
});

Deno.test("what was committed before a crash is implied after it, once", async () => {
  let isDead = false;
  await withService(async ({ engine, host, access, tenants: { test } }) => {
    const dying = createService(
      wrapEngine(engine, {
        transact: (body) =>
          isDead ? Promise.reject(new Error("dead")) : engine.transact(body).finally(() => {
            isDead = true;
          }),
      }),
      host,
      access,
      { isDirect: false },
    );
    await write(dying, test, setOff(uuid(1), "was_placed"));
    await dying.close();
    const next = createService(engine, host, access);
    assert.equal(await drain(next), 0, "others leave it to its writer for a second");
    host.timeMs += 1_000;
    assert.equal(await drain(next), 1);
    assert.equal((await eventsOf(next, test, "ledger", uuid(1))).length, 1);
    host.timeMs += 10_000;
    assert.equal(await drain(next), 0);
    await next.close();
  }, options);
});

Deno.test("a redeploy without the implied type ends pending entries with an error record", async () => {
  let isAway = false;
  await withService(async ({ service, engine, host, access, tenants: { test } }) => {
    const failing = createService(
      wrapEngine(engine, {
        transact(body) {
          if (isAway) {
            return Promise.reject(Object.assign(new Error("away"), { name: "EngineUnavailable" }));
          }
          return engine.transact(body).finally(() => isAway = true);
        },
      }),
      host,
      access,
      { isDirect: false },
    );
    for (const n of [1]) await write(failing, test, setOff(uuid(n), "was_placed"));
    await failing.close();
    const request = { spec: specWithoutLedger(), force: true, dryRun: false };
    valueOf(await service.specs.deploySpec(test, request));
    host.timeMs += 1_000;
    assert.equal(await drain(service), 1);
    const { data } = valueOf(await service.data.listErrors(test, {}));
    assert.deepEqual(data.map(({ message }) => message), [
      "Aggregate type 'ledger' not found in spec",
    ]);
    assert.deepEqual(await depthsOf(service), {});
  }, options);
});

Deno.test("a reply waits at most 250 ms for what its write has set off", async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let commits = 0;
  let isCounting = false;
  await withService(async ({ service, host, tenants: { test } }) => {
    isCounting = true;
    let isAnswered = false;
    const answer = write(service, test, setOff(uuid(1), "was_placed")).then((written) => {
      isAnswered = true;
      return written;
    });
    await until(() => commits === 2, "the second commit");
    host.timeMs += 249;
    await host.yieldTurn();
    assert.equal(isAnswered, false);
    host.timeMs += 1;
    assert.equal((await answer).impliedCount, 1);
    release();
    const isThere = async () =>
      valueOf(await service.data.readLength(test, "ledger", uuid(1))) === 1;
    await until(isThere, "the implied event");
  }, {
    ...options,
    wrap: (engine) =>
      wrapEngine(engine, {
        transact: async (body) => {
          if (isCounting && ++commits === 2) await released;
          return await engine.transact(body);
        },
      }),
  });
});

Deno.test("a process with very much of its own to do leaves more to the workers, and signals them", async () => {
  const own = Promise.withResolvers<void>();
  const wrap = (inner: Engine) =>
    wrapEngine(inner, {
      async transact(body, how) {
        if (how?.isBackground) await own.promise;
        return await inner.transact(body, how);
      },
    });
  await withService(async ({ service, engine, host, tenants: { test } }) => {
    const ids = Array.from({ length: 2_500 }, (_, n) => code(n % 500));
    const events = Array.from({ length: 4 }, () => ({ type: "was_spread", data: { ids } }));
    const slow = [1, 2].map((n) => write(service, test, setOffAll(uuid(n), events)));
    // Each of them waits for what it has set off, which therefore is held in memory.
    const isWaiting = (ms: number) => ms === limits.drainBeforeReplyMsMax;
    await until(() => host.timersMs.filter(isWaiting).length === slow.length, "the waits of both");
    const watch = engine.watch(keys.outboxSignal());
    let isWritten = false;
    const another = write(service, test, setOff(uuid(3), "was_placed"));
    another.then(() => isWritten = true);
    await until(() => {
      // The embedded store has it wait for a moment for those that run.
      if (host.timersMs.includes(CHANGE_MS_MAX)) host.timeMs += CHANGE_MS_MAX;
      return isWritten;
    }, "the third write");
    assert.equal(await watch.changed, true);
    assert.equal((await eventsOf(service, test, "ledger", uuid(3))).length, 0);
    own.resolve();
    await Promise.all(slow);
    // Others may take the entry at once: the clock has not moved.
    await drain(service);
    assert.equal((await eventsOf(service, test, "ledger", uuid(3))).length, 1);
    host.timeMs += 1_000;
    assert.equal(await drain(service), 0);
    assert.equal(valueOf(await service.data.readLength(test, "ledger", code(0))), 40);
  }, { ...options, wrap });
});

Deno.test("an atomic write of an event with implications is refused", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const events = [{ type: "was_placed", data: {} }];
    const targets = [1, 2].map((n) => ({ aggregateType: "order", id: uuid(n), events }));
    const request = { ...setOff(uuid(1), "was_placed"), form: "atomic" as const, targets };
    const refusal = refusalOf(await service.data.writeEvents(test, request));
    assert.deepEqual(refusal, { kind: "implications_in_multi_write", targetIndex: 0 });
  }, options);
});
