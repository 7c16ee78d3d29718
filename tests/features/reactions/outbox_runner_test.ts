/** What happens to an outbox entry that meets a fault, an outage or another process. */

import assert from "node:assert/strict";
import {
  createOutboxRunner,
  type RunnerParts,
} from "../../../src/features/reactions/run_outbox.ts";
import type { EmissionRequest } from "../../../src/features/writes/prepare_write.ts";
import type { Emitted } from "../../../src/features/writes/write_emission.ts";
import { newCounters } from "../../../src/domain/measures/counters.ts";
import type { EmitEntry, OutboxWork } from "../../../src/domain/reaction/outbox_entry.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import { QUEUE_SHARDS } from "../../../src/domain/fairness/work_share.ts";
import { EngineUnavailable } from "../../../src/kv/engine.ts";
import { openSpecCache } from "../../../src/features/base/current_spec.ts";
import {
  clearEntry,
  listOutbox,
  outboxShard,
  putEntry,
} from "../../../src/store/reactions/outbox.ts";
import { encodeEntry } from "../../../src/store/reactions/entry_bytes.ts";
import { reactiveSpec } from "../../support/reactive_spec.ts";
import { type ServiceFixture, uuid, valueOf, withService } from "../../support/service_fixture.ts";
import { until } from "../../support/until.ts";

const TRIGGER = streamKey("order", uuid(1));

const ENTRY: EmitEntry = {
  kind: "emit",
  emission: {
    key: streamKey("ledger", uuid(1)),
    aggregateType: "ledger",
    id: uuid(1),
    eventType: "was_noted",
    data: { of: TRIGGER },
  },
  actor: { type: "user", id: "global" },
  eventType: "was_placed",
  depth: 1,
  requestId: "request-1",
};

async function putWork(
  { engine, host, tenants: { test } }: ServiceFixture,
  index = 0,
  waitMs = 0,
): Promise<OutboxWork> {
  const waiting = { entry: ENTRY, sinceMs: host.timeMs, waitMs, tries: 0 };
  const value = encodeEntry(waiting);
  const place = { tenant: test.number, stream: TRIGGER, index, number: 0 };
  await engine.transact((tx) => Promise.resolve(putEntry(tx, place, value)));
  return { ...waiting, place, bytes: value.length };
}

/** A runner whose events are written by `write`. */
function runnerOf(
  { engine, host }: ServiceFixture,
  work: OutboxWork,
  write: (request: EmissionRequest) => Promise<Emitted>,
  change: Partial<RunnerParts> = {},
) {
  const parts = {
    engine,
    host,
    specs: openSpecCache(engine, host),
    combiner: { counters: newCounters() },
    share: { held: () => Promise.resolve([{ shard: outboxShard(work.place) }]) },
    sagas: {},
    emitter: {
      write: (...[, , request]: Parameters<RunnerParts["emitter"]["write"]>) => write(request),
    },
    paused: { tenants: new Set(), ready: () => Promise.resolve() },
    ...change,
  };
  return createOutboxRunner(parts as unknown as RunnerParts);
}

async function triesLeft({ engine }: ServiceFixture, { place }: OutboxWork): Promise<number[]> {
  const { works } = await engine.snapshot((tx) =>
    listOutbox(tx, outboxShard(place), { limit: 100 })
  );
  return works.map(({ tries }) => tries);
}

function withShop(body: (fixture: ServiceFixture) => Promise<void>): Promise<void> {
  return withService(body, { spec: reactiveSpec });
}

Deno.test("an entry that fails here and was done elsewhere meanwhile does not come back", async () => {
  await withShop(async (fixture) => {
    const work = await putWork(fixture);
    const runner = runnerOf(fixture, work, async () => {
      await fixture.engine.transact((tx) => Promise.resolve(clearEntry(tx, work)));
      throw new Error("a bug");
    });
    await runner.drainOwn([work]);
    assert.deepEqual(await triesLeft(fixture, work), []);
  });
});

Deno.test("an entry that fails has one try more behind it, and one that meets an outage has not", async () => {
  for (
    const [error, tries] of [[new Error("a bug"), 1], [new EngineUnavailable("away"), 0]] as const
  ) {
    await withShop(async (fixture) => {
      const work = await putWork(fixture);
      await runnerOf(fixture, work, () => Promise.reject(error)).drainOwn([work]);
      assert.deepEqual(await triesLeft(fixture, work), [tries]);
    });
  }
});

Deno.test("an entry that does not fit a spec that is not the current one stays", async () => {
  await withShop(async (fixture) => {
    const { engine, host, service, tenants: { test } } = fixture;
    const work = await putWork(fixture);
    const known = openSpecCache(engine, host);
    const old = { ...await known.current(test.number), hash: "0".repeat(64) };
    const forgotten: number[] = [];
    const specs = { current: () => old, forget: (tenant: number) => void forgotten.push(tenant) };
    const refuse = () => Promise.resolve({ ok: false as const, message: "it does not fit" });
    const change = { specs: specs as unknown as RunnerParts["specs"] };
    await runnerOf(fixture, work, refuse, change).drainOwn([work]);
    assert.deepEqual(await triesLeft(fixture, work), [0]);
    assert.deepEqual(forgotten, [test.number]);
    assert.deepEqual(valueOf(await service.data.listErrors(test, {})).data, []);
    await runnerOf(fixture, work, refuse).drainOwn([work]);
    assert.deepEqual(await triesLeft(fixture, work), []);
    assert.equal(valueOf(await service.data.listErrors(test, {})).data.length, 1);
  });
});

Deno.test("who writes an entry's event and who takes the entry out meanwhile are in conflict", async () => {
  await withShop(async (fixture) => {
    const { engine } = fixture;
    const work = await putWork(fixture);
    const due: boolean[] = [];
    const runner = runnerOf(fixture, work, async ({ cause }) => {
      await engine.transact(async (tx) => {
        const isDue = await cause!.isDue(tx);
        due.push(isDue);
        tx.set(Uint8Array.of(1), Uint8Array.of(1));
        if (due.length === 1) {
          await engine.transact((other) => Promise.resolve(clearEntry(other, work)));
        }
      });
      return { ok: false, message: "nothing was written" };
    });
    await runner.drainOwn([work]);
    assert.deepEqual(due, [true, false]);
  });
});

Deno.test("an entry is done that is due behind others that are not", async () => {
  await withShop(async (fixture) => {
    for (const index of [0, 1, 2, 3]) await putWork(fixture, index, 3_600_000);
    const work = await putWork(fixture, 4);
    let written = 0;
    const runner = runnerOf(fixture, work, () => {
      written++;
      return Promise.resolve({ ok: false, message: "it does not fit" });
    });
    for (let round = 0; round < 3; round++) await runner.drain(2, () => false);
    assert.equal(written, 1);
  });
});

/** Puts entries of 90 KB, each of a stream of its own. */
async function putLarge({ engine, host, tenants: { test } }: ServiceFixture, count: number) {
  const emission = { ...ENTRY.emission, data: { of: "x".repeat(90_000) } };
  const waiting = { entry: { ...ENTRY, emission }, sinceMs: host.timeMs, waitMs: 0, tries: 0 };
  await engine.transact((tx) => {
    for (let number = 0; number < count; number++) {
      const stream = streamKey("order", uuid(number));
      const place = { tenant: test.number, stream, index: 1, number: 0 };
      putEntry(tx, place, encodeEntry(waiting));
    }
    return Promise.resolve();
  });
}

const ALL_SHARDS = Array.from({ length: QUEUE_SHARDS.outbox }, (_, shard) => ({ shard }));

Deno.test("entries that wait, and those of a paused environment, are looked at without being decoded", async () => {
  await withShop(async (fixture) => {
    const { engine, host, tenants: { test, staging } } = fixture;
    const waiting = { entry: ENTRY, sinceMs: host.timeMs, waitMs: 0, tries: 0 };
    const work = await putWork(fixture);
    for (const [tenant, waitMs] of [[test.number, 60_000], [staging.number, 0]] as const) {
      const value = encodeEntry({ ...waiting, waitMs }).slice();
      // Whoever decodes it fails.
      value.fill("!".charCodeAt(0), 0, value.length - 128);
      const place = { tenant, stream: TRIGGER, index: 1, number: 0 };
      await engine.transact((tx) => Promise.resolve(putEntry(tx, place, value)));
    }
    let written = 0;
    const refuse = () => Promise.resolve({ ok: false as const, message: `${++written}` });
    const change = {
      share: { held: () => Promise.resolve(ALL_SHARDS) },
      paused: { tenants: new Set([staging.number]), ready: () => Promise.resolve() },
    } as unknown as Partial<RunnerParts>;
    const runner = runnerOf(fixture, work, refuse, change);
    assert.equal(await runner.drain(100), 1);
    assert.equal(written, 1);
  });
});

Deno.test("a round takes about a megabyte of due entries, rests after each, and the next one goes on", async () => {
  await withShop(async (fixture) => {
    const { host } = fixture;
    const work = await putWork(fixture, 0, 3_600_000);
    await putLarge(fixture, 64);
    let rests = 0;
    let ms = 0;
    const slow = {
      ...host,
      nowMs: () => host.timeMs,
      monotonicMs: () => ms += 5,
      yieldTurn: () => (rests++, host.yieldTurn()),
    };
    let written = 0;
    const refuse = () => Promise.resolve({ ok: false as const, message: `${++written}` });
    const share = { held: () => Promise.resolve(ALL_SHARDS) };
    const change = { share, host: slow } as unknown as Partial<RunnerParts>;
    const runner = runnerOf(fixture, work, refuse, change);
    for (let round = 0; written < 64 && round < 40; round++) {
      const before = [written, rests] as const;
      const begun = await runner.drain(100);
      assert.ok(begun <= 13, `${begun} of 90 KB each`);
      assert.equal(written - before[0], begun);
      assert.ok(rests - before[1] >= 2 * begun, "one when it is read, one when it is decoded");
    }
    assert.equal(written, 64);
  });
});

Deno.test("a round ends although an entry takes long, and leaves it out as long as it goes on", async () => {
  await withShop(async (fixture) => {
    const { engine, host, tenants: { staging } } = fixture;
    const work = await putWork(fixture);
    const stays = Promise.withResolvers<void>();
    let begun = 0;
    const runner = runnerOf(fixture, work, async () => {
      if (++begun === 1) await stays.promise;
      return { ok: false, message: "it does not fit" };
    });
    const round = runner.drain(100);
    await until(() => begun === 1 && host.timersMs.includes(250), "the entry that takes long");
    for (let turn = 0; turn < 50; turn++) await host.yieldTurn();
    host.timeMs += 250;
    assert.equal(await round, 1);
    const place = { ...work.place, tenant: staging.number };
    const stream = streamIn(staging.number, outboxShard(work.place));
    const value = encodeEntry({ entry: ENTRY, sinceMs: host.timeMs, waitMs: 0, tries: 0 });
    await engine.transact((tx) => Promise.resolve(putEntry(tx, { ...place, stream }, value)));
    assert.equal(await runner.drain(100), 1, "that of another environment alone");
    assert.equal(begun, 2);
    stays.resolve();
    await runner.settle();
    assert.deepEqual(await triesLeft(fixture, work), []);
  });
});

/** A stream whose entries are in that shard. */
function streamIn(tenant: number, shard: number) {
  for (let number = 0;; number++) {
    const stream = streamKey("order", uuid(number));
    if (outboxShard({ tenant, stream, index: 0, number: 0 }) === shard) return stream;
  }
}
