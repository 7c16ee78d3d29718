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
import { EngineUnavailable } from "../../../src/kv/engine.ts";
import { openSpecCache } from "../../../src/features/base/current_spec.ts";
import {
  clearEntry,
  encodeEntry,
  listOutbox,
  outboxShard,
  putEntry,
} from "../../../src/store/reactions/outbox.ts";
import { reactiveSpec } from "../../support/reactive_spec.ts";
import { type ServiceFixture, uuid, valueOf, withService } from "../../support/service_fixture.ts";

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
