/** Background folding: growing streams, types with changed handlers, states folded by reads. */

import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/domain/json.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import { QUEUE_SHARDS } from "../../../src/domain/fairness/work_share.ts";
import { wrapEngine } from "../../../src/kv/calls.ts";
import type { Engine, ReadTransaction } from "../../../src/kv/engine.ts";
import { keys } from "../../../src/store/keys.ts";
import {
  enqueueStreamRebuild,
  enqueueTypeRebuild,
  listStreamRebuilds,
  nextTypeRebuild,
} from "../../../src/store/streams/rebuilds.ts";
import { foldInSteps } from "../../../src/features/states/fold_stream.ts";
import type { ModuleRunner } from "../../../src/features/modules/run_modules.ts";
import type { CompiledAggregateType } from "../../../src/domain/spec/compiled.ts";
import { readHead } from "../../../src/store/streams/streams.ts";
import { noRunners } from "../../support/no_modules.ts";
import { compileSpec } from "../../../src/domain/spec/compile.ts";
import { createService, type Service } from "../../../src/features/service.ts";
import { loadSnapshot } from "../../../src/store/streams/snapshots.ts";
import { copyOfExampleSpec } from "../../support/example_spec.ts";
import { openStreamGate } from "../../support/stream_gate.ts";
import {
  orderWrite,
  type ServiceFixture,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";
import { parsedState } from "../../support/parsed_state.ts";

async function writeNotes(service: Service, tenant: Tenant, id: string, count: number) {
  const note = { type: "was_noted", data: { text: "x".repeat(900) } };
  const events = Array.from({ length: count }, () => note);
  valueOf(await service.data.writeEvents(tenant, orderWrite(id, events)));
}

async function listRebuilds(tx: ReadTransaction) {
  const shards = Array.from({ length: QUEUE_SHARDS.rebuild }, (_, shard) => shard);
  return (await Promise.all(shards.map((shard) => listStreamRebuilds(tx, shard, 10)))).flat();
}

async function drain(service: Service): Promise<void> {
  for (let step = 0; step < 100; step++) {
    const saved = await service.background.saveMemory(10);
    if (saved + await service.background.rebuildSnapshots(10) === 0) return;
  }
  assert.fail("the background found work again and again");
}

/** The lengths of a stream's snapshots. */
async function snapshotLengths(engine: Engine, tenant: Tenant, id: string): Promise<number[]> {
  const range = keys.snapshots(tenant.number, streamKey("order", id));
  const pairs = await engine.snapshot((tx) => tx.getRange(range));
  const texts = pairs.map(({ value }) => new TextDecoder().decode(value));
  return texts.filter((text) => text.startsWith('{"length"')).map((text) =>
    JSON.parse(text).length
  );
}

function renamed(): JsonObject {
  const spec = copyOfExampleSpec();
  // deno-lint-ignore no-explicit-any
  const { was_noted } = (spec.aggregate_types as any).order.events;
  was_noted.handler = { append: { target: "remarks", value: "$.data.text" } };
  return spec;
}

Deno.test("a stream is put on the list when it passes another 4 MiB, and folded once", async () => {
  await withService(async ({ service, engine, tenants: { test } }) => {
    await writeNotes(service, test, uuid(1), 3_700);
    assert.equal((await engine.snapshot((tx) => listRebuilds(tx))).length, 0);
    await writeNotes(service, test, uuid(1), 300);
    assert.equal((await engine.snapshot((tx) => listRebuilds(tx))).length, 1);
    await drain(service);
    assert.deepEqual(await snapshotLengths(engine, test, uuid(1)), [4_000]);
    assert.equal((await engine.snapshot((tx) => listRebuilds(tx))).length, 0);
  });
});

Deno.test("a state that a read has folded from many events is kept", async () => {
  await withService(async ({ service, engine, tenants: { test } }) => {
    const fill = { type: "was_viewed", data: { fill: "x".repeat(900) } };
    const events = Array.from({ length: 100 }, () => fill);
    valueOf(await service.data.writeEvents(test, orderWrite(uuid(1), events)));
    const request = { aggregateType: "order", id: uuid(1), synchronous: false };
    valueOf(await service.data.readAggregate(test, request));
    await drain(service);
    assert.deepEqual(await snapshotLengths(engine, test, uuid(1)), [100]);
  });
});

Deno.test("a deploy that changes handlers folds the type's larger streams anew", async () => {
  await withService(async ({ service, engine, tenants: { test } }) => {
    for (let n = 0; n < 5; n++) await writeNotes(service, test, uuid(n), n === 4 ? 1 : 100);
    valueOf(await service.specs.deploySpec(test, { spec: renamed(), force: false, dryRun: false }));
    await drain(service);
    const lengths = [];
    for (let n = 0; n < 5; n++) lengths.push(...await snapshotLengths(engine, test, uuid(n)));
    assert.deepEqual(lengths, [100, 100, 100, 100], "the stream of one event needs none");
    const request = { aggregateType: "order", id: uuid(0), synchronous: false };
    const view = valueOf(await service.data.readAggregate(test, request));
    assert.equal(parsedState(view).remarks.length, 100);
  });
});

Deno.test("a deploy that leaves the handlers as they are folds nothing", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    await writeNotes(service, test, uuid(1), 100);
    const spec = { ...copyOfExampleSpec(), title: "Only the title" };
    valueOf(await service.specs.deploySpec(test, { spec, force: false, dryRun: false }));
    assert.equal(await service.background.rebuildSnapshots(10), 0);
  });
});

Deno.test("rebuilding after a deploy goes through more ids than one step takes", async () => {
  await withService(async ({ service, engine, tenants: { test } }) => {
    const ids = Array.from({ length: 450 }, (_, n) => uuid(n));
    for (const id of ids) {
      const event = { type: "was_viewed", data: {} };
      valueOf(await service.data.writeEvents(test, orderWrite(id, [event])));
    }
    await writeNotes(service, test, uuid(449), 100);
    valueOf(await service.specs.deploySpec(test, { spec: renamed(), force: false, dryRun: false }));
    await drain(service);
    assert.deepEqual(await snapshotLengths(engine, test, uuid(449)), [101]);
  });
});

Deno.test("a type that becomes cached again is folded, for it has no snapshots", async () => {
  await withService(async ({ service, engine, tenants: { test } }) => {
    const uncached = { ...copyOfExampleSpec(), modules: { never_cache: ["order"] } };
    for (const spec of [uncached, copyOfExampleSpec()]) {
      await writeNotes(service, test, uuid(1), 100);
      valueOf(await service.specs.deploySpec(test, { spec, force: false, dryRun: false }));
    }
    await drain(service);
    assert.deepEqual(await snapshotLengths(engine, test, uuid(1)), [200]);
  });
});

Deno.test("a type that comes back after it was taken out by force is folded", async () => {
  await withService(async ({ service, engine, tenants: { test } }) => {
    await writeNotes(service, test, uuid(1), 100);
    const without = copyOfExampleSpec();
    // deno-lint-ignore no-explicit-any
    delete (without.aggregate_types as any).order;
    for (const spec of [without, renamed()]) {
      valueOf(await service.specs.deploySpec(test, { spec, force: true, dryRun: false }));
      await drain(service);
    }
    assert.deepEqual(await snapshotLengths(engine, test, uuid(1)), [100]);
  });
});

Deno.test("a rebuild that is told to stop leaves its stream on the list", async () => {
  await withService(async ({ service, engine, tenants: { test } }) => {
    await writeNotes(service, test, uuid(1), 4_700);
    let asked = 0;
    await service.background.rebuildSnapshots(10, () => ++asked > 2);
    assert.deepEqual(await snapshotLengths(engine, test, uuid(1)), []);
    await drain(service);
    assert.deepEqual(await snapshotLengths(engine, test, uuid(1)), [4_700]);
  });
});

/** A clock of which each look takes so long. */
function slowClock(msEach: number) {
  let nowMs = 0;
  return { monotonicMs: () => nowMs += msEach };
}

Deno.test("a stream that takes long is saved where it is, and goes on in a later turn", async () => {
  await withService(async ({ service, engine, tenants: { test } }) => {
    for (let write = 0; write < 2; write++) await writeNotes(service, test, uuid(1), 4_500);
    await service.background.rebuildSnapshots(10);
    const first = Math.max(...await snapshotLengths(engine, test, uuid(1)));
    assert.ok(first > 0 && first < 9_000, `the first turn got to ${first}`);
    assert.equal((await engine.snapshot((tx) => listRebuilds(tx))).length, 1);
    await service.background.rebuildSnapshots(10);
    const second = Math.max(...await snapshotLengths(engine, test, uuid(1)));
    assert.ok(second > first, `the second turn got to ${second}`);
    await drain(service);
    assert.equal((await engine.snapshot((tx) => listRebuilds(tx))).length, 0);
  }, { realHost: slowClock(1_100) });
});

Deno.test("a stream that takes minutes holds up neither streams nor types of other environments", async () => {
  const gate = openStreamGate();
  await withService(async ({ service, engine, host, tenants: { staging, test } }) => {
    const { background } = service;
    const [first, second] = [staging, test].toSorted((a, b) => a.number - b.number) as [
      Tenant,
      Tenant,
    ];
    const request = { spec: renamed(), force: false, dryRun: false };
    for (const tenant of [first, second]) await writeNotes(service, tenant, uuid(1), 100);
    valueOf(await service.specs.deploySpec(first, request));
    assert.equal(await background.rebuildSnapshots(10), 1, "the type's step");
    valueOf(await service.specs.deploySpec(second, request));
    const held = gate.hold(first.number);
    const round = background.rebuildSnapshots(10);
    await held.begun;
    host.timeMs += 1_500;
    await round;
    for (let step = 0; step < 5; step++) await background.rebuildSnapshots(10);
    assert.equal(await renamedLength(engine, second, uuid(1)), 100);
    assert.equal(await background.rebuildSnapshots(10), 0, "there is nothing else to do");
    assert.equal(held.count(), 1, "the stream is not begun a second time");

    held.release();
    while (await renamedLength(engine, first, uuid(1)) === undefined) await host.yieldTurn();
    await drain(service);
    assert.equal(await renamedLength(engine, first, uuid(1)), 100);
  }, { wrap: gate.wrap });
});

Deno.test("a rebuild gives a module one event at first, and never more than 32", async () => {
  await withService(async ({ service, engine, host, tenants: { test } }) => {
    await writeNotes(service, test, uuid(1), 200);
    const stream = streamKey("order", uuid(1));
    const compiled = compileSpec(copyOfExampleSpec());
    assert.ok(compiled.ok);
    const call = { blob: { name: "notes" }, entrypoint: "handle", timeoutMs: 5_000 };
    const type = {
      ...compiled.spec.aggregateTypes.get("order")!,
      wasmHandlers: new Map([["was_noted", call]]),
    } as unknown as CompiledAggregateType;
    const counts: number[] = [];
    const modules = {
      fold: (_tenant: number, { events }: { readonly events: readonly unknown[] }) => {
        counts.push(events.length);
        return Promise.resolve({ ok: true, value: "{}" });
      },
    } as unknown as ModuleRunner;
    const head = await engine.snapshot((tx) => readHead(tx, test.number, stream));
    const tools = { engine, host, modules, compute: noRunners.compute };
    const work = { tenant: test.number, stream, type, head, base: undefined };
    for await (const step of foldInSteps(tools, work, { purpose: "rebuild" })) assert.ok(step.ok);
    assert.equal(counts[0], 1);
    assert.equal(Math.max(...counts), 32);
  });
});

/** Another node on the same store, which hears of no deploy from now on. */
async function withDeafNode(
  { engine, host, access, tenants: { test } }: ServiceFixture,
  body: (node: Service) => Promise<void>,
): Promise<void> {
  const deaf: Engine = wrapEngine(engine, {
    watch() {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      return { changed: promise, cancel: () => resolve(false) };
    },
  });
  const node = createService(deaf, host, access);
  await host.yieldTurn();
  valueOf(await node.data.readLength(test, "order", uuid(1)));
  try {
    await body(node);
  } finally {
    await node.close();
  }
}

/** The length of the snapshot under the handlers of {@link renamed}. */
async function renamedLength(engine: Engine, tenant: Tenant, id: string) {
  const compiled = compileSpec(renamed());
  assert.ok(compiled.ok);
  const { foldHash } = compiled.spec.aggregateTypes.get("order")!;
  const stream = streamKey("order", id);
  const rest = () => undefined;
  const place = { tenant: tenant.number, stream, foldHash };
  return (await loadSnapshot(engine, place, { rest }))?.length;
}

Deno.test("a node that has not heard of a deploy does not take streams off the list", async () => {
  await withService(async (fixture) => {
    const { service, engine, tenants: { test } } = fixture;
    await writeNotes(service, test, uuid(1), 100);
    await withDeafNode(fixture, async (node) => {
      const request = { spec: renamed(), force: false, dryRun: false };
      valueOf(await service.specs.deploySpec(test, request));
      assert.equal(await service.background.rebuildSnapshots(10), 1, "the type's step");
      assert.equal(await node.background.rebuildSnapshots(10), 1, "the stream");
      await drain(service);
      assert.equal(await renamedLength(engine, test, uuid(1)), 100);
    });
  });
});

Deno.test("a node that has not heard of a deploy keeps no state folded before it", async () => {
  await withService(async (fixture) => {
    const { service, engine, tenants: { test } } = fixture;
    await writeNotes(service, test, uuid(1), 100);
    await withDeafNode(fixture, async (node) => {
      const request = { spec: renamed(), force: false, dryRun: false };
      valueOf(await service.specs.deploySpec(test, request));
      const read = { aggregateType: "order", id: uuid(1), synchronous: false };
      valueOf(await node.data.readAggregate(test, read));
      await drain(service);
      assert.equal(await renamedLength(engine, test, uuid(1)), 100);
      await drain(node);
      assert.equal(await renamedLength(engine, test, uuid(1)), 100);
    });
  });
});

Deno.test("a stream whose events cannot be read does not hold up the others", async () => {
  await withService(async ({ service, engine, host, tenants: { test } }) => {
    for (const n of [1, 2]) await writeNotes(service, test, uuid(n), 100);
    const damaged = keys.segment(test.number, streamKey("order", uuid(1)), 0);
    await engine.transact((tx) => Promise.resolve(tx.set(damaged, new Uint8Array(100))));
    const request = { spec: renamed(), force: false, dryRun: false };
    valueOf(await service.specs.deploySpec(test, request));
    await drain(service);
    assert.deepEqual(await snapshotLengths(engine, test, uuid(2)), [100]);
    const streams = host.lines.map(({ level, fields }) => [level, fields.stream]);
    assert.deepEqual(streams, [["error", `order:${uuid(1)}`]]);
  });
});

Deno.test("the streams and types of one environment do not wait for those of another", async () => {
  await withService(async ({ service, engine, tenants: { staging, test } }) => {
    const [low, high] = [staging.number, test.number].toSorted((a, b) => a - b) as [number, number];
    const streams = Array.from({ length: 200 }, (_, n) => streamKey("order", uuid(n)));
    await engine.transact((tx) => {
      for (const stream of streams) enqueueStreamRebuild(tx, low, stream);
      enqueueStreamRebuild(tx, high, streams[0]!);
      return Promise.resolve();
    });
    const waiting = async () => {
      const shards = Array.from({ length: QUEUE_SHARDS.rebuild }, (_, shard) => shard);
      const lists = await engine.snapshot((tx) =>
        Promise.all(shards.map((shard) => listStreamRebuilds(tx, shard, 200)))
      );
      return new Set(lists.flat().map(({ tenant }) => tenant));
    };
    for (let time = 0; time < 2; time++) await service.background.rebuildSnapshots(16);
    assert.deepEqual(await waiting(), new Set([low]));
    await drain(service);
    await engine.transact((tx) => {
      for (const type of ["a", "b", "c"]) enqueueTypeRebuild(tx, low, type);
      enqueueTypeRebuild(tx, high, "none");
      return Promise.resolve();
    });
    for (let time = 0; time < 2; time++) await service.background.rebuildSnapshots(16);
    const next = await engine.snapshot((tx) => nextTypeRebuild(tx, high - 1));
    assert.deepEqual(next, { tenant: low, type: "b", done: undefined });
  });
});
