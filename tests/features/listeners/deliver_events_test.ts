/** Deliveries from the write to the receiver's answer. See docs/reference/listeners.md. */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import type { JsonObject } from "../../../src/domain/json.ts";
import type { TryAnswer } from "../../../src/domain/listener/delivery.ts";
import { limits } from "../../../src/domain/limits.ts";
import {
  deliver,
  deliveries,
  note,
  redeploy,
  SECRET,
  specWith,
  told,
  withListeners,
} from "../../support/listener_fixtures.ts";
import { reactiveSpec, setOff, write } from "../../support/reactive_spec.ts";
import { uuid, valueOf } from "../../support/service_fixture.ts";
import { until } from "../../support/until.ts";

Deno.test("a written event is delivered once, with its stored form and both signatures", async () => {
  await withListeners(async ({ service, sender, test, host }) => {
    await note(service, test, uuid(1), "first");
    await deliver(service);
    assert.equal(sender.sent.length, 1);
    const [{ url, headers, body, payload }] = sender.sent as [typeof sender.sent[0]];
    assert.equal(url, "https://hook.example.com/hook");
    const page = valueOf(
      await service.data.readEvents(test, {
        aggregateType: "order",
        id: uuid(1),
        direction: "forwards",
      }),
    );
    const { hash, raw } = page.entries[0]!;
    assert.match(payload.id, /^dlv_[0-9a-f]{28}$/);
    assert.deepEqual(payload, {
      id: payload.id,
      listener: "hook",
      attempt: 1,
      occurred_at: "2026-01-01T00:00:00.000Z",
      instance_id: test.instanceId,
      environment: "test",
      event: { id: "000000000000", hash, ...JSON.parse(raw) },
    });
    assert.deepEqual(Object.keys(payload), [
      "id",
      "listener",
      "attempt",
      "occurred_at",
      "instance_id",
      "environment",
      "event",
    ]);
    const signature = createHmac("sha256", SECRET).update(body).digest("hex");
    assert.deepEqual({ ...headers, "webhook-signature": "" }, {
      "content-type": "application/json",
      "user-agent": "Daybook/0.1.0",
      "webhook-id": payload.id,
      "webhook-timestamp": String(host.timeMs / 1000),
      "webhook-signature": "",
      "X-SVC-Signature": signature,
    });
    const [state, ...more] = await deliveries(service, test);
    assert.deepEqual(more, []);
    assert.equal(state!.state, "delivered");
    assert.equal(state!.delivery_id, payload.id);
    await deliver(service);
    assert.equal(sender.sent.length, 1, "and only once");
  });
});

Deno.test("a write is on its way before anybody looks for it, once this process delivers", async () => {
  await withListeners(async ({ service, sender, test }) => {
    await service.background.drainDeliveries();
    await note(service, test, uuid(1), "first");
    await service.background.deliveriesIdle();
    assert.deepEqual(told(sender.sent), ["first"]);
  });
});

Deno.test("a delivery that fails is tried again 5, 25 and 125 s after each failure's end, then dead", async () => {
  await withListeners(async ({ service, sender, test, host }) => {
    const startMs = host.timeMs;
    const beganMs: number[] = [];
    // Each attempt takes 700 ms: the pause counts from its end.
    sender.answer = () => {
      beganMs.push(host.timeMs - startMs);
      host.timeMs += 700;
      return { status: 500 };
    };
    await note(service, test, uuid(1), "first");
    await deliver(service);
    for (const dueMs of [5_700, 31_400, 157_100]) {
      host.timeMs = startMs + dueMs - 1;
      const before = beganMs.length;
      await deliver(service);
      assert.equal(beganMs.length, before, `a millisecond before ${dueMs}`);
      host.timeMs = startMs + dueMs;
      await deliver(service);
      assert.equal(beganMs.length, before + 1);
    }
    assert.deepEqual(beganMs, [0, 5_700, 31_400, 157_100]);
    host.timeMs += 24 * 3600_000;
    await deliver(service);
    assert.equal(beganMs.length, 4, "and never again");
    const [dead] = await deliveries(service, test);
    assert.equal(dead!.state, "dead");
    assert.equal(dead!.reason, "tries_used_up");
    assert.equal(dead!.attempts, 4);
    assert.deepEqual(
      dead!.tries.map(({ at, status, duration_ms }) => ({ at, status, duration_ms })),
      ["00:00.000", "00:05.700", "00:31.400", "02:37.100"].map((at) => (
        { at: `2026-01-01T00:${at}Z`, status: 500, duration_ms: 700 }
      )),
    );
    assert.deepEqual(sender.sent.map(({ payload }) => payload.attempt), [1, 2, 3, 4]);
    assert.equal(new Set(sender.sent.map(({ payload }) => payload.id)).size, 1, "one id");
  });
});

Deno.test("a try that succeeds ends the delivery, also the last one", async () => {
  await withListeners(async ({ service, sender, test, host }) => {
    sender.answer = (_, number) => ({ status: number < 4 ? 503 : 204 });
    await note(service, test, uuid(1), "first");
    await deliver(service);
    for (const pauseMs of [5_000, 25_000, 125_000]) {
      host.timeMs += pauseMs;
      await deliver(service);
    }
    const [ended] = await deliveries(service, test);
    assert.equal(ended!.state, "delivered");
    assert.equal(ended!.attempts, 4);
  });
});

const FAILURES: readonly TryAnswer[] = [
  { status: 302 },
  { status: 404 },
  { status: 500 },
  { failure: "timeout" },
  { failure: "connection_failed" },
  { failure: "tls_failed" },
  { failure: "name_not_found" },
  { failure: "address_refused" },
  { failure: "bad_answer" },
];

for (const answer of FAILURES) {
  Deno.test(`${JSON.stringify(answer)} is a failure that is tried again`, async () => {
    await withListeners(async ({ service, sender, test, host }) => {
      sender.answer = (_, number) => number === 1 ? answer : { status: 200 };
      await note(service, test, uuid(1), "first");
      await deliver(service);
      const [pending] = await deliveries(service, test, "pending");
      assert.equal(pending!.next_try_at, "2026-01-01T00:00:05.000Z");
      const { at: _, duration_ms: __, ...line } = pending!.tries[0]!;
      assert.deepEqual(line, answer);
      host.timeMs += 5_000;
      await deliver(service);
      assert.equal((await deliveries(service, test, "delivered")).length, 1);
    });
  });
}

Deno.test("a sender that throws is a failed try, for a fault of ours must not hold up a stream", async () => {
  await withListeners(async ({ service, sender, test, host }) => {
    sender.answer = (_, number) => {
      if (number === 1) throw new Error("a bug");
      return { status: 200 };
    };
    await note(service, test, uuid(1), "first");
    await deliver(service);
    assert.ok(host.lines.some(({ level }) => level === "error"));
    host.timeMs += 5_000;
    await deliver(service);
    assert.equal((await deliveries(service, test, "delivered")).length, 1);
  });
});

Deno.test("410 ends a delivery at once; the next one is tried as ever", async () => {
  await withListeners(async ({ service, sender, test }) => {
    sender.answer = (_, number) => ({ status: number === 1 ? 410 : 200 });
    await note(service, test, uuid(1), "first", "second");
    await deliver(service);
    assert.deepEqual(told(sender.sent), ["first", "second"]);
    const [dead, delivered] = await deliveries(service, test);
    assert.deepEqual([dead!.state, dead!.reason, dead!.attempts], ["dead", "gone", 1]);
    assert.equal(delivered!.state, "delivered");
  });
});

Deno.test("a redeploy with another secret or address holds for the next try of what is under way", async () => {
  await withListeners(async ({ service, sender, test, host }) => {
    sender.answer = (_, number) => ({ status: number === 1 ? 500 : 200 });
    await note(service, test, uuid(1), "first");
    await deliver(service);
    const secret = "fedcba9876543210";
    const url = "https://elsewhere.example.com/";
    await redeploy(service, test, specWith({ hook: { secret, url } }));
    host.timeMs += 5_000;
    await deliver(service);
    const [first, second] = sender.sent;
    const sign = (key: string, body: string) =>
      createHmac("sha256", key).update(body).digest("hex");
    assert.equal(first!.headers["X-SVC-Signature"], sign(SECRET, first!.body));
    assert.equal(second!.headers["X-SVC-Signature"], sign(secret, second!.body));
    assert.equal(second!.url, url);
    assert.equal(second!.payload.id, first!.payload.id);
  });
});

const GONE = [
  { name: "removed", listeners: {}, reason: "listener_removed" },
  { name: "disabled", listeners: { hook: { enabled: false } }, reason: "listener_disabled" },
] as const;

for (const { name, listeners, reason } of GONE) {
  Deno.test(`what is open for a listener that was ${name} is dropped`, async () => {
    await withListeners(async ({ service, sender, test, host }) => {
      sender.answer = () => ({ status: 500 });
      await note(service, test, uuid(1), "first", "second");
      await deliver(service);
      assert.equal(sender.sent.length, 1);
      await redeploy(service, test, specWith(listeners));
      await note(service, test, uuid(1), "third");
      host.timeMs += 5_000;
      await deliver(service);
      assert.equal(sender.sent.length, 1, "nothing was sent any more");
      const dropped = await deliveries(service, test);
      assert.deepEqual(
        dropped.map((each) => [each.state, each.reason, each.attempts]),
        [["dropped", reason, 0], ["dropped", reason, 1]],
        "the newest first; the third was never put in",
      );
    });
  });
}

Deno.test("nothing is put in for events that no listener hears, nor for a disabled one", async () => {
  const listeners = { hook: { events: ["customer.*"] }, off: { enabled: false } };
  await withListeners(async ({ service, sender, test }) => {
    await note(service, test, uuid(1), "first");
    await deliver(service);
    assert.equal(sender.sent.length, 0);
    assert.deepEqual(await deliveries(service, test, undefined, "off"), []);
  }, { listeners });
});

Deno.test("each listener that hears an event has a delivery of its own, with its own id", async () => {
  const listeners = { hook: {}, all: { events: ["*"] }, one: { events: ["order.was_noted"] } };
  await withListeners(async ({ service, sender, test }) => {
    await note(service, test, uuid(1), "first");
    await deliver(service);
    assert.deepEqual(sender.sent.map(({ payload }) => payload.listener).sort(), [
      "all",
      "hook",
      "one",
    ]);
    assert.equal(new Set(sender.sent.map(({ payload }) => payload.id)).size, 3);
  }, { listeners });
});

Deno.test("a write without listeners leaves nothing, and other environments hear nothing", async () => {
  await withListeners(async ({ service, sender, tenants: { staging, test } }) => {
    await redeploy(service, staging, specWith({}));
    await note(service, staging, uuid(1), "first");
    await deliver(service);
    assert.equal(sender.sent.length, 0);
    await note(service, test, uuid(1), "first");
    await deliver(service);
    assert.equal(sender.sent[0]!.payload.environment, "test");
    assert.equal(sender.sent.length, 1);
  });
});

Deno.test("10,000 events of one write are delivered in order, each once", async () => {
  await withListeners(async ({ service, sender, test }) => {
    const texts = Array.from({ length: limits.batchEventsMax }, (_, index) => String(index));
    await note(service, test, uuid(1), ...texts);
    await deliver(service);
    assert.deepEqual(told(sender.sent), texts);
    assert.equal(new Set(sender.sent.map(({ payload }) => payload.id)).size, texts.length);
    assert.deepEqual(await deliveries(service, test, "pending"), []);
  });
});

for (const isDirect of [true, false]) {
  const way = isDirect ? "with their trigger" : "after it";
  Deno.test(`implied events that may be written ${way} are delivered like a client's`, async () => {
    const { modules } = specWith({ hook: { events: ["ledger.*"] } }) as { modules: JsonObject };
    const spec = { ...reactiveSpec, modules: { listeners: modules.listeners! } };
    await withListeners(async ({ service, sender, test }) => {
      await write(service, test, setOff(uuid(1), "was_placed"));
      await deliver(service);
      const keys = sender.sent.map(({ payload: { event } }) => event.key);
      assert.deepEqual(keys, [`ledger:${uuid(1)}`]);
    }, { isDirect, spec });
  });
}

Deno.test("two hundred listeners of an instance that never answer leave room for another instance", async () => {
  await withListeners(async ({ service, sender, test, tenants }) => {
    const held = Promise.withResolvers<void>();
    const slow = Object.fromEntries(
      Array.from({ length: 100 }, (_, number) => [`slow_${number}`, {}]),
    );
    const { id } = valueOf(await service.access.createInstance("hostile", "unlimited"));
    const operator = { subject: "test" };
    await service.background.drainDeliveries();
    for (const environment of ["test", "staging"] as const) {
      const tenant = valueOf(await service.access.resolveTenant(operator, id, environment));
      await redeploy(service, tenant, specWith(slow));
      sender.answer = async ({ payload }) => {
        if (payload.instance_id === id) await held.promise;
        return { status: 200 };
      };
      for (const stream of [1, 2, 3]) await note(service, tenant, uuid(stream), "theirs");
    }
    await service.background.drainDeliveries();
    const ofHostile = () => sender.sent.filter(({ payload }) => payload.instance_id === id).length;
    assert.equal(tenants.test, test);
    await until(() => ofHostile() >= 90, "the tries of the hostile one");
    await note(service, test, uuid(1), "mine");
    const isOwn = ({ payload }: (typeof sender.sent)[number]) =>
      payload.instance_id === test.instanceId;
    await until(() => sender.sent.some(isOwn), "the delivery of the other one");
    assert.ok(ofHostile() <= 96, `${ofHostile()} are under way`);
    held.resolve();
    await deliver(service);
    assert.equal(ofHostile(), 600, "and none of theirs is lost");
  });
});
