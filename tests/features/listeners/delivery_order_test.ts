/** Order within a stream, whatever fails, and how failing endpoints are kept from the others. */

import assert from "node:assert/strict";
import { RETRY_PAUSES_MS, type TryAnswer } from "../../../src/domain/listener/delivery.ts";
import { limits } from "../../../src/domain/limits.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import type { Service } from "../../../src/features/service.ts";
import {
  deliver,
  deliveries,
  note,
  redeploy,
  type Sent,
  specWith,
  told,
  withListeners,
} from "../../support/listener_fixtures.ts";
import { uuid, valueOf } from "../../support/service_fixture.ts";
import { until } from "../../support/until.ts";

const LAST_PAUSE_MS = RETRY_PAUSES_MS.at(-1)!;

Deno.test("a failed delivery holds up its own stream and no other, and the order is kept", async () => {
  await withListeners(async ({ service, sender, test, host }) => {
    sender.answer = ({ payload }) => {
      const isFirst = payload.event.data.text === "a1" && payload.attempt < 3;
      return isFirst ? { status: 500 } : { status: 200 };
    };
    await note(service, test, uuid(1), "a1", "a2", "a3");
    await note(service, test, uuid(2), "b1", "b2");
    await deliver(service);
    assert.deepEqual(told(sender.sent).filter((text) => text.startsWith("b")), ["b1", "b2"]);
    await note(service, test, uuid(1), "a4");
    await deliver(service);
    host.timeMs += 5_000;
    await deliver(service);
    await note(service, test, uuid(2), "b3");
    await deliver(service);
    host.timeMs += 25_000;
    await deliver(service);
    const a = told(sender.sent).filter((text) => text.startsWith("a"));
    assert.deepEqual(a, ["a1", "a1", "a1", "a2", "a3", "a4"]);
    const b = told(sender.sent).filter((text) => text.startsWith("b"));
    assert.deepEqual(b, ["b1", "b2", "b3"]);
  });
});

Deno.test("what is behind a delivery that died comes next, at once", async () => {
  await withListeners(async ({ service, sender, test, host }) => {
    sender.answer = ({ payload }) => ({ status: payload.event.data.text === "a1" ? 500 : 200 });
    await note(service, test, uuid(1), "a1", "a2");
    await deliver(service);
    for (const pauseMs of [5_000, 25_000, 125_000]) {
      host.timeMs += pauseMs;
      await deliver(service);
    }
    assert.deepEqual(told(sender.sent), ["a1", "a1", "a1", "a1", "a2"]);
  });
});

Deno.test("one event of a stream is under way at a time, of a listener no more than its share", async () => {
  await withListeners(async ({ service, sender, test }) => {
    let under = 0;
    let most = 0;
    const streams = new Set<string>();
    sender.answer = async ({ payload }) => {
      assert.ok(!streams.has(payload.event.key), "two of one stream");
      streams.add(payload.event.key);
      most = Math.max(most, ++under);
      // The first ones take until as many as may be are under way, however slow the store is.
      await until(() => most >= limits.deliveriesPerListenerMax, "the share of the listener");
      await new Promise((resolve) => setTimeout(resolve, 1));
      under--;
      streams.delete(payload.event.key);
      return { status: 200 };
    };
    for (let number = 0; number < 100; number++) await note(service, test, uuid(number), "1", "2");
    await deliver(service);
    assert.equal(sender.sent.length, 200);
    assert.equal(most, limits.deliveriesPerListenerMax);
  });
});

Deno.test("an endpoint that does not answer takes nothing from another listener", async () => {
  const listeners = { hook: {}, hangs: {} };
  await withListeners(async ({ service, sender, test }) => {
    const { promise: over, resolve: end } = Promise.withResolvers<TryAnswer>();
    sender.answer = ({ payload }) => payload.listener === "hangs" ? over : { status: 200 };
    await service.background.drainDeliveries();
    for (let number = 0; number < 100; number++) await note(service, test, uuid(number), "1");
    for (let turn = 0; turn < 3_000 && sender.sent.length < 116; turn++) {
      await service.background.drainDeliveries();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const by = Object.groupBy(sender.sent, ({ payload }) => payload.listener);
    assert.equal(by.hook!.length, 100, "all of one");
    assert.equal(by.hangs!.length, limits.deliveriesPerListenerMax, "the share of the other");
    end({ status: 200 });
    await deliver(service);
    assert.equal(sender.sent.length, 200);
  }, { listeners });
});

async function failAll(service: Service, tenant: Tenant, streams: number): Promise<void> {
  for (let number = 0; number < streams; number++) await note(service, tenant, uuid(number), "1");
  await deliver(service);
}

async function circuit(service: Service, tenant: Tenant) {
  const { data: [listener] } = await service.data.listListeners(tenant, {});
  return listener!.circuit.state;
}

Deno.test("after 20 failures in a row an endpoint is left alone for 30 s; then one try finds out", async () => {
  await withListeners(async ({ service, sender, test, host }) => {
    sender.answer = () => ({ status: 500 });
    await failAll(service, test, limits.circuitFailuresMax - 1);
    assert.equal(await circuit(service, test), "closed");
    await note(service, test, uuid(50), "x");
    await deliver(service);
    assert.equal(sender.sent.length, limits.circuitFailuresMax);
    assert.equal(await circuit(service, test), "open");
    // They are due again, but nothing is sent and no attempt is counted.
    host.timeMs += 29_999;
    await deliver(service);
    assert.equal(sender.sent.length, limits.circuitFailuresMax);
    for (const each of await deliveries(service, test, "pending")) assert.equal(each.attempts, 1);
    host.timeMs += 1;
    await deliver(service);
    assert.equal(sender.sent.length, limits.circuitFailuresMax + 1, "one finds out");
    host.timeMs += 30_000;
    sender.answer = () => ({ status: 200 });
    await deliver(service);
    assert.equal(await circuit(service, test), "closed");
    host.timeMs += 25_000;
    await deliver(service);
    assert.equal((await deliveries(service, test, "delivered")).length, limits.circuitFailuresMax);
  });
});

Deno.test("one success begins the count of failures anew", async () => {
  await withListeners(async ({ service, sender, test }) => {
    sender.answer = (_, number) => ({ status: number === 15 ? 200 : 500 });
    await failAll(service, test, 30);
    assert.equal(sender.sent.length, 30);
    assert.equal(await circuit(service, test), "closed");
  });
});

Deno.test("another address begins with a clean record", async () => {
  await withListeners(async ({ service, sender, test, host }) => {
    sender.answer = ({ url }) => ({ status: url.includes("other") ? 200 : 500 });
    await failAll(service, test, limits.circuitFailuresMax);
    assert.equal(await circuit(service, test), "open");
    await redeploy(service, test, specWith({ hook: { url: "https://other.example.com/" } }));
    host.timeMs += 5_000;
    await deliver(service);
    assert.equal((await deliveries(service, test, "delivered")).length, limits.circuitFailuresMax);
  });
});

Deno.test("what has waited for more than an hour for an endpoint that is away is dead, untried", async () => {
  await withListeners(async ({ service, sender, test, host }) => {
    sender.answer = () => ({ status: 500 });
    await failAll(service, test, limits.circuitFailuresMax);
    for (let number = 100; number < 300; number++) await note(service, test, uuid(number), "late");
    const startMs = host.timeMs;
    // Every half minute one attempt finds that the endpoint is still away.
    while (host.timeMs < startMs + limits.deliveryAgeMsMax) {
      host.timeMs += 30_000;
      await deliver(service);
    }
    // Recently attempted deliveries are looked at when due, all of them four times a second.
    const lookAgain = async () => {
      for (const pauseMs of [LAST_PAUSE_MS, 250, 250]) {
        host.timeMs += pauseMs;
        await deliver(service);
      }
    };
    await lookAgain();
    // The delivery that probes the endpoint uses all of its attempts, however old it is.
    assert.ok((await deliveries(service, test, "pending")).length <= 1);
    for (const _ of RETRY_PAUSES_MS) await lookAgain();
    assert.deepEqual(await deliveries(service, test, "pending"), []);
    const page = await deliveries(service, test, "dead");
    const old = page.filter(({ reason }) => reason === "endpoint_unavailable");
    assert.ok(old.length > 100, String(old.length));
    assert.ok(old.some(({ attempts }) => attempts === 0));
  });
});

Deno.test("a healthy endpoint has all that waited, however long that was", async () => {
  await withListeners(async ({ service, sender, test, host }) => {
    await note(service, test, uuid(1), "1", "2");
    host.timeMs += 48 * 3600_000;
    await deliver(service);
    assert.deepEqual(told(sender.sent), ["1", "2"]);
  });
});

/** Twenty of the streams are hot; the other twenty have one event each. */
Deno.test("a stream with very many events does not keep the other streams waiting", async () => {
  await withListeners(async ({ service, sender, test }) => {
    const many = Array.from({ length: 2_000 }, (_, index) => `hot ${index}`);
    for (let number = 0; number < 40; number++) {
      await note(service, test, uuid(number), ...number < 20 ? many.slice(0, 100) : ["cold"]);
    }
    await deliver(service);
    const lastCold = told(sender.sent).lastIndexOf("cold");
    assert.ok(lastCold < 0.8 * sender.sent.length, `${lastCold} of ${sender.sent.length}`);
    assert.equal(new Set(sender.sent.map(idOf)).size, 20 * 100 + 20);
  });
});

function idOf({ payload }: Sent): string {
  return payload.id;
}

Deno.test("a listener's tries are told with how they ended", async () => {
  await withListeners(async ({ service, sender, test }) => {
    sender.answer = (_, number) => ({ status: number === 1 ? 410 : 200 });
    await note(service, test, uuid(1), "1", "2", "3");
    await deliver(service);
    const { counters } = service.operations;
    assert.equal(counters.deliveries.get("delivered"), 2);
    assert.equal(counters.deliveries.get("dead"), 1);
    assert.equal(counters.deliveryTries.get("2xx"), 2);
    assert.equal(counters.deliveryTries.get("4xx"), 1);
    assert.equal(counters.deliverySeconds.counts.reduce((a, b) => a + b), 3);
    const { data: [listener] } = await service.data.listListeners(test, {});
    assert.deepEqual(listener!.deliveries, { pending: 0, delivered: 2, dead: 1, dropped: 0 });
    assert.deepEqual(
      valueOf(await service.data.listDeliveries(test, { listener: "hook" })).data
        .map(({ state }) => state),
      ["dead", "delivered", "delivered"],
    );
  });
});
