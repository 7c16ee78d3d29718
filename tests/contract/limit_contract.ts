/** The contract: the limits of keys, values and transactions, on both sides of each limit. */

import assert from "node:assert/strict";
import { EngineLimitExceeded, kvLimits, type Transaction } from "../../src/kv/engine.ts";
import { bytes, content, type EngineTest, everything } from "./engine_fixture.ts";

export function limitContract(test: EngineTest): void {
  const longest = () => new Uint8Array(kvLimits.keyBytesMax).fill(97);
  const tooLong = () => new Uint8Array(kvLimits.keyBytesMax + 1).fill(97);
  const largest = () => new Uint8Array(kvLimits.valueBytesMax).fill(7);

  test("a key of the largest size and a value of the largest size are kept", async (engine) => {
    await engine.transact((tx) => (tx.set(longest(), largest()), Promise.resolve()));
    assert.deepEqual(await engine.snapshot((tx) => tx.get(longest())), largest());
    const pairs = await engine.snapshot((tx) => tx.getRange(everything));
    assert.deepEqual(pairs, [{ key: longest(), value: largest() }]);
  });

  test("one byte more is refused, and nothing of the transaction lands", async (engine) => {
    const attempts: [string, (tx: Transaction) => unknown][] = [
      ["set a key", (tx) => tx.set(tooLong(), bytes("v"))],
      ["set a value", (tx) => tx.set(bytes("b"), new Uint8Array(kvLimits.valueBytesMax + 1))],
      ["clear", (tx) => tx.clear(tooLong())],
      ["add", (tx) => tx.add(tooLong(), 1n)],
      ["stamp", (tx) => tx.setStamped(longest().subarray(9), new Uint8Array(), bytes("v"))],
      ["stamped value", (tx) => {
        tx.setStamped(bytes("b"), bytes(""), new Uint8Array(kvLimits.valueBytesMax + 1));
      }],
      ["reserved", (tx) => tx.set(Uint8Array.of(0xff), bytes("v"))],
      ["get", (tx) => tx.get(tooLong())],
    ];
    for (const [what, attempt] of attempts) {
      const call = engine.transact(async (tx) => {
        tx.set(bytes("a"), bytes("1"));
        await attempt(tx);
      });
      await assert.rejects(call, EngineLimitExceeded, what);
    }
    assert.equal(await content(engine), "");
    await engine.transact((tx) => {
      tx.setStamped(longest().subarray(10), new Uint8Array(), bytes("v"));
      return Promise.resolve();
    });
    const [pair] = await engine.snapshot((tx) => tx.getRange(everything));
    assert.equal(pair!.key.length, kvLimits.keyBytesMax);
  });

  test("a transaction up to the largest size lands, a larger one does not", async (engine) => {
    function fill(tx: Transaction, count: number): Promise<void> {
      for (let i = 0; i < count; i++) tx.set(bytes(`k${i}`), largest());
      return Promise.resolve();
    }
    await engine.transact((tx) => fill(tx, 99));
    const count = (await engine.snapshot((tx) => tx.getRange(everything))).length;
    assert.equal(count, 99);
    await assert.rejects(engine.transact((tx) => fill(tx, 101)), EngineLimitExceeded);
    assert.equal((await engine.snapshot((tx) => tx.getRange(everything))).length, 99);
  });

  test("overwriting a key within a transaction counts once", async (engine) => {
    await engine.transact((tx) => {
      for (let i = 0; i < 300; i++) tx.set(bytes("k"), largest());
      return Promise.resolve();
    });
    assert.deepEqual(await engine.snapshot((tx) => tx.get(bytes("k"))), largest());
  });
}
