/** The contract: watches, closing and reopening. */

import assert from "node:assert/strict";
import { EngineClosed, type Transaction } from "../../src/kv/engine.ts";
import {
  bytes,
  content,
  type EngineTest,
  everything,
  put,
  range,
  read,
  text,
  write,
} from "./engine_fixture.ts";

export function lifeContract(test: EngineTest): void {
  test("watch() resolves with true after a commit that touched its key", async (engine) => {
    const touches: ((tx: Transaction) => void)[] = [
      (tx) => put(tx, "w=1"),
      (tx) => tx.add(bytes("w"), 1n),
      (tx) => tx.clear(bytes("w")),
      (tx) => put(tx, "w=2"),
      (tx) => tx.clearRange(range("v", "x")),
    ];
    for (const touch of touches) {
      const [one, two] = [engine.watch(bytes("w")), engine.watch(bytes("w"))];
      await engine.transact((tx) => Promise.resolve(touch(tx)));
      assert.deepEqual(await Promise.all([one.changed, two.changed]), [true, true]);
    }
  });

  test("a watch sees no other key, no throw, and nothing after its cancel", async (engine) => {
    const watch = engine.watch(bytes("w"));
    const cancelled = engine.watch(bytes("w"));
    let isOver = false;
    watch.changed.then(() => isOver = true);
    await write(engine, "v=1 ww=2");
    await assert.rejects(engine.transact((tx) => {
      put(tx, "w=1");
      throw new Error("no");
    }));
    cancelled.cancel();
    assert.equal(await cancelled.changed, false);
    await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal(isOver, false);
    await write(engine, "w=1");
    assert.equal(await watch.changed, true);
    watch.cancel();
  });

  test("close() resolves watches with false and refuses what comes after", async (engine) => {
    const watch = engine.watch(bytes("w"));
    await engine.close();
    assert.equal(await watch.changed, false);
    await assert.rejects(engine.transact(() => Promise.resolve()), EngineClosed);
    await assert.rejects(engine.snapshot((tx) => tx.get(bytes("a"))), EngineClosed);
    assert.throws(() => engine.watch(bytes("a")), EngineClosed);
    await engine.close();
  });

  test("close() waits for what runs", async (engine, { reopen }) => {
    const begun = Promise.withResolvers<void>();
    const transaction = engine.transact(async (tx) => {
      await tx.get(bytes("a"));
      begun.resolve();
      await new Promise((resolve) => setTimeout(resolve, 20));
      put(tx, "a=done");
      return text(await tx.get(bytes("a")));
    });
    await begun.promise;
    const closed = engine.close();
    await assert.rejects(engine.snapshot((tx) => tx.get(bytes("a"))), EngineClosed);
    assert.equal(await transaction, "done");
    await closed;
    if (reopen !== undefined) assert.equal(await read(await reopen(), "a"), "done");
  });

  test("opening again finds everything, and versions and stamps go on", async (engine, opened) => {
    if (opened.reopen === undefined) return;
    let current = engine;
    let last = 0n;
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 3; i++) {
        await current.transact((tx) => {
          tx.setStamped(bytes("log"), bytes(""), bytes(`${round}${i}`));
          return Promise.resolve();
        });
      }
      const version = await current.snapshot((tx) => tx.readVersion());
      assert.ok(version > last);
      last = version;
      const before = await content(current);
      current = await opened.reopen();
      assert.equal(await content(current), before);
      assert.ok(await current.snapshot((tx) => tx.readVersion()) >= last);
    }
    const pairs = await current.snapshot((tx) => tx.getRange(everything));
    assert.equal(pairs.map(({ value }) => text(value)).join(), "00,01,02,10,11,12,20,21,22");
  });
}
