/** Ended deliveries that are requested again. See docs/reference/listeners.md. */

import assert from "node:assert/strict";
import { limits } from "../../../src/domain/limits.ts";
import {
  deliver,
  deliveries,
  note,
  redeploy,
  specWith,
  told,
  withListeners,
} from "../../support/listener_fixtures.ts";
import { refusalOf, uuid, valueOf } from "../../support/service_fixture.ts";

Deno.test("a dead delivery that is asked for again has its four tries, under its own id", async () => {
  await withListeners(async ({ service, sender, test, host }) => {
    sender.answer = (_, number) => ({ status: number === 1 ? 410 : 500 });
    await note(service, test, uuid(1), "first");
    await deliver(service);
    const [dead] = await deliveries(service, test, "dead");
    host.timeMs += 3600_000;
    const request = { listener: "hook", deliveryId: dead!.delivery_id };
    const replayed = valueOf(await service.data.replayDeliveries(test, request));
    assert.deepEqual(replayed, { replayed: 1, truncated: false });
    await deliver(service);
    for (const pauseMs of [5_000, 25_000, 125_000]) {
      host.timeMs += pauseMs;
      await deliver(service);
    }
    assert.deepEqual(sender.sent.map(({ payload }) => payload.attempt), [1, 2, 3, 4, 5]);
    assert.deepEqual(new Set(sender.sent.map(({ payload }) => payload.id)).size, 1);
    const [again, ...more] = await deliveries(service, test);
    assert.deepEqual(more, [], "one delivery, in one state");
    assert.deepEqual([again!.state, again!.attempts], ["dead", 5]);
  });
});

Deno.test("what was delivered can be had again; what is pending, unknown or another's cannot", async () => {
  const listeners = { hook: {}, other: {}, off: { enabled: false } };
  await withListeners(async ({ service, sender, test }) => {
    sender.answer = (_, number) => ({ status: number > 2 ? 500 : 200 });
    await note(service, test, uuid(1), "first");
    await deliver(service);
    const [delivered] = await deliveries(service, test, "delivered");
    const id = delivered!.delivery_id;
    const replay = (listener: string, deliveryId: string) =>
      service.data.replayDeliveries(test, { listener, deliveryId });
    assert.equal(refusalOf(await replay("other", id)).kind, "not_found");
    assert.equal(refusalOf(await replay("nobody", id)).kind, "not_found");
    assert.equal(refusalOf(await replay("hook", "dlv_x")).kind, "not_found");
    assert.equal(refusalOf(await replay("off", id)).kind, "operator_input_invalid");
    valueOf(await replay("hook", id));
    assert.equal(refusalOf(await replay("hook", id)).kind, "not_found", "it is pending now");
    await deliver(service);
    assert.deepEqual(told(sender.sent), ["first", "first", "first"]);
  }, { listeners });
});

Deno.test("all deliveries of events since a time are sent again in the order of their streams", async () => {
  await withListeners(async ({ service, sender, test, host }) => {
    await note(service, test, uuid(1), "old");
    host.timeMs += 1_000;
    const sinceMs = host.timeMs;
    sender.answer = ({ payload }) => ({ status: payload.event.data.text === "b" ? 410 : 200 });
    await note(service, test, uuid(1), "a", "b");
    await redeploy(service, test, specWith({ hook: { enabled: false } }));
    await deliver(service);
    assert.equal((await deliveries(service, test, "dropped")).length, 3);
    await redeploy(service, test, specWith({ hook: {} }));
    await note(service, test, uuid(1), "c");
    await deliver(service);
    sender.answer = () => ({ status: 200 });
    sender.sent.length = 0;
    const request = { listener: "hook", sinceMs };
    const replayed = valueOf(await service.data.replayDeliveries(test, request));
    assert.deepEqual(replayed, { replayed: 3, truncated: false });
    await deliver(service);
    assert.deepEqual(told(sender.sent), ["a", "b", "c"]);
    assert.equal((await deliveries(service, test, "dropped")).length, 1, "the old one stays");
    const none = valueOf(
      await service.data.replayDeliveries(test, { listener: "hook", sinceMs: host.timeMs + 1 }),
    );
    assert.deepEqual(none, { replayed: 0, truncated: false });
  });
});

Deno.test("a replay goes step by step: each call takes so many and says where the next goes on", async () => {
  await withListeners(async ({ service, sender, test, host }) => {
    const texts = Array.from({ length: limits.replayedAtOnceMax + 5 }, (_, index) => String(index));
    const sinceMs = host.timeMs;
    await note(service, test, uuid(1), ...texts);
    await deliver(service);
    sender.sent.length = 0;
    const listener = "hook";
    const first = valueOf(await service.data.replayDeliveries(test, { listener, sinceMs }));
    assert.equal(first.replayed, limits.replayedAtOnceMax);
    assert.equal(first.truncated, true);
    await deliver(service);
    // The replayed ones have ended again by now: the cursor prevents another replay of them.
    const request = { listener, sinceMs, start: first.next_start! };
    const second = valueOf(await service.data.replayDeliveries(test, request));
    assert.deepEqual(second, { replayed: 5, truncated: false });
    await deliver(service);
    assert.deepEqual(told(sender.sent), texts);
    const bad = await service.data.replayDeliveries(test, { listener, sinceMs, start: "x" });
    assert.equal(refusalOf(bad).kind, "bad_request");
  });
});
