/**
 * Deliveries under faults: each arrives at least once, under one id, in order. Commits lose
 * their replies, the store goes away, the spec cannot be read and processes end. Each delivery
 * arrives exactly once if nothing failed.
 */

import assert from "node:assert/strict";
import type { TryAnswer } from "../../../src/domain/listener/delivery.ts";
import { wrapEngine } from "../../../src/kv/calls.ts";
import { type Engine, EngineUnavailable } from "../../../src/kv/engine.ts";
import { keys } from "../../../src/store/keys.ts";
import { createService } from "../../../src/features/service.ts";
import { COMMIT_FAULTS, type Fault, faultyEngine } from "../../support/faulty_engine.ts";
import {
  deliver,
  deliveries,
  type ListenerFixture,
  note,
  type ScriptedSender,
  scriptedSender,
  SECRET,
  told,
  webhookSettings,
  withListeners,
} from "../../support/listener_fixtures.ts";
import { noteWrite, uuid, valueOf } from "../../support/service_fixture.ts";

/** Runs `body` with a service whose commit number `at` after `arm` meets the fault. */
async function withFault(
  at: number,
  fault: Fault,
  body: (fixture: ListenerFixture, arm: () => void) => Promise<void>,
): Promise<void> {
  let seen: number | undefined;
  const plan = () => seen !== undefined && seen++ === at ? fault : undefined;
  const wrap = (engine: Engine) => faultyEngine(engine, plan);
  await withListeners((fixture) => body(fixture, () => seen = 0), { wrap });
}

/** Delivers while the clock moves on to the end of each pause after an outage. */
async function deliverInTime({ service, host }: ListenerFixture): Promise<void> {
  let isOver = false;
  const delivering = deliver(service).finally(() => isOver = true);
  while (!isOver) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    // All other waits of a service are longer than the first few pauses.
    const pauseMs = host.timersMs.find((ms) => ms < 500);
    if (pauseMs !== undefined) host.timeMs += pauseMs;
  }
  await delivering;
}

for (const { name, fault } of COMMIT_FAULTS) {
  Deno.test(`the commit of the event: ${name}; it is delivered once, or neither is there`, async () => {
    await withFault(0, fault, async (fixture, arm) => {
      const { service, sender, test } = fixture;
      await deliver(service);
      arm();
      const writing = service.data.writeEvents(test, noteWrite(uuid(1), "first"));
      const isSeen = fault.kind === "unavailable";
      if (isSeen) await assert.rejects(writing, { name: "EngineUnavailable" });
      else await writing;
      await deliverInTime(fixture);
      const isThere = !isSeen || (fault.kind === "unavailable" && fault.landed);
      assert.deepEqual(told(sender.sent), isThere ? ["first"] : []);
    });
  });

  for (const status of [200, 410, 500]) {
    Deno.test(`the settling of a try that met ${status}: ${name}; it is not sent again for that`, async () => {
      await withFault(0, fault, async (fixture, arm) => {
        const { service, sender, test } = fixture;
        sender.answer = (_, number) => ({ status: number === 1 ? status : 200 });
        await note(service, test, uuid(1), "first", "second");
        arm();
        await deliverInTime(fixture);
        const [failed] = await deliveries(service, test, status === 500 ? "pending" : undefined);
        assert.equal(failed!.attempts, 1, "the one try is counted");
        fixture.host.timeMs += 5_000;
        await deliverInTime(fixture);
        assert.deepEqual(
          told(sender.sent),
          status === 500 ? ["first", "first", "second"] : ["first", "second"],
        );
        assert.deepEqual(await deliveries(service, test, "pending"), []);
      });
    });
  }
}

Deno.test("where the spec cannot be read, a delivery goes to the address of its time, unsigned", async () => {
  let isUnreadable = false;
  const wrap = (engine: Engine): Engine =>
    wrapEngine(engine, {
      snapshot: (body) =>
        engine.snapshot((tx) =>
          body({
            get(key) {
              const isSpec = isUnreadable &&
                [3, 2, 1].some((tenant) => key.toHex() === keys.currentSpec(tenant).toHex());
              return isSpec
                ? Promise.reject(new EngineUnavailable("A part of the store is away"))
                : tx.get(key);
            },
            getRange: (range, options) => tx.getRange(range, options),
            readVersion: () => tx.readVersion(),
          })
        ),
    });
  await withListeners(async ({ service, sender, test, host }) => {
    sender.answer = ({ headers }) => ({ status: "X-SVC-Signature" in headers ? 200 : 401 });
    await note(service, test, uuid(1), "first");
    isUnreadable = true;
    // The remembered spec is too old by then.
    host.timeMs += 10_000;
    await deliver(service);
    assert.equal(sender.sent.length, 1);
    const [{ url, headers, body }] = sender.sent as [ScriptedSender["sent"][number]];
    assert.equal(url, "https://hook.example.com/hook");
    assert.deepEqual(Object.keys(headers).sort(), [
      "content-type",
      "user-agent",
      "webhook-id",
      "webhook-timestamp",
    ]);
    assert.ok(!body.includes(SECRET));
    isUnreadable = false;
    host.timeMs += 5_000;
    await deliver(service);
    assert.equal((await deliveries(service, test, "delivered")).length, 1, "signed at the retry");
    assert.ok(host.lines.some(({ message }) => message.includes("without a signature")));
  }, { wrap });
});

Deno.test("a process that ends gives up what is under way: the next one sends it, as the first try", async () => {
  await withListeners(async ({ access, engine, host, service, sender, test }) => {
    const { promise: cut, resolve: end } = Promise.withResolvers<TryAnswer>();
    const first = scriptedSender();
    first.answer = () => cut;
    const webhooks = {
      ...webhookSettings({ ...first, close: () => end({ failure: "connection_failed" }) }),
    };
    const dying = createService(engine, host, access, { webhooks });
    await note(service, test, uuid(1), "first", "second");
    await dying.background.drainDeliveries();
    while (first.sent.length === 0) await host.yieldTurn();
    const closing = dying.close();
    await host.yieldTurn();
    host.timeMs += 1_000;
    await closing;
    assert.deepEqual(told(first.sent), ["first"]);
    await deliver(service);
    assert.deepEqual(told(sender.sent), ["first", "second"]);
    assert.equal(sender.sent[0]!.payload.attempt, 1);
    assert.equal(sender.sent[0]!.payload.id, first.sent[0]!.payload.id);
  });
});

Deno.test("secrets are in no log line, no listing, no record", async () => {
  await withListeners(async ({ service, sender, test, host }) => {
    sender.answer = (_, number) => ({ status: [500, 410, 302][number - 1] ?? 200 });
    await note(service, test, uuid(1), "1", "2", "3");
    await deliver(service);
    host.timeMs += 5_000;
    await deliver(service);
    const shown = [
      host.lines,
      await service.data.listListeners(test, {}),
      valueOf(await service.data.listDeliveries(test, { listener: "hook" })),
      valueOf(await service.data.listErrors(test, {})),
    ];
    assert.ok(!JSON.stringify(shown).includes(SECRET));
  });
});
