/** The contract: ranges, their limits and directions, and own writes merged into them. */

import assert from "node:assert/strict";
import type { RangeOptions, Transaction } from "../../src/kv/engine.ts";
import {
  bytes,
  content,
  counter,
  type EngineTest,
  everything,
  put,
  range,
  show,
  write,
} from "./engine_fixture.ts";

export function rangeContract(test: EngineTest): void {
  test("getRange() takes the first key and leaves the end", async (engine) => {
    await write(engine, "a=1 b=2 c=3 d=4");
    await engine.snapshot(async (tx) => {
      assert.equal(show(await tx.getRange(range("b", "d"))), "b=2 c=3");
      assert.equal(show(await tx.getRange(range("aa", "b"))), "");
      assert.equal(show(await tx.getRange(range("b", "b"))), "");
      assert.equal(show(await tx.getRange(range("c", "a"))), "");
    });
  });

  test("getRange() keeps limit, reverse and bytesMax, alone and together", async (engine) => {
    await write(engine, "a=1 b=2 c=3 d=4 e=5");
    const cases: [RangeOptions, string][] = [
      [{ limit: 0 }, ""],
      [{ limit: 2 }, "a=1 b=2"],
      [{ limit: 5 }, "a=1 b=2 c=3 d=4 e=5"],
      [{ limit: 9 }, "a=1 b=2 c=3 d=4 e=5"],
      [{ limit: 2, reverse: true }, "e=5 d=4"],
      [{ reverse: true }, "e=5 d=4 c=3 b=2 a=1"],
      // Each pair has two bytes; the pair that reaches the limit is the last.
      [{ bytesMax: 1 }, "a=1"],
      [{ bytesMax: 2 }, "a=1"],
      [{ bytesMax: 3 }, "a=1 b=2"],
      [{ bytesMax: 4 }, "a=1 b=2"],
      [{ bytesMax: 3, reverse: true }, "e=5 d=4"],
      [{ bytesMax: 100, limit: 1 }, "a=1"],
      [{ bytesMax: 3, limit: 3 }, "a=1 b=2"],
    ];
    for (const [options, expected] of cases) {
      const pairs = await engine.snapshot((tx) => tx.getRange(everything, options));
      assert.equal(show(pairs), expected, JSON.stringify(options));
    }
    // A read that stopped early does not block anything.
    await write(engine, "f=6");
    assert.equal(await content(engine), "a=1 b=2 c=3 d=4 e=5 f=6");
  });

  test("getRange() lays own writes over what is stored", async (engine) => {
    await write(engine, "b=2 d=4 f=6 h=8");
    await engine.transact((tx) => (tx.set(bytes("n"), counter(1n)), Promise.resolve()));
    await engine.transact(async (tx) => {
      writeOver(tx);
      const cases: [RangeOptions, string][] = [
        [{}, "a=own b=own c=own e=back g=own h=8"],
        [{ limit: 3 }, "a=own b=own c=own"],
        [{ limit: 4 }, "a=own b=own c=own e=back"],
        [{ reverse: true }, "h=8 g=own e=back c=own b=own a=own"],
        [{ reverse: true, limit: 3 }, "h=8 g=own e=back"],
        [{ bytesMax: 5 }, "a=own b=own"],
      ];
      for (const [options, expected] of cases) {
        for (const reads of [tx, tx.unguarded]) {
          const pairs = await reads.getRange(range("a", "i"), options);
          assert.equal(show(pairs), expected, JSON.stringify(options));
        }
      }
      assert.deepEqual(await tx.getRange(range("m", "o")), [
        { key: bytes("m"), value: counter(9n) },
        { key: bytes("n"), value: counter(3n) },
      ]);
    });
    const pairs = await engine.snapshot((tx) => tx.getRange(range("a", "i")));
    assert.equal(show(pairs), "a=own b=own c=own e=back g=own h=8");
  });

  test("getRange() of keys alone has the keys that it has with values, own writes among them", async (engine) => {
    await write(engine, "b=2 d=4 f=6 h=8");
    await engine.transact((tx) => (tx.set(bytes("n"), counter(1n)), Promise.resolve()));
    await engine.transact(async (tx) => {
      writeOver(tx);
      for (const options of [{}, { limit: 3 }, { reverse: true }, { reverse: true, limit: 2 }]) {
        for (const reads of [tx, tx.unguarded]) {
          const pairs = await reads.getRange(everything, options);
          const keys = await reads.getRange(everything, { ...options, keysOnly: true });
          assert.deepEqual(keys.map(({ key }) => key), pairs.map(({ key }) => key));
        }
      }
    });
  });

  test("clears may hide any number of pairs before the limit", async (engine) => {
    const pairs = Array.from({ length: 500 }, (_, i) => `k${String(i).padStart(3, "0")}=${i}`);
    await write(engine, pairs.join(" "));
    await engine.transact(async (tx) => {
      tx.clearRange(range("k000", "k490"));
      for (let i = 490; i < 495; i++) tx.clear(bytes(`k${i}`));
      assert.equal(show(await tx.getRange(everything, { limit: 2 })), "k495=495 k496=496");
    });
    assert.equal(await content(engine), pairs.slice(495).join(" "));
  });

  test("a range of many large pairs comes whole, in either direction", async (engine) => {
    const value = new Uint8Array(20_000).fill(7);
    for (let part = 0; part < 4; part++) {
      await engine.transact((tx) => {
        for (let i = 0; i < 100; i++) tx.set(bytes(`k${part}${String(i).padStart(2, "0")}`), value);
        return Promise.resolve();
      });
    }
    await engine.snapshot(async (tx) => {
      const pairs = await tx.getRange(everything);
      assert.equal(pairs.length, 400);
      assert.deepEqual(pairs.map(({ key }) => key), pairs.map(({ key }) => key).toSorted(compare));
      assert.ok(pairs.every((pair) => pair.value.length === 20_000));
      const back = await tx.getRange(everything, { reverse: true, bytesMax: 1_000_000 });
      assert.equal(back.length, Math.ceil(1_000_000 / 20_004));
      assert.deepEqual(back[0], pairs[399]);
    });
  });
}

function writeOver(tx: Transaction): void {
  put(tx, "a=own b=own c=own e=gone");
  tx.clearRange(range("d", "g"));
  put(tx, "e=back g=own");
  tx.add(bytes("n"), 2n);
  tx.add(bytes("m"), 9n);
}

function compare(a: Uint8Array, b: Uint8Array): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    if (a[i] !== b[i]) return a[i]! - b[i]!;
  }
  return a.length - b.length;
}
