/** How many scheduled events fire at a time: all small ones, of large ones only some megabytes. */

import assert from "node:assert/strict";
import { QUEUE_SHARDS } from "../../../src/domain/fairness/work_share.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import { newCounters } from "../../../src/domain/measures/counters.ts";
import { openSpecCache } from "../../../src/features/base/current_spec.ts";
import { createTimerRunner, type TimerParts } from "../../../src/features/work/fire_schedule.ts";
import { EngineUnavailable } from "../../../src/kv/engine.ts";
import { type ScheduleRecord, storeSchedule } from "../../../src/store/reactions/schedules.ts";
import { countReads } from "../../support/count_reads.ts";
import { whileParsing } from "../../support/parsed_json.ts";
import { reactiveSpec } from "../../support/reactive_spec.ts";
import { type ServiceFixture, uuid, withService } from "../../support/service_fixture.ts";

function recordOf(number: number, bytes: number): ScheduleRecord {
  const key = streamKey("order", uuid(number));
  return {
    id: uuid(number),
    emission: {
      key,
      aggregateType: "order",
      id: uuid(number),
      eventType: "was_reminded",
      data: { of: "x".repeat(bytes) },
    },
    cancelOn: [],
    createdMs: 0,
    fireAtMs: 1_000,
    by: { key, eventType: "was_promised", streamId: "000000000000" },
    requestId: "r",
    tries: 0,
    timerMs: 1_000,
  };
}

interface Firing {
  /** Of the events that are being written now. */
  readonly writing: Map<string, PromiseWithResolvers<void>>;
  /** While the runner reads, more may begin. */
  readonly isReading: () => boolean;
  readonly done: Promise<number>;
}

/** Stores records that are due. */
async function store(
  { engine }: ServiceFixture,
  tenant: Tenant,
  count: number,
  bytes: number | ((number: number) => number),
): Promise<void> {
  for (let at = 0; at < count; at += 50) {
    await engine.transact((tx) => {
      for (let number = at; number < Math.min(at + 50, count); number++) {
        const size = typeof bytes === "number" ? bytes : bytes(number);
        storeSchedule(tx, tenant.number, recordOf(number, size));
      }
      return Promise.resolve();
    });
  }
}

/** Stores records that are due, and fires them; nothing is written before the test says so. */
async function fireAll(fixture: ServiceFixture, count: number, bytes: number): Promise<Firing> {
  await store(fixture, fixture.tenants.test, count, bytes);
  const { writing, isReading, runner } = openRunner(fixture);
  const done = runner.drain(count * QUEUE_SHARDS.timer);
  done.catch(() => {});
  return { writing, isReading, done };
}

/** A runner that writes nothing before the test says so. */
function openRunner(fixture: ServiceFixture, change: Partial<TimerParts> = {}) {
  const { host } = fixture;
  const { engine, isReading } = countReads(fixture.engine);
  const writing = new Map<string, PromiseWithResolvers<void>>();
  const shards = Array.from({ length: QUEUE_SHARDS.timer }, (_, shard) => ({ shard }));
  const parts = {
    engine,
    host,
    specs: openSpecCache(engine, host),
    combiner: { counters: newCounters() },
    share: { held: () => Promise.resolve(shards) },
    sagas: {},
    lanes: {},
    outbox: { ownWaitMs: () => 0, sagas: {} },
    emitter: {
      async write(...[, , request]: Parameters<TimerParts["emitter"]["write"]>) {
        const stays = Promise.withResolvers<void>();
        writing.set(request.emission.key, stays);
        await stays.promise;
        writing.delete(request.emission.key);
        return { ok: true, written: {} };
      },
    },
    paused: { tenants: new Set(), ready: () => Promise.resolve(), resuming: () => [] },
    ...change,
  };
  return { writing, isReading, runner: createTimerRunner(parts as unknown as TimerParts) };
}

/** Half a minute of real time: a slow machine takes its time. */
const LOOKS_MAX = 15_000;

/** Waits until so many events are being written and no more begin to be, or until all is done. */
async function settled({ writing, isReading, done }: Firing, atLeast = 1): Promise<number> {
  const isDone = endOf(done);
  for (let look = 0, before = -1, quiet = 0; quiet < 10; before = writing.size, look++) {
    await new Promise((resolve) => setTimeout(resolve, 2));
    if (isDone() || look === LOOKS_MAX) break;
    const isQuiet = !isReading() && writing.size >= atLeast && writing.size === before;
    quiet = isQuiet ? quiet + 1 : 0;
  }
  return writing.size;
}

/** Tells whether it has ended, either way. */
function endOf(done: Promise<unknown>): () => boolean {
  let isDone = false;
  const end = () => void (isDone = true);
  done.then(end, end);
  return () => isDone;
}

Deno.test("three hundred small events fire at the same time", async () => {
  await withService(async (fixture) => {
    const firing = await fireAll(fixture, 300, 10);
    assert.equal(await settled(firing, 300), 300);
    for (const { resolve } of firing.writing.values()) resolve();
    assert.equal(await firing.done, 300);
  }, { spec: reactiveSpec });
});

Deno.test("of large events two megabytes fire at the same time, and all of them in the end", async () => {
  await withService(async (fixture) => {
    const firing = await fireAll(fixture, 100, 90_000);
    const together = await settled(firing, 21);
    assert.ok(together > 20 && together <= 32, `${together} of 90 KB each`);
    let fired = 0;
    for (let isOver = false; !isOver;) {
      assert.ok(firing.writing.size <= 32);
      for (const { resolve } of [...firing.writing.values()]) {
        resolve();
        fired++;
      }
      await settled(firing);
      isOver = firing.writing.size === 0;
    }
    assert.equal(fired, 100);
    assert.equal(await firing.done, 100);
  }, { spec: reactiveSpec });
});

Deno.test("after an outage no further event begins to fire, and it is reported at the end", async () => {
  await withService(async (fixture) => {
    const firing = await fireAll(fixture, 100, 90_000);
    const together = await settled(firing);
    let isOver = false;
    firing.done.catch(() => isOver = true);
    const [first, ...others] = [...firing.writing.values()];
    first!.reject(new EngineUnavailable("away"));
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(isOver, false, "others are being written");
    for (const { resolve } of others) resolve();
    await assert.rejects(firing.done, /away/);
    assert.ok(firing.writing.size <= 1 && together <= 32, "no other has begun");
  }, { spec: reactiveSpec });
});

/**
 * Lets a round run until nothing more begins, and then its time run out. A round that was slow to
 * begin is given its time again.
 */
async function runShortly(
  fixture: ServiceFixture,
  firing: Firing,
  atLeast = 1,
): Promise<number> {
  for (const isDone = endOf(firing.done); !isDone();) {
    await settled(firing, atLeast);
    fixture.host.timeMs += 250;
  }
  return await firing.done;
}

Deno.test("a round ends although events take long to write, and the next one fires another environment's", async () => {
  await withService(async (fixture) => {
    const { tenants: { test, staging } } = fixture;
    await store(fixture, test, 2_000, 10);
    const { writing, isReading, runner } = openRunner(fixture);
    let begun = 0;
    for (let round = 0; round < 20; round++) {
      begun += await runShortly(fixture, { writing, isReading, done: runner.drain(100) });
      assert.equal(writing.size, begun, "none begins twice");
    }
    assert.equal(begun, 500, "half of what may be fired at a time");
    assert.ok(runner.pauseMs() >= 50, "it does not look all the time for what may not begin");
    await fixture.engine.transact((tx) => {
      storeSchedule(tx, staging.number, recordOf(2_000, 10));
      return Promise.resolve();
    });
    await runShortly(fixture, { writing, isReading, done: runner.drain(100) }, 501);
    assert.equal(writing.size, 501);
    assert.ok(writing.has(streamKey("order", uuid(2_000))));
    for (const { resolve } of writing.values()) resolve();
  }, { spec: reactiveSpec });
});

Deno.test("each large record is decoded after a rest, however small those before it were", async () => {
  await withService(async (fixture) => {
    const { host, tenants: { test } } = fixture;
    await store(fixture, test, 72, (number) => number < 8 ? 10 : 25_000);
    let [ms, rests, decoded, most] = [0, 0, 0, 0];
    const slow = {
      ...host,
      nowMs: () => host.timeMs,
      monotonicMs: () => ms += 5,
      yieldTurn: () => {
        rests++;
        decoded = 0;
        return host.yieldTurn();
      },
    };
    const { writing, isReading, runner } = openRunner(fixture, { host: slow });
    const note = (characters: number) => {
      if (characters > 20_000) most = Math.max(most, ++decoded);
    };
    await whileParsing(note, async () => {
      const done = runner.drain(72 * QUEUE_SHARDS.timer);
      assert.equal(await settled({ writing, isReading, done }, 72), 72);
      for (const { resolve } of writing.values()) resolve();
      assert.equal(await done, 72);
    });
    assert.equal(most, 1);
    assert.ok(rests >= 72);
  }, { spec: reactiveSpec });
});
