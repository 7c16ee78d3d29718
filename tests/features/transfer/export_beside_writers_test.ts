/**
 * Exports of a busy environment: something is written after each transaction of an export, without
 * a pause. The export ends, and its file is the environment as it was after one of the commits.
 */

import assert from "node:assert/strict";
import type { StreamKey } from "../../../src/domain/identifier.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import { fillFeeds, prepareFeed } from "../../../src/features/feed/fill_feed.ts";
import { SEGMENT_LIMITS } from "../../../src/features/transfer/read_streams.ts";
import { readInstance, tenantOf } from "../../../src/store/access/instances.ts";
import type { Host } from "../../../src/host.ts";
import { wrapEngine } from "../../../src/kv/calls.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { listTenantOutbox } from "../../../src/store/reactions/tenant_outbox.ts";
import { listStreams } from "../../../src/store/streams/aggregates.ts";
import { readHead } from "../../../src/store/streams/streams.ts";
import { createRandom, type Random } from "../../crash/random.ts";
import { type FakeHost, fakeHost } from "../../support/fake_host.ts";
import {
  type MovingShop,
  movingSpec,
  openMovedShop,
  openMovingShop,
} from "../../support/moving_shop.ts";
import { makeOld } from "../../support/old_store.ts";
import {
  ACTOR,
  noteWrite,
  orderWrite,
  type ServiceFixture,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";
import { besides, exportText, imported, importText } from "../../support/transfer_fixtures.ts";

const SEEDS = Number(Deno.env.get("EXPORT_SEEDS") ?? 10);
const ORDERS = 150;
/** No later commit begins sagas and reminders: they stay for long, and a transaction reads few. */
const SETTING_OFF = 60;
/** A transaction looks at the clock after two heads, records or pieces of work. */
const SHORT = { ...SEGMENT_LIMITS, batch: 2, milliseconds: 24 };

/** A host on which time passes by being looked at: a millisecond each time. */
function hastyHost(host: FakeHost): Host {
  let looks = 0;
  return { ...host, nowMs: () => host.timeMs + looks++ };
}

/** All that a file has of an environment, as text. */
async function pictureOf(shop: MovingShop): Promise<string> {
  const { engine, service, tenant } = shop;
  const [streams, outbox] = await engine.snapshot(async (tx) => {
    const keys = await listStreams(tx, tenant.number, { limit: 10_000 });
    const heads = await Promise.all(keys.map((key) => readHead(tx, tenant.number, key)));
    const { works } = await listTenantOutbox(tx, tenant.number, { limit: 10_000 });
    return [
      heads.map(({ epoch: _, ...head }, index) => ({ key: keys[index], ...head })),
      works.map(({ place: { tenant: _, ...place }, entry }) => ({ place, entry })),
    ];
  });
  const { scheduled, sagas } = await shop.look([]);
  const specs = valueOf(await service.specs.listSpecs(tenant));
  return JSON.stringify({ streams, outbox, scheduled, sagas, specs }, null, 1);
}

/** One commit, or a few of workers. `number` marks the events of an atomic write. */
async function writeSomething(shop: MovingShop, random: Random, number: number): Promise<void> {
  const { service, tenant, host } = shop;
  const anOrder = () => uuid(random.below(ORDERS + number));
  switch (random.below(12)) {
    case 0:
      return await shop.write(anOrder(), "was_paid");
    case 1:
      return await shop.write(anOrder(), "was_paid", "was_called_off", "was_paid");
    case 2:
      if (number > SETTING_OFF) return void await service.background.drainOutbox(100);
      return await shop.write(anOrder(), random.below(2) === 0 ? "was_promised" : "was_placed");
    case 3:
      return void await service.background.drainOutbox(1);
    case 4:
      host.timeMs += 20_000;
      return void await service.background.drainTimers(2);
    case 5:
    case 6:
      return void await service.background.drainOutbox(100);
    case 7:
      return void valueOf(
        await service.specs.deploySpec(tenant, {
          spec: { ...movingSpec, singletons: [`deployed${number}`] },
          force: false,
          dryRun: false,
        }),
      );
    default: {
      const ids = new Set(Array.from({ length: 2 + random.below(4) }, anOrder));
      const events = [{ type: "was_called_off", data: { mark: number, of: ids.size } }];
      const targets = [...ids].map((id) => ({ aggregateType: "order", id, events }));
      const form = targets.length > 1 ? "atomic" : "single";
      const request = { form, targets, metadata: { actor: ACTOR }, requestId: "r" } as const;
      return void valueOf(await service.data.writeEvents(tenant, request));
    }
  }
}

/** The numbers of the atomic writes that the file has, each of them whole. */
function marksOf(text: string): number[] {
  const counts = new Map<number, { found: number; of: number }>();
  for (const [, mark, of] of text.matchAll(/"mark":(\d+),"of":(\d+)/g)) {
    const { found } = counts.get(Number(mark)) ?? { found: 0 };
    counts.set(Number(mark), { found: found + 1, of: Number(of) });
  }
  for (const [mark, { found, of }] of counts) assert.equal(found, of, `write ${mark}`);
  return [...counts.keys()].sort((a, b) => a - b);
}

Deno.test("an export beside writers who never pause is the environment after one commit", async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    await withService(async ({ engine, host, tenants }) => {
      const shop = openMovingShop(engine, host, tenants.test);
      for (let number = 0; number < ORDERS; number++) await shop.write(uuid(number), "was_paid");
      const random = createRandom(seed);
      const pictures = [await pictureOf(shop)];
      let parts = 0;
      const busy = besides(engine, async () => {
        parts++;
        for (let commit = 0; commit <= seed % 3; commit++) {
          await writeSomething(shop, random, pictures.length);
          pictures.push(await pictureOf(shop));
        }
      });
      const limits = seed % 2 === 0 ? SHORT : { ...SHORT, heads: 20 };
      const text = await exportText(busy, hastyHost(host), tenants.test, { limits });
      await shop.close();
      await withTemporaryEngine(async (other) => {
        const there = fakeHost("other");
        there.timeMs = host.timeMs;
        const moved = await openMovedShop(other, there, text);
        const at = pictures.indexOf(await pictureOf(moved));
        assert.ok(at >= 0, `seed ${seed}: it was never so`);
        const marks = marksOf(text);
        assert.ok(marks.every((mark) => mark <= at), `seed ${seed}: ${marks}, after commit ${at}`);
        await moved.close();
      });
      assert.ok(parts < 80, `seed ${seed}: ${parts} transactions`);
    }, { spec: movingSpec });
  }
});

/** Counts the heads that transactions read, which also stands for the events. */
function countingGets(engine: Engine, onGet: () => void): Engine {
  return wrapEngine(engine, {
    snapshot: (body, options) =>
      engine.snapshot((tx) =>
        body({
          getRange: (range, how) => tx.getRange(range, how),
          readVersion: () => tx.readVersion(),
          get(key) {
            onGet();
            return tx.get(key);
          },
        }), options),
  });
}

/** How many values an export reads by key if so many streams change while it reads heads. */
async function getsOf(streams: number, changed: number): Promise<number> {
  let gets = 0;
  await withService(async ({ engine, host, tenants, service }) => {
    for (let number = 0; number < streams; number++) {
      valueOf(await service.data.writeEvents(tenants.test, noteWrite(uuid(number), "before")));
    }
    let part = 0;
    const busy = besides(engine, async () => {
      if (++part !== 3) return;
      for (let number = 0; number < changed; number++) {
        valueOf(await service.data.writeEvents(tenants.test, noteWrite(uuid(number), "more")));
      }
      valueOf(await service.data.writeEvents(tenants.staging, noteWrite(uuid(0), "other")));
    });
    const limits = { ...SEGMENT_LIMITS, batch: 10, heads: 10 };
    await exportText(countingGets(busy, () => gets++), host, tenants.test, { limits });
  });
  return gets;
}

Deno.test("after its first round an export reads the streams that have changed, and no others", async () => {
  const [quiet, three, six] = [await getsOf(100, 0), await getsOf(100, 3), await getsOf(100, 6)];
  const each = (six - three) / 3;
  assert.ok(each > 0 && each < 10, `${each} for each stream that has changed`);
  assert.equal(three - quiet, 3 * each);
  const perStream = (await getsOf(200, 0) - quiet) / 100;
  assert.ok(perStream <= 4, `${perStream} for each stream: its head once, and its events`);
});

/** Writes to the first and the last of some orders at once. */
async function writeEnds({ service, tenants }: ServiceFixture, last: number): Promise<void> {
  const events = [{ type: "was_noted", data: { text: "both" } }];
  const targets = [0, last].map((n) => ({ aggregateType: "order", id: uuid(n), events }));
  const request = { form: "atomic", targets, metadata: { actor: ACTOR }, requestId: "r" } as const;
  valueOf(await service.data.writeEvents(tenants.test, request));
}

/** The lengths of all streams in a store into which the text is imported. */
async function importedLengths(text: string): Promise<ReadonlyMap<StreamKey, number>> {
  return await withTemporaryEngine(async (engine) => {
    const { instanceId } = imported(await importText(engine, fakeHost(), text));
    const record = await engine.snapshot((tx) => readInstance(tx, instanceId));
    return await lengthsOf(engine, tenantOf(record!, "test"));
  });
}

async function lengthsOf(engine: Engine, { number }: Tenant): Promise<Map<StreamKey, number>> {
  return await engine.snapshot(async (tx) => {
    const keys = await listStreams(tx, number, { limit: 10_000 });
    const heads = await Promise.all(keys.map((key) => readHead(tx, number, key)));
    return new Map(keys.map((key, index) => [key, heads[index]!.length]));
  });
}

/**
 * After which transactions of an export the log is filled in, step by step, and from which one on
 * others write. The first round reads heads from the third one on, and takes about twenty.
 */
const FILLINGS = [
  { fillParts: [1, 2], writesFrom: 3 },
  { fillParts: [2, 20], writesFrom: 21 },
  { fillParts: [5, 12], writesFrom: 3 },
  { fillParts: [25, 26], writesFrom: 3 },
];

Deno.test("an export while the log is filled in takes from it only what is new", async () => {
  // So many that it takes two steps.
  const events = Array.from({ length: 12 }, () => {
    return { type: "was_noted", data: { text: "x".repeat(900) } };
  });
  for (const { fillParts, writesFrom } of FILLINGS) {
    await withService(async (fixture) => {
      const { engine, host, tenants, service } = fixture;
      const last = 19;
      for (let number = 0; number <= last; number++) {
        valueOf(await service.data.writeEvents(tenants.test, orderWrite(uuid(number), events)));
      }
      await makeOld(engine, tenants.test);
      await prepareFeed(engine);
      let part = 0;
      const busy = besides(engine, async () => {
        if (fillParts.includes(++part)) assert.equal(await fillFeeds(engine), 1);
        if (part >= writesFrom && part % 3 === 0) await writeEnds(fixture, last);
        // Writes of others do not matter, but they raise the store's version.
        valueOf(await service.data.writeEvents(tenants.staging, noteWrite(uuid(0), "other")));
      });
      const limits = { ...SEGMENT_LIMITS, batch: 2, heads: 2 };
      const found = await importedLengths(await exportText(busy, host, tenants.test, { limits }));
      assert.equal(await fillFeeds(engine), 0, "two steps were enough");
      const ends = [0, last].map((number) => found.get(`order:${uuid(number)}` as StreamKey)!);
      assert.equal(ends[0], ends[1]);
      assert.ok(ends[0]! > events.length, "it was written to meanwhile");
      const all = found.values().reduce((sum, length) => sum + length, 0);
      assert.equal(all, events.length * (last - 1) + ends[0]! + ends[1]!);
    });
  }
});

Deno.test("an export beside nodes of a build from before the log is refused", async () => {
  await withService(async (fixture) => {
    const { engine, host, tenants, service } = fixture;
    for (let number = 0; number < 9; number++) {
      valueOf(await service.data.writeEvents(tenants.test, noteWrite(uuid(number), "before")));
    }
    await makeOld(engine, tenants.test);
    const limits = { ...SEGMENT_LIMITS, batch: 2, heads: 2 };
    const busy = besides(engine, async () => {
      await writeEnds(fixture, 8);
      await makeOld(engine, tenants.test);
    });
    await assert.rejects(
      exportText(busy, host, tenants.test, { limits }),
      /has no log of commits yet.*Start one/,
    );
    const file = await exportText(engine, host, tenants.test, { limits });
    assert.match(file, /"record":"end"/, "nobody writes, so the heads are enough");
  });
});
