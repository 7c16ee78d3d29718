/**
 * `GET /{aggregate_type}/{aggregate_id}`: caches, budget, `?at=`. See
 * docs/reference/reading.md.
 */

import assert from "node:assert/strict";
import type { JsonValue } from "../../../src/domain/json.ts";
import { limits } from "../../../src/domain/limits.ts";
import type { ReadAggregateRequest } from "../../../src/domain/reading.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import { wrapEngine } from "../../../src/kv/calls.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import type { Service } from "../../../src/features/service.ts";
import { erase } from "../../support/erasure_fixtures.ts";
import { copyOfExampleSpec } from "../../support/example_spec.ts";
import {
  ACTOR,
  noteWrite,
  orderWrite,
  refusalOf,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";
import { parsedState } from "../../support/parsed_state.ts";

type Change = Partial<ReadAggregateRequest>;

function read(service: Service, tenant: Tenant, change: Change = {}) {
  const request = { aggregateType: "order", id: uuid(1), synchronous: false, ...change };
  return service.data.readAggregate(tenant, request);
}

async function stateOf(service: Service, tenant: Tenant, change: Change = {}) {
  return parsedState(valueOf(await read(service, tenant, change)));
}

async function note(service: Service, tenant: Tenant, text: string, timestamp = 1): Promise<void> {
  const metadata = { actor: ACTOR, timestamp };
  valueOf(await service.data.writeEvents(tenant, noteWrite(uuid(1), text, { metadata })));
}

Deno.test("readAggregate() folds the events and tells length and times", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    await note(service, test, "a", 100);
    await note(service, test, "b", 90);
    assert.deepEqual(valueOf(await read(service, test)), {
      dataJson: '{"notes":["a","b"]}',
      length: 2,
      createdAt: 100,
      updatedAt: 90,
    });
  });
});

Deno.test("readAggregate() of an id without events is missing, of a singleton empty", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    assert.deepEqual(refusalOf(await read(service, test)), { kind: "aggregate_missing" });
    for (const id of ["global", "main"]) {
      assert.deepEqual(valueOf(await read(service, test, { id })), {
        dataJson: "{}",
        length: 0,
        createdAt: null,
        updatedAt: null,
      });
    }
  });
});

Deno.test("readAggregate() refuses an unknown type and a malformed id", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const type = refusalOf(await read(service, test, { aggregateType: "parcel", id: "?" }));
    assert.deepEqual(type, { kind: "aggregate_type_unknown", aggregateType: "parcel" });
    const id = refusalOf(await read(service, test, { id: "7" }));
    assert.equal("path" in id && id.path, "key");
  });
});

Deno.test("readAggregate() is as current as the last acknowledged write, cached or not", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    for (let n = 0; n < 20; n++) {
      await note(service, test, `n${n}`);
      const cached = valueOf(await read(service, test));
      const fresh = valueOf(await read(service, test, { synchronous: true }));
      assert.deepEqual(cached, fresh);
      assert.equal(cached.length, n + 1);
    }
  });
});

/** Passes everything on and counts the reads. */
function counted(engine: Engine, count: () => void): Engine {
  return wrapEngine(engine, {
    snapshot: (body) => (count(), engine.snapshot(body)),
  });
}

Deno.test("readAggregate() folds a cold aggregate once for all who read it at the same time", async () => {
  let reads = 0;
  await withService(async ({ service, tenants: { test } }) => {
    const fill = { type: "was_viewed", data: { fill: "x".repeat(90_000) } };
    const events = Array.from({ length: 60 }, () => fill);
    valueOf(await service.data.writeEvents(test, orderWrite(uuid(1), events)));
    async function readsFor(readers: number, synchronous: boolean): Promise<number> {
      const before = reads;
      const all = Array.from({ length: readers }, () => read(service, test, { synchronous }));
      for (const view of await Promise.all(all)) assert.equal(valueOf(view).length, 60);
      return reads - before;
    }
    const chunks = await readsFor(1, true) - 2;
    assert.ok(chunks > 5);
    // Each reader reads the head and looks for a snapshot; only one reads the events.
    assert.ok(await readsFor(20, false) < 2 * 20 + 2 * chunks);
  }, { wrap: (engine) => counted(engine, () => reads++) });
});

Deno.test("readAggregate() of a type in never_cache folds every time", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const stocked = { aggregateType: "inventory", id: "main" };
    const events = [{ type: "was_stocked", data: { by: 3 } }];
    const write = { ...orderWrite("", []), form: "single" as const };
    for (let n = 1; n <= 3; n++) {
      const targets = [{ ...stocked, events }];
      valueOf(await service.data.writeEvents(test, { ...write, targets }));
      assert.deepEqual(await stateOf(service, test, stocked), { on_hand: 3 * n });
    }
  });
});

Deno.test("readAggregate() folds with the handlers of a spec deployed a moment ago", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    await note(service, test, "a");
    assert.deepEqual(await stateOf(service, test), { notes: ["a"] });
    const spec = copyOfExampleSpec();
    // deno-lint-ignore no-explicit-any
    const order = (spec.aggregate_types as any).order;
    order.events.was_noted.handler = { set: { target: "last", value: "$.data.text" } };
    valueOf(await service.specs.deploySpec(test, { spec, force: false, dryRun: false }));
    assert.deepEqual(await stateOf(service, test), { last: "a" });
  });
});

Deno.test("readAggregate() with at gives the state of events stamped up to then", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    for (const [text, time] of [["a", 10], ["b", 30], ["late", 20]] as const) {
      await note(service, test, text, time);
    }
    const at = async (atSeconds: number) => valueOf(await read(service, test, { atSeconds }));
    const view = (notes: string[], createdAt: number, updatedAt: number) => ({
      dataJson: JSON.stringify({ notes }),
      length: notes.length,
      createdAt,
      updatedAt,
    });
    assert.deepEqual(await at(10), view(["a"], 10, 10));
    assert.deepEqual(await at(29), view(["a", "late"], 10, 20));
    assert.deepEqual(await at(30), view(["a", "b", "late"], 10, 20));
    const before = refusalOf(await read(service, test, { atSeconds: 9 }));
    assert.deepEqual(before, { kind: "aggregate_missing" });
  });
});

Deno.test("readAggregate() with atLength gives each state that there was, cached or not", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const views: unknown[] = [{ dataJson: "{}", length: 0, createdAt: null, updatedAt: null }];
    for (const [text, time] of [["a", 10], ["b", 30], ["late", 20], ["d", 40]] as const) {
      await note(service, test, text, time);
      views.push(valueOf(await read(service, test, { synchronous: true })));
    }
    for (const synchronous of [false, true]) {
      // Backwards too, so that no state begins with a later one.
      for (const length of [0, 1, 2, 3, 4, 3, 2, 1, 0]) {
        const view = valueOf(await read(service, test, { atLength: length, synchronous }));
        assert.deepEqual(view, views[length]);
      }
      assert.deepEqual(valueOf(await read(service, test)), views[4], "the newest one stays cached");
    }
    const beyond = refusalOf(await read(service, test, { atLength: 5 }));
    assert.deepEqual(beyond, { kind: "beyond_length", length: 4, asked: 5 });
  });
});

Deno.test("readAggregate() with atLength begins with a snapshot or cached state that is no later", async () => {
  let bytes = 0;
  const wrap = (engine: Engine): Engine =>
    wrapEngine(engine, {
      snapshot: (body) =>
        engine.snapshot((tx) => {
          async function getRange(...parts: Parameters<typeof tx.getRange>) {
            const pairs = await tx.getRange(...parts);
            for (const { value } of pairs) bytes += value.length;
            return pairs;
          }
          return body(
            new Proxy(tx, {
              get(target, name) {
                const member = Reflect.get(target, name);
                if (name === "getRange") return getRange;
                return typeof member === "function" ? member.bind(target) : member;
              },
            }),
          );
        }),
    });
  await withService(async ({ service, tenants: { test } }) => {
    await note(service, test, "first");
    await writeLargeEvents(service, test, 70);
    while (await service.background.rebuildSnapshots(10) > 0);
    valueOf(await read(service, test));
    await note(service, test, "second");
    await note(service, test, "third");
    async function bytesOf(atLength: number, notes: string[]): Promise<number> {
      bytes = 0;
      const view = valueOf(await read(service, test, { atLength }));
      assert.deepEqual([view.length, parsedState(view)], [atLength, { notes }]);
      return bytes;
    }
    assert.ok(await bytesOf(72, ["first", "second"]) < 1_000_000, "from what was known at 71");
    assert.ok(await bytesOf(2, ["first"]) < 1_000_000, "not the events behind it");
    assert.ok(await bytesOf(60, ["first"]) > 5_000_000, "from the first event");
  }, { wrap });
});

Deno.test("readAggregate() gives a state of megabytes as the bytes of its snapshot, and folds on from them", async () => {
  const spec = copyOfExampleSpec();
  // deno-lint-ignore no-explicit-any
  const order = (spec.aggregate_types as any).order;
  order.events.was_viewed.handler = { append: { target: "views", value: "$.data" } };
  await withService(async ({ service, tenants: { test } }) => {
    // The bytes of a part are no multiple of those of these characters.
    const views = Array.from({ length: 64 }, (_, n) => ({ fill: `${n}${"😀é".repeat(12_000)}` }));
    const events = views.map((data) => ({ type: "was_viewed", data }));
    valueOf(await service.data.writeEvents(test, orderWrite(uuid(1), events)));
    while (await service.background.rebuildSnapshots(10) > 0);
    const view = valueOf(await read(service, test));
    assert.ok(view.dataJson instanceof Uint8Array);
    assert.ok(view.dataJson.length > 4_000_000);
    assert.deepEqual(parsedState(view), { views });
    await note(service, test, "last");
    assert.deepEqual(await stateOf(service, test), { views, notes: ["last"] });
  }, { spec });
});

Deno.test("readAggregate() with atLength keeps the budget for the events that it folds", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    await note(service, test, "first");
    await writeLargeEvents(service, test, 340);
    await note(service, test, "last");
    const early = valueOf(await read(service, test, { atLength: 300 }));
    assert.deepEqual([early.length, early.dataJson], [300, '{"notes":["first"]}']);
    const late = refusalOf(await read(service, test, { atLength: 341 }));
    assert.equal(late.kind, "fold_budget_exceeded");
    assert.ok("bytes" in late && late.bytes > 33_554_432);
  });
});

Deno.test("readAggregate() with atLength gives markers of an erased stream, and no kept data", async () => {
  await withService(async (fixture) => {
    const { service, tenants: { test } } = fixture;
    for (const [text, time] of [["secret", 10], ["b", 30]] as const) {
      await note(service, test, text, time);
    }
    valueOf(await read(service, test, { atLength: 1 }));
    await erase(fixture, `order:${uuid(1)}`);
    for (const synchronous of [false, true]) {
      const view = valueOf(await read(service, test, { atLength: 1, synchronous }));
      assert.deepEqual(view, { dataJson: "{}", length: 1, createdAt: 10, updatedAt: 10 });
    }
    await note(service, test, "after", 50);
    const view = valueOf(await read(service, test, { atLength: 3 }));
    assert.deepEqual(parsedState(view), { notes: ["after"] });
    assert.equal(refusalOf(await read(service, test, { atLength: 4 })).kind, "beyond_length");
  });
});

/** Writes a stream of `count` events of about 100 KB each, without effect on the state. */
async function writeLargeEvents(service: Service, tenant: Tenant, count: number): Promise<void> {
  const event = { type: "was_viewed", data: { fill: "x".repeat(100_000) } };
  for (let left = count; left > 0; left -= 70) {
    const events = Array.from({ length: Math.min(70, left) }, () => event);
    valueOf(await service.data.writeEvents(tenant, orderWrite(uuid(1), events)));
  }
}

Deno.test("readAggregate() refuses to read more than 32 MB of events, with both numbers", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    await writeLargeEvents(service, test, 340);
    for (const change of [{ synchronous: true }, { synchronous: false }, { atSeconds: 2e9 }]) {
      const refusal = refusalOf(await read(service, test, change));
      assert.equal(refusal.kind, "fold_budget_exceeded");
      if (refusal.kind !== "fold_budget_exceeded") continue;
      assert.equal(refusal.limit, 33_554_432);
      assert.ok(refusal.bytes > 34_000_000 && refusal.bytes < 35_000_000);
    }
  });
});

Deno.test("readAggregate() reads a stream above the budget once the background has folded it", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    await writeLargeEvents(service, test, 340);
    await note(service, test, "last");
    while (await service.background.rebuildSnapshots(10) > 0);
    const view = valueOf(await read(service, test));
    assert.deepEqual([view.length, view.dataJson], [341, '{"notes":["last"]}']);
    const refusal = refusalOf(await read(service, test, { synchronous: true }));
    assert.equal(refusal.kind, "fold_budget_exceeded", "synchronous ignores snapshots");
  });
});

Deno.test("readAggregate() refuses a state above 32 MiB instead of building it", async () => {
  const spec = copyOfExampleSpec();
  // deno-lint-ignore no-explicit-any
  const order = (spec.aggregate_types as any).order;
  order.events.was_viewed.handler = { set: { target: "", value: { left: "@", right: "@" } } };
  await withService(async ({ service, tenants: { test } }) => {
    const events = Array.from({ length: 60 }, () => ({ type: "was_viewed", data: {} }));
    valueOf(await service.data.writeEvents(test, orderWrite(uuid(1), events)));
    const refusal = refusalOf(await read(service, test));
    assert.equal(refusal.kind, "fold_budget_exceeded");
    assert.equal("limit" in refusal && refusal.limit, limits.stateBytesMax);
  }, { spec });
});

Deno.test("readAggregate() finds out once, not each time, that a fold is too much", async () => {
  const spec = copyOfExampleSpec();
  // deno-lint-ignore no-explicit-any
  const order = (spec.aggregate_types as any).order;
  // Each event adds twenty levels.
  let value: JsonValue = "@";
  for (let level = 0; level < 20; level++) value = { inner: value };
  order.events.was_viewed.handler = { set: { target: "", value } };
  let snapshots = 0;
  const wrap = (engine: Engine): Engine =>
    wrapEngine(engine, {
      snapshot(body) {
        snapshots++;
        return engine.snapshot(body);
      },
    });
  await withService(async ({ service, tenants: { test } }) => {
    const events = Array.from(
      { length: 60 },
      () => ({ type: "was_viewed", data: {} }),
    );
    valueOf(await service.data.writeEvents(test, orderWrite(uuid(1), events)));
    const first = refusalOf(await read(service, test));
    const counts: number[] = [];
    // Once a second the service also reads a version.
    for (let turn = 0; turn < 3; turn++) {
      snapshots = 0;
      assert.deepEqual(refusalOf(await read(service, test)), first);
      counts.push(snapshots);
    }
    assert.equal(Math.min(...counts), 1, "only the head is read");
    snapshots = 0;
    await note(service, test, "longer now");
    assert.equal(refusalOf(await read(service, test)).kind, "fold_budget_exceeded");
    assert.ok(snapshots > 1, "a longer stream is another fold");
  }, { spec, wrap });
});

/** An engine whose version is unknown while something is being written to it. */
function versioned(engine: Engine, count: () => void): Engine {
  let [version, writing] = [0, 0];
  return {
    ...counted(engine, count),
    async transact(body) {
      writing++;
      try {
        return await engine.transact(body);
      } finally {
        writing--;
        version++;
      }
    },
    durableVersion: () => writing > 0 ? undefined : version,
  };
}

Deno.test("readAggregate() asks the store nothing for what it knows, while nothing was written", async () => {
  let reads = 0;
  await withService(async ({ service, tenants: { test } }) => {
    /** The minimum over several reads, because once a second the service also reads a version. */
    async function readsOf(change: Change): Promise<number> {
      const counts: number[] = [];
      for (let turn = 0; turn < 4; turn++) {
        const before = reads;
        valueOf(await read(service, test, change));
        counts.push(reads - before);
      }
      return Math.min(...counts);
    }
    await note(service, test, "a");
    assert.equal(await readsOf({}), 0);
    for (const change of [{ synchronous: true }, { atSeconds: 5 }]) {
      assert.ok(await readsOf(change) > 1, "the head and the events");
    }
    const before = reads;
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(2), "of another")));
    valueOf(await read(service, test));
    assert.ok(reads > before, "that may have been of this stream");
    assert.equal(await readsOf({}), 0);
  }, { wrap: (engine) => versioned(engine, () => reads++) });
});

Deno.test("readAggregate() is current however often it was read between writes", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    for (let n = 0; n < 40; n++) {
      const id = uuid(1 + n % 2);
      const writing = service.data.writeEvents(test, noteWrite(id, `n${n}`));
      if (n % 3 === 2) valueOf(await read(service, test, { id }));
      valueOf(await writing);
      const fresh = valueOf(await read(service, test, { id, synchronous: true }));
      for (let turn = 0; turn < n % 4; turn++) {
        assert.deepEqual(valueOf(await read(service, test, { id })), fresh);
      }
    }
  });
});
