/** Who waits for which types: every write reads this, so no later commit can miss it. */

import assert from "node:assert/strict";
import type { Engine, Transaction } from "../../../src/kv/engine.ts";
import { openPieces } from "../../../src/domain/fairness/pieces.ts";
import { limits } from "../../../src/domain/limits.ts";
import { compileSpec } from "../../../src/domain/spec/compile.ts";
import {
  NOTHING_WATCHED,
  openWatchedTypes,
  readWatchedRoom,
  type SpecNames,
  specNamesSteps,
  type WatchedRoom,
  type WatchedTypes,
  watchTypes,
} from "../../../src/store/reactions/watched_types.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { SHOP } from "../../support/saga_fixtures.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const TENANT = 4;

function namesTo(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `older.was_${index}`);
}

function watch(engine: Engine, more: Parameters<typeof watchTypes>[3]): Promise<WatchedTypes> {
  return engine.transact(async (tx) => {
    const before = await openWatchedTypes().read(tx, TENANT);
    return watchTypes(tx, TENANT, before, more);
  });
}

Deno.test("nothing is watched until something is, and one environment is not another", async () => {
  await withTemporaryEngine(async (engine) => {
    const reader = openWatchedTypes();
    await watch(engine, { sagas: ["order.was_placed"] });
    assert.deepEqual(await engine.snapshot((tx) => reader.read(tx, TENANT + 1)), NOTHING_WATCHED);
    const watched = await engine.snapshot((tx) => reader.read(tx, TENANT));
    assert.deepEqual([...watched.sagas], ["order.was_placed"]);
    assert.equal(watched.cancels.size + watched.logged.size, 0);
  });
});

Deno.test("watchTypes() only adds, and a reader sees what others have added", async () => {
  await withTemporaryEngine(async (engine) => {
    const reader = openWatchedTypes();
    const read = () => engine.snapshot((tx) => reader.read(tx, TENANT));
    for (const [index, type] of ["a.a", "b.b", "c.c"].entries()) {
      await watch(engine, { cancels: [type], logged: ["order"] });
      const watched = await read();
      assert.equal(watched.cancels.size, index + 1);
      assert.deepEqual([...watched.logged], ["order"]);
    }
    assert.equal(await read(), await read(), "unchanged, it is not read again");
  });
});

Deno.test("watchTypes() of what is watched already writes nothing", async () => {
  await withTemporaryEngine(async (engine) => {
    const watched = await watch(engine, { cancels: ["a.a"] });
    const untouched = new Proxy({}, { get: () => assert.fail("it is used") }) as Transaction;
    assert.equal(watchTypes(untouched, TENANT, watched, { cancels: ["a.a"] }), watched);
    assert.throws(() => watchTypes(untouched, TENANT, watched, { cancels: ["b.b"] }), /is used/);
  });
});

Deno.test("a list larger than a value of the store is kept, and grows", async () => {
  await withTemporaryEngine(async (engine) => {
    const types = Array.from({ length: 5_000 }, (_, n) => `order_with_a_long_name.was_${n}`);
    await watch(engine, { cancels: types });
    await watch(engine, { cancels: ["one.more"] });
    const watched = await engine.snapshot((tx) => openWatchedTypes().read(tx, TENANT));
    assert.equal(watched.cancels.size, types.length + 1);
  });
});

Deno.test("read() guards: a write that saw the old list runs again", async () => {
  await withTemporaryEngine(async (engine) => {
    const reader = openWatchedTypes();
    let runs = 0;
    const seen = await engine.transact(async (tx) => {
      const watched = await reader.read(tx, TENANT);
      if (runs++ === 0) await watch(engine, { sagas: ["order.was_placed"] });
      tx.set(Uint8Array.of(1), Uint8Array.of(1));
      return watched.sagas.size;
    });
    assert.deepEqual([seen, runs], [1, 2]);
  });
});

/** What a spec with these names would be told in an environment that watches `before`. */
function faultsOf(
  before: Parameters<typeof watchTypes>[3],
  names: Partial<SpecNames>,
): Promise<WatchedRoom["violations"]> {
  return withTemporaryEngine(async (engine) => {
    await watch(engine, before);
    const all = { sagas: new Set<string>(), cancels: new Set<string>(), ...names };
    return await engine.transact(async (tx) => {
      const asked = { cancelsBefore: new Set<string>(), ...all };
      const room = await readWatchedRoom(tx, TENANT, asked, openPieces(fakeHost()));
      return room.violations;
    });
  });
}

Deno.test("readWatchedRoom() has room for just as many names as an environment may watch", async () => {
  const before = { sagas: namesTo(limits.watchedNamesMax - 1), cancels: ["x.x"] };
  const known = { sagas: new Set(before.sagas), cancels: new Set(["x.x"]) };
  assert.deepEqual(await faultsOf(before, known), []);
  for (const [part, path] of [["sagas", "modules.sagas"], ["cancels", "aggregate_types"]]) {
    const names = { ...known, [part!]: new Set(["one.more"]) };
    const faults = await faultsOf(before, names);
    assert.deepEqual(faults.map((fault) => [fault.rule, fault.path]), [["too_many", path]]);
  }
});

Deno.test("readWatchedRoom() lets a spec keep what the spec before could already add", async () => {
  const before = { sagas: namesTo(limits.watchedNamesMax) };
  const cancels = new Set(["one.more"]);
  assert.deepEqual(await faultsOf(before, { cancels, cancelsBefore: cancels }), []);
  assert.equal((await faultsOf(before, { cancels })).length, 1);
  const sagas = new Set(["another.one"]);
  assert.equal((await faultsOf(before, { sagas, cancels, cancelsBefore: cancels })).length, 1);
});

Deno.test("specNamesSteps() gives each event type that sagas are shown once, with pauses", () => {
  const compiled = compileSpec(SHOP);
  assert.ok(compiled.ok);
  const [saga] = compiled.spec.sagas.values();
  const sagas = new Map([["one", saga!], ["two", saga!]]);
  const steps = specNamesSteps({ ...compiled.spec, sagas });
  let pauses = 0;
  let step = steps.next();
  for (; !step.done; step = steps.next()) pauses++;
  const shown = ["order.was_placed", "payment.was_captured", "payment.was_refused"];
  assert.deepEqual([...step.value.sagas], shown);
  assert.ok(pauses >= 2 * shown.length, `${pauses} pauses`);
});
