/** Who waits for which types: every write reads this, so no later commit can miss it. */

import assert from "node:assert/strict";
import type { Engine, Transaction } from "../../../src/kv/engine.ts";
import {
  NOTHING_WATCHED,
  openWatchedTypes,
  type WatchedTypes,
  watchTypes,
} from "../../../src/store/reactions/watched_types.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const TENANT = 4;

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
