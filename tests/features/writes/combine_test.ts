/** Concurrent writes to one stream share a transaction, and each gets its own answer. */

import assert from "node:assert/strict";
import { streamKey } from "../../../src/domain/identifier.ts";
import { wrapEngine } from "../../../src/kv/calls.ts";
import { type Engine, EngineUnavailable, type Transaction } from "../../../src/kv/engine.ts";
import { keys } from "../../../src/store/keys.ts";
import {
  ACTOR,
  firstIndexes,
  noteWrite,
  orderWrite,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";
import { type HeldEngine, heldEngine } from "../../support/held_engine.ts";
import { until } from "../../support/until.ts";

/** Counts transactions; the engine says that its store is shared, unless `isAlone`. */
function counting(isAlone = false): { wrap: (engine: Engine) => Engine; count: number } {
  const counter = {
    count: 0,
    wrap: (engine: Engine): Engine =>
      wrapEngine(engine, {
        transact(body) {
          counter.count++;
          return engine.transact(body);
        },
        capabilities: { isShared: !isAlone },
        durableVersion: () => undefined,
      }),
  };
  return counter;
}

Deno.test("two hundred writes at once to one stream take a few transactions", async () => {
  const counter = counting();
  await withService(async ({ service, tenants: { test } }) => {
    counter.count = 0;
    const writes = Array.from({ length: 200 }, (_, n) => noteWrite(uuid(1), `n${n}`));
    const outcomes = await Promise.all(writes.map((w) => service.data.writeEvents(test, w)));
    assert.equal(new Set(outcomes.flatMap((outcome) => firstIndexes(valueOf(outcome)))).size, 200);
    assert.ok(counter.count <= 3, `${counter.count} transactions`);
  }, { wrap: counter.wrap });
});

Deno.test("a refused write among combined ones leaves no trace and hinders nobody", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const outcomes = await Promise.all(Array.from({ length: 50 }, (_, n) => {
      const guard = n % 2 === 0 ? {} : { previous_length: 1_000 };
      const metadata = { actor: ACTOR, ...guard };
      return service.data.writeEvents(test, noteWrite(uuid(1), `n${n}`, { metadata }));
    }));
    assert.equal(outcomes.filter(({ ok }) => ok).length, 25);
    assert.equal(valueOf(await service.data.readLength(test, "order", uuid(1))), 25);
  });
});

Deno.test("writes to many streams that arrive together share transactions of sixty-four streams", async () => {
  const counter = counting();
  await withService(async ({ service, tenants: { test } }) => {
    counter.count = 0;
    const writes = Array.from({ length: 160 }, (_, n) => noteWrite(uuid(n), `n${n}`));
    const outcomes = await Promise.all(writes.map((w) => service.data.writeEvents(test, w)));
    outcomes.forEach(valueOf);
    assert.equal(counter.count, 3);
  }, { wrap: counter.wrap });
});

Deno.test("writers who wait for their answers, in two halves, come together where nobody else writes", async () => {
  const counter = counting(true);
  await withService(async ({ service, tenants: { test } }) => {
    async function keepWriting(id: number): Promise<void> {
      for (let n = 0; n < 30; n++) {
        valueOf(await service.data.writeEvents(test, noteWrite(uuid(id), `n${n}`)));
        // Simulates the round trip to the client.
        for (let turn = 0; turn < 3; turn++) await new Promise((done) => setImmediate(done));
      }
    }
    counter.count = 0;
    const first = Array.from({ length: 8 }, (_, n) => keepWriting(n));
    while (counter.count === 0) await new Promise((done) => setImmediate(done));
    const second = Array.from({ length: 8 }, (_, n) => keepWriting(8 + n));
    await Promise.all([...first, ...second]);
    // Separately, each half would make thirty of its own.
    assert.ok(counter.count < 45, `${counter.count} transactions`);
  }, { wrap: counter.wrap });
});

Deno.test("writes wait for a transaction of another environment, for ten milliseconds at most", async () => {
  let held: HeldEngine | undefined;
  const wrap = (engine: Engine): Engine => {
    held = heldEngine(engine);
    return { ...held, durableVersion: () => undefined };
  };
  await withService(async ({ service, host, tenants: { test, staging } }) => {
    // Two writers at once, so that the next commit is worth waiting for.
    await Promise.all([1, 2].map((n) => service.data.writeEvents(test, noteWrite(uuid(n), "a"))));
    const commit = held!.hold();
    const first = service.data.writeEvents(test, noteWrite(uuid(1), "b"));
    await commit.reached;
    let isWritten = false;
    const other = service.data.writeEvents(staging, noteWrite(uuid(1), "c"));
    other.then(() => isWritten = true);
    await until(() => host.timersMs.includes(10), "the wait of the other one");
    assert.equal(isWritten, false);
    host.timeMs += 9;
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve, 1));
    assert.equal(isWritten, false);
    host.timeMs += 1;
    valueOf(await other);
    commit.release();
    valueOf(await first);
  }, { wrap });
});

Deno.test("a write waits while its stream is being written, however long that takes", async () => {
  let held: HeldEngine | undefined;
  let begun = 0;
  const wrap = (engine: Engine): Engine => {
    const inner = held = heldEngine(engine);
    return wrapEngine(inner, {
      transact(body, options) {
        begun++;
        return inner.transact(body, options);
      },
      durableVersion: () => undefined,
    });
  };
  await withService(async ({ service, host, tenants: { test } }) => {
    const commit = held!.hold();
    begun = 0;
    const first = service.data.writeEvents(test, noteWrite(uuid(1), "a"));
    await commit.reached;
    const second = service.data.writeEvents(test, noteWrite(uuid(1), "b"));
    host.timeMs += 50;
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve, 1));
    assert.equal(begun, 1);
    commit.release();
    assert.deepEqual([await first, await second].flatMap((one) => firstIndexes(valueOf(one))), [
      0,
      1,
    ]);
  }, { wrap });
});

Deno.test("writes to one stream land in the order they came, however many groups it takes", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const writes = Array.from({ length: 1_200 }, (_, n) => noteWrite(uuid(n % 2), `n${n}`));
    const outcomes = await Promise.all(writes.map((w) => service.data.writeEvents(test, w)));
    const places = outcomes.flatMap((outcome) => firstIndexes(valueOf(outcome)));
    assert.deepEqual(places, writes.map((_, n) => Math.floor(n / 2)));
  });
});

Deno.test("a small write does not overtake a large one that has no room beside those before it", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const note = { type: "was_noted", data: { text: "x".repeat(1_000) } };
    const batch = () => orderWrite(uuid(1), Array.from({ length: 1_500 }, () => note));
    // The first two have more bytes than one transaction may have.
    const writes = [batch(), batch(), noteWrite(uuid(1), "last")];
    const outcomes = await Promise.all(writes.map((w) => service.data.writeEvents(test, w)));
    const places = outcomes.flatMap((outcome) => firstIndexes(valueOf(outcome)));
    assert.deepEqual(places, [0, 1_500, 3_000]);
  });
});

Deno.test("writes that wait behind a failed transaction are done all the same", async () => {
  let failures = 0;
  const wrap = (engine: Engine): Engine =>
    wrapEngine(engine, {
      transact: (body) =>
        failures-- > 0 ? Promise.reject(new Error("lost")) : engine.transact(body),
    });
  await withService(async ({ service, host, tenants: { test } }) => {
    failures = 1;
    const first = service.data.writeEvents(test, noteWrite(uuid(1), "first"));
    const refused = assert.rejects(first, /lost/);
    while (failures > 0) await host.yieldTurn();
    const rest = Array.from(
      { length: 4 },
      (_, n) => service.data.writeEvents(test, noteWrite(uuid(1), `n${n}`)),
    );
    await refused;
    for (const outcome of await Promise.all(rest)) valueOf(outcome);
    assert.equal(valueOf(await service.data.readLength(test, "order", uuid(1))), 4);
  }, { wrap });
});

Deno.test("a write whose plan has a limit says that it reads its usage without guard", async () => {
  const told: unknown[] = [];
  const wrap = (engine: Engine) =>
    wrapEngine(engine, {
      transact(body, options) {
        if (options?.expectsWrites) told.push(options.readsUnguarded);
        return engine.transact(body, options);
      },
    });
  await withService(async ({ service, tenants: { test } }) => {
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "a")));
    valueOf(await service.data.writeEvents(test, { ...noteWrite(uuid(1), "b"), allocation: 9 }));
    assert.deepEqual(told, [false, true]);
  }, { wrap });
});

/** Fails every read of `broken` inside a transaction. */
function breaking(engine: Engine, broken: Uint8Array): Engine {
  function guard(tx: Transaction): Transaction {
    return {
      get: (key) => key.toHex() === broken.toHex() ? Promise.reject(new Error("bad")) : tx.get(key),
      getRange: (range, options) => tx.getRange(range, options),
      readVersion: () => tx.readVersion(),
      unguarded: tx.unguarded,
      set: (key, value) => tx.set(key, value),
      clear: (key) => tx.clear(key),
      clearRange: (range) => tx.clearRange(range),
      add: (key, delta) => tx.add(key, delta),
      setStamped: (prefix, suffix, value) => tx.setStamped(prefix, suffix, value),
    };
  }
  return wrapEngine(engine, {
    transact: (body) => engine.transact((tx) => body(guard(tx))),
  });
}

Deno.test("a fault of one stream fails its own writes and nobody else's", async () => {
  const broken = keys.head(3, streamKey("order", uuid(1)));
  await withService(async ({ service, tenants: { test } }) => {
    assert.equal(test.number, 3);
    const writes = Array.from({ length: 6 }, (_, n) => noteWrite(uuid(n % 3), `n${n}`));
    const settled = await Promise.allSettled(
      writes.map((w) => service.data.writeEvents(test, w)),
    );
    const failed = settled.map(({ status }) => status === "rejected");
    assert.deepEqual(failed, [false, true, false, false, true, false]);
    for (const n of [0, 2]) {
      assert.equal(valueOf(await service.data.readLength(test, "order", uuid(n))), 2);
    }
  }, { wrap: (engine) => breaking(engine, broken) });
});

Deno.test("writes that wait behind an outage hear of it with those before them", async () => {
  const away = Promise.withResolvers<never>();
  let isAway = false;
  let transactions = 0;
  const wrap = (engine: Engine): Engine =>
    wrapEngine(engine, {
      transact(body) {
        transactions++;
        return isAway ? away.promise : engine.transact(body);
      },
    });
  await withService(async ({ service, tenants: { test } }) => {
    const write = (n: number) => service.data.writeEvents(test, noteWrite(uuid(1), `n${n}`));
    isAway = true;
    transactions = 0;
    const first = write(1);
    await until(() => transactions === 1, "the first group");
    const behind = [write(2), write(3)];
    const other = service.data.writeEvents(test, noteWrite(uuid(2), "elsewhere"));
    await until(() => transactions === 2, "the group of the other stream");
    away.reject(new EngineUnavailable("away"));
    for (const outcome of [first, ...behind, other]) {
      await assert.rejects(outcome, EngineUnavailable);
    }
    assert.equal(transactions, 2, "nobody has asked the store again");
    isAway = false;
    valueOf(await write(4));
    assert.equal(valueOf(await service.data.readLength(test, "order", uuid(1))), 1);
  }, { wrap });
});
