/**
 * Reactions under faults: each effect happens exactly once, and none is missing. Commits lose
 * their replies, the store goes away and single entries fail.
 */

import assert from "node:assert/strict";
import { limits } from "../../../src/domain/limits.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import type { Service } from "../../../src/features/service.ts";
import { COMMIT_FAULTS, type Fault, faultyEngine } from "../../support/faulty_engine.ts";
import { poisonedEngine } from "../../support/poisoned_engine.ts";
import {
  depthsOf,
  drain,
  eventsOf,
  reactiveSpec,
  setOff,
  write,
} from "../../support/reactive_spec.ts";
import { type ServiceFixture, uuid, valueOf, withService } from "../../support/service_fixture.ts";

const MINUTE_MS = 60_000;

/** Runs `body` with a service whose commit number `at` after `arm` meets the fault. */
async function withFault(
  at: number,
  fault: Fault,
  body: (fixture: ServiceFixture, arm: () => void) => Promise<void>,
  isDirect = false,
): Promise<void> {
  let seen: number | undefined;
  const plan = () => seen !== undefined && seen++ === at ? fault : undefined;
  const wrap = (engine: Engine) => faultyEngine(engine, plan);
  const options = { spec: reactiveSpec, wrap, isDirect };
  await withService((fixture) => body(fixture, () => seen = 0), options);
}

for (const { name, fault } of COMMIT_FAULTS) {
  Deno.test(`the commit of an implied event: ${name}; there is one event`, async () => {
    await withFault(1, fault, async ({ service, host, tenants: { test } }, arm) => {
      arm();
      const written = await write(service, test, setOff(uuid(1), "was_placed"));
      assert.equal(written.impliedCount, 1);
      await finish(service, host);
      assert.equal((await eventsOf(service, test, "ledger", uuid(1))).length, 1);
    });
  });

  for (const isDirect of [false, true]) {
    const way = isDirect ? "both together" : "one after the other";
    Deno.test(`the commit of the trigger, ${way}: ${name}; there are both events or none`, async () => {
      await withFault(0, fault, async ({ service, host, tenants: { test } }, arm) => {
        arm();
        const isSeen = fault.kind === "unavailable";
        const writing = write(service, test, setOff(uuid(1), "was_placed"));
        if (isSeen) await assert.rejects(writing, { name: "EngineUnavailable" });
        else await writing;
        await finish(service, host);
        const expected = isSeen && !fault.landed ? 0 : 1;
        assert.equal((await eventsOf(service, test, "order", uuid(1))).length, expected);
        assert.equal((await eventsOf(service, test, "ledger", uuid(1))).length, expected);
      }, isDirect);
    });
  }

  Deno.test(`the commit of a scheduled event: ${name}; it has fired once`, async () => {
    await withFault(0, fault, async ({ service, host, tenants: { test } }, arm) => {
      await write(service, test, setOff(uuid(1), "was_promised"));
      host.timeMs += MINUTE_MS;
      arm();
      await service.background.drainTimers(1_600).catch(() => {});
      await finish(service, host);
      const types = (await eventsOf(service, test, "order", uuid(1))).map(({ type }) => type);
      assert.deepEqual(types, ["was_promised", "was_reminded"]);
    });
  });

  Deno.test(`the commit that gives an implied event up: ${name}; one error record`, async () => {
    await withFault(1, fault, async ({ service, host, tenants: { test } }, arm) => {
      arm();
      await write(service, test, setOff(uuid(1), "was_counted", { count: "many" }));
      await finish(service, host);
      assert.equal((await eventsOf(service, test, "ledger", uuid(1))).length, 1);
      assert.equal(valueOf(await service.data.listErrors(test, {})).data.length, 1);
    });
  });
}

/** Lets all remaining work become due, and does it. */
async function finish(service: Service, host: { timeMs: number }): Promise<void> {
  for (let round = 0; round < 3; round++) {
    host.timeMs += MINUTE_MS;
    await drain(service);
  }
}

Deno.test("an entry that fails again and again is parked after eight tries, others go on", async () => {
  let poison: string | undefined;
  const wrap = (engine: Engine) => poisonedEngine(engine, () => poison);
  await withService(async ({ service, host, tenants: { test } }) => {
    poison = `ledger:${uuid(1)}`;
    await Promise.all([1, 2, 3].map((n) => write(service, test, setOff(uuid(n), "was_placed"))));
    for (const n of [2, 3]) {
      assert.equal((await eventsOf(service, test, "ledger", uuid(n))).length, 1);
    }
    let tries = 1;
    for (; tries < 100; tries++) {
      host.timeMs += limits.reactionRetryMsMax;
      if (await service.background.drainOutbox(100) === 0) break;
    }
    assert.equal(tries, limits.reactionTriesMax);
    assert.deepEqual(await depthsOf(service), { parked: 1 });
    const { data } = valueOf(await service.data.listErrors(test, {}));
    assert.deepEqual(data.map(({ error_type }) => error_type), ["implication_failed"]);
    assert.equal(data[0]!.context.event_key, `order:${uuid(1)}`);
    poison = undefined;
    await write(service, test, setOff(uuid(1), "was_placed"));
    assert.equal((await eventsOf(service, test, "ledger", uuid(1))).length, 1);
  }, { spec: reactiveSpec, wrap, isDirect: false });
});

Deno.test("an entry that failed once is done at its next try, and not before its pause", async () => {
  let poison: string | undefined;
  const wrap = (engine: Engine) => poisonedEngine(engine, () => poison);
  await withService(async ({ service, host, tenants: { test } }) => {
    poison = `ledger:${uuid(1)}`;
    await write(service, test, setOff(uuid(1), "was_placed"));
    poison = undefined;
    host.timeMs += limits.reactionRetryMsMin / 2 - 1;
    assert.equal(await drain(service), 0);
    host.timeMs += limits.reactionRetryMsMin;
    assert.equal(await drain(service), 1);
    assert.equal((await eventsOf(service, test, "ledger", uuid(1))).length, 1);
  }, { spec: reactiveSpec, wrap, isDirect: false });
});

Deno.test("a scheduled event that fails again and again is parked, others fire", async () => {
  let poison: string | undefined;
  const wrap = (engine: Engine) => poisonedEngine(engine, () => poison);
  await withService(async ({ service, host, tenants: { test } }) => {
    for (const n of [1, 2, 3]) await write(service, test, setOff(uuid(n), "was_delayed"));
    poison = uuid(1);
    let tries = 0;
    for (; tries < 100; tries++) {
      host.timeMs += limits.reactionRetryMsMax;
      // The poison is not in the failing record's key, only in the key of its event's stream.
      if (await service.background.drainTimers(1_600) === 0) break;
    }
    assert.equal(tries, limits.reactionTriesMax);
    for (const n of [2, 3]) {
      assert.equal((await eventsOf(service, test, "order", uuid(n))).length, 2);
    }
    assert.equal((await eventsOf(service, test, "order", uuid(1))).length, 1);
    assert.deepEqual(await depthsOf(service), { parked: 1 });
    assert.deepEqual(valueOf(await service.data.listScheduled(test, {})).data, []);
    const request = { aggregateType: "order", id: uuid(1), index: "0", depth: 1 };
    const [effects] = valueOf(await service.data.readEffects(test, request)).data;
    const [ended] = effects!.scheduled!;
    assert.deepEqual([ended!.state, ended!.cancelled_by], ["cancelled", { reason: "failed" }]);
  }, { spec: reactiveSpec, wrap, isDirect: false });
});
