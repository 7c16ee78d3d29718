/** How operators manage pending reactions: pause, resume, discard. */

import assert from "node:assert/strict";
import {
  type DiscardRequest,
  putTimersAside,
  returnTimers,
} from "../../../src/features/reactions/manage_reactions.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import type { Service } from "../../../src/features/service.ts";
import {
  drain,
  eventsOf,
  reactiveSpec,
  setOff,
  setOffAll,
  write,
} from "../../support/reactive_spec.ts";
import { refusalOf, uuid, valueOf, withService } from "../../support/service_fixture.ts";
import { followPauses } from "../../../src/features/reactions/follow_pauses.ts";
import { savePause } from "../../../src/store/reactions/paused_reactions.ts";
import { listDueTimers, setTimer, type Timer, type TimerKind } from "../../../src/store/timers.ts";
import { QUEUE_SHARDS } from "../../../src/domain/fairness/work_share.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { storeSchedule } from "../../../src/store/reactions/schedules.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { parsedIn } from "../../support/parsed_json.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const options = { spec: reactiveSpec };
const BY = "anna";

function request(filter: DiscardRequest["filter"], start?: string): DiscardRequest {
  return { filter, by: BY, requestId: "request-2", ...(start !== undefined && { start }) };
}

async function pendingOf(service: Service, tenant: Tenant) {
  return valueOf(await service.data.readPending(tenant, {}));
}

async function noted(service: Service, tenant: Tenant, id = uuid(1)): Promise<number> {
  return (await eventsOf(service, tenant, "ledger", id)).length;
}

Deno.test("nothing reacts while an environment is paused, and all of it afterwards", async () => {
  await withService(async ({ service, host, tenants: { test, staging } }) => {
    await service.data.pauseReactions(test, BY);
    await write(service, test, setOff(uuid(1), "was_placed"));
    await write(service, test, setOff(uuid(2), "was_promised"));
    await write(service, staging, setOff(uuid(1), "was_placed"));
    host.timeMs += 120_000;
    await drain(service);
    assert.equal(await noted(service, test), 0);
    assert.equal((await eventsOf(service, test, "order", uuid(2))).length, 1);
    assert.equal(await noted(service, staging), 1, "others go on");
    const found = await pendingOf(service, test);
    assert.equal(found.paused, true);
    assert.equal(found.paused_by, BY);
    assert.deepEqual(found.data.map(({ kind, key, event_type }) => [kind, key, event_type]), [
      ["implied", `ledger:${uuid(1)}`, "was_noted"],
      ["scheduled", `order:${uuid(2)}`, "was_reminded"],
    ]);
    assert.equal(found.data[0]!.root_key, `order:${uuid(1)}`);

    await service.data.resumeReactions(test);
    await drain(service);
    assert.equal(await noted(service, test), 1);
    const [, reminder] = await eventsOf(service, test, "order", uuid(2));
    assert.equal(reminder!.type, "was_reminded", "late");
    assert.equal((await pendingOf(service, test)).paused, false);
    assert.deepEqual((await pendingOf(service, test)).data, []);
  }, options);
});

Deno.test("a backlog of one that is paused is not before the timers of others", async () => {
  await withService(async ({ service, host, tenants: { test, staging } }) => {
    for (let n = 1; n <= 30; n++) await write(service, test, setOff(uuid(n), "was_promised"));
    await write(service, staging, setOff(uuid(1), "was_promised"));
    await service.data.pauseReactions(test, BY);
    host.timeMs += 60_000;
    for (let round = 0; round < 5; round++) await service.background.drainTimers(16);
    assert.equal((await eventsOf(service, staging, "order", uuid(1))).length, 2);
    assert.equal((await eventsOf(service, test, "order", uuid(1))).length, 1);
    await service.data.resumeReactions(test);
    await drain(service);
    for (let n = 1; n <= 30; n++) {
      assert.equal((await eventsOf(service, test, "order", uuid(n))).length, 2);
    }
  }, options);
});

Deno.test("an event may still cancel a timer that is aside", async () => {
  await withService(async ({ service, host, tenants: { test } }) => {
    await write(service, test, setOff(uuid(1), "was_promised"));
    await service.data.pauseReactions(test, BY);
    host.timeMs += 60_000;
    await drain(service);
    await write(service, test, setOff(uuid(1), "was_paid"));
    await service.data.resumeReactions(test);
    await drain(service);
    const types = (await eventsOf(service, test, "order", uuid(1))).map(({ type }) => type);
    assert.deepEqual(types, ["was_promised", "was_paid"]);
  }, options);
});

Deno.test("discarding takes out what matches, and a record says how much and by whom", async () => {
  await withService(async ({ service, host, tenants: { test } }) => {
    await service.data.pauseReactions(test, BY);
    await write(service, test, setOff(uuid(1), "was_placed"));
    await write(service, test, setOff(uuid(2), "was_placed"));
    await write(service, test, setOff(uuid(3), "was_promised"));
    const root = { root_key: `order:${uuid(1)}` };
    const one = valueOf(await service.data.discardReactions(test, request(root)));
    assert.deepEqual(one, { discarded: { implied: 1, scheduled: 0, saga: 0 }, truncated: false });
    const timers = { kind: "scheduled", event_type: "was_reminded" } as const;
    const two = valueOf(await service.data.discardReactions(test, request(timers)));
    assert.deepEqual(two.discarded, { implied: 0, scheduled: 1, saga: 0 });
    const none = { aggregate_type: "order", kind: "implied" } as const;
    const three = valueOf(await service.data.discardReactions(test, request(none)));
    assert.deepEqual(three.discarded, { implied: 0, scheduled: 0, saga: 0 });

    const errors = valueOf(await service.data.listErrors(test, { limit: 10 })).data;
    assert.equal(errors.length, 2);
    const found = errors.find(({ context }) => context.implied === 1)!;
    assert.equal(found.error_type, "reactions_discarded");
    assert.equal(found.request_id, "request-2");
    assert.deepEqual(found.context.filter, root);
    assert.equal(found.context.by, BY);

    await service.data.resumeReactions(test);
    host.timeMs += 60_000;
    await drain(service);
    assert.equal(await noted(service, test, uuid(1)), 0);
    assert.equal(await noted(service, test, uuid(2)), 1);
    assert.equal((await eventsOf(service, test, "order", uuid(3))).length, 1);
  }, options);
});

Deno.test("what is pending is listed page by page, and counted whole", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    await service.data.pauseReactions(test, BY);
    const events = Array.from({ length: 7 }, () => ({ type: "was_placed", data: {} }));
    await write(service, test, setOffAll(uuid(1), events));
    for (const n of [2, 3]) await write(service, test, setOff(uuid(n), "was_promised"));
    const seen: string[] = [];
    let start: string | undefined;
    let pages = 0;
    do {
      const page = valueOf(await service.data.readPending(test, { limit: 2, start }));
      seen.push(...page.data.map(({ kind }) => kind));
      assert.equal(page.pending.implied.count, 7);
      assert.equal(page.pending.scheduled.count, 2);
      assert.equal(page.pending.implied.is_more, false);
      assert.ok(page.pending.implied.bytes > 7 * 50);
      start = page.next_start;
      pages++;
    } while (start !== undefined);
    assert.deepEqual(seen, [...Array(7).fill("implied"), "scheduled", "scheduled"]);
    assert.equal(pages, 5);
    for (const made of ["x", "e30", "bnVsbA"]) {
      const refusal = refusalOf(await service.data.readPending(test, { start: made }));
      assert.equal(refusal.kind, "bad_request");
    }
  }, options);
});

/** Scheduled events of 60 KB. */
async function promiseLarge(engine: Engine, { number: tenant }: Tenant, count: number) {
  const key = streamKey("order", uuid(1));
  const emission = {
    key,
    aggregateType: "order",
    id: uuid(1),
    eventType: "was_reminded",
    data: { text: "x".repeat(60_000) },
  };
  const by = { key, eventType: "was_promised", streamId: "000000000000" };
  const times = { createdMs: Date.UTC(2026, 0, 1), fireAtMs: 1e13, timerMs: 1e13 };
  for (let number = 0; number < count; number++) {
    const id = String(number).padStart(3, "0");
    const record = { id, emission, cancelOn: [], by, requestId: "r", tries: 0, ...times };
    await engine.transact((tx) => Promise.resolve(storeSchedule(tx, tenant, record)));
  }
}

Deno.test("a page of pending reactions decodes what it shows and nothing else", async () => {
  await withService(async ({ service, engine, tenants: { test } }) => {
    await promiseLarge(engine, test, 40);
    const lengths = await parsedIn(async () => {
      const page = valueOf(await service.data.readPending(test, { limit: 3 }));
      assert.deepEqual([page.data.length, page.truncated], [3, true]);
      assert.equal(page.pending.scheduled.count, 40);
      assert.ok(page.pending.scheduled.bytes > 40 * 60_000);
      assert.equal(page.pending.oldest, "2026-01-01T00:00:00.000Z");
    });
    assert.equal(lengths.filter((length) => length > 60_000).length, 3);
  }, options);
});

Deno.test("a page of pending reactions ends with the one that makes it four megabytes", async () => {
  await withService(async ({ service, engine, tenants: { test } }) => {
    await promiseLarge(engine, test, 140);
    const counts: number[] = [];
    let start: string | undefined;
    do {
      const page = valueOf(await service.data.readPending(test, { limit: 200, start }));
      assert.equal(page.truncated, page.next_start !== undefined);
      counts.push(page.data.length);
      start = page.next_start;
    } while (start !== undefined);
    assert.deepEqual(counts, [70, 70]);
  }, options);
});

Deno.test("others have a turn before each large reaction that a call to discard looks at", async () => {
  await withService(async ({ service, engine, host, tenants: { test } }) => {
    await promiseLarge(engine, test, 12);
    const { monotonicMs, yieldTurn } = host;
    let turns = 0;
    let nowMs = monotonicMs();
    host.monotonicMs = () => nowMs += 5;
    host.yieldTurn = () => {
      turns++;
      return yieldTurn();
    };
    const filter = { event_type: "none" };
    const { discarded } = valueOf(await service.data.discardReactions(test, request(filter)));
    Object.assign(host, { monotonicMs, yieldTurn });
    assert.equal(discarded.scheduled, 0);
    assert.ok(turns >= 12, `${turns} turns`);
  }, options);
});

/** Due timers of paused environments, beside those of others. */
const PAUSED = { state: "paused", since: "2026-01-01T00:00:00.000Z", by: "anna" } as const;

function timer(tenant: number, kind: TimerKind): Timer {
  return { dueMs: 5, tenant, kind, id: `${kind} of ${tenant}` };
}

async function idsOf(engine: Engine): Promise<string[]> {
  const shards = Array.from({ length: QUEUE_SHARDS.timer }, (_, shard) => shard);
  const found = await engine.snapshot((tx) =>
    Promise.all(shards.map((shard) => listDueTimers(tx, shard, { nowMs: 10, limit: 100 })))
  );
  return found.flat().map(({ id }) => id).sort();
}

Deno.test("timers that react go aside where that is paused, others stay, and all come back", async () => {
  await withTemporaryEngine(async (engine) => {
    const timers = [timer(1, "scheduled"), timer(1, "saga"), timer(1, "delivery")];
    const other = timer(2, "scheduled");
    await engine.transact((tx) => {
      for (const each of [...timers, other]) setTimer(tx, each);
      savePause(tx, 1, PAUSED);
      return Promise.resolve();
    });
    const paused = followPauses(engine, fakeHost());
    await paused.ready();
    const aside = await putTimersAside(engine, paused, [...timers, other]);
    assert.deepEqual([...aside], timers.slice(0, 2));
    assert.deepEqual(await idsOf(engine), ["delivery of 1", "scheduled of 2"]);
    assert.equal(await returnTimers(engine, paused), 0);

    await engine.transact((tx) => {
      savePause(tx, 1, { ...PAUSED, state: "resuming" });
      return Promise.resolve();
    });
    paused.forget();
    await paused.ready();
    assert.equal(await returnTimers(engine, paused), 2);
    const all = ["delivery of 1", "saga of 1", "scheduled of 1", "scheduled of 2"];
    assert.deepEqual(await idsOf(engine), all);
    await paused.close();
  });
});

Deno.test("a cursor whose names take too long to find is refused like one that no list has returned", async () => {
  let [nowMs, stepMs] = [0, 0];
  const monotonicMs = () => nowMs += stepMs;
  await withService(async ({ service: { data }, tenants: { test } }) => {
    const start = btoa(JSON.stringify({ source: "outbox" })).replace(/=+$/, "");
    const read = () => data.readPending(test, { start });
    valueOf(await read());
    stepMs = 5;
    assert.equal(refusalOf(await read()).kind, "bad_request");
    [nowMs, stepMs] = [nowMs + 120_000, 0];
    valueOf(await read());
  }, { realHost: { monotonicMs } });
});
