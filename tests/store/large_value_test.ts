/** Values above the engine's size limit. */

import assert from "node:assert/strict";
import { type Bytes, kvLimits } from "../../src/kv/engine.ts";
import { pack } from "../../src/kv/tuple.ts";
import { keys } from "../../src/store/keys.ts";
import { clearLargeValue, setLargeValue, wholeValue } from "../../src/store/large_value.ts";
import { withTemporaryEngine } from "../support/temporary_engine.ts";

const key = pack([1, "k"]);

function bytesOf(length: number): Bytes {
  return new Uint8Array(length).map((_, index) => index % 251);
}

for (const extra of [-kvLimits.valueBytesMax, -1, 0, 1, kvLimits.valueBytesMax, 2_500_001]) {
  const length = kvLimits.valueBytesMax + extra;
  Deno.test(`wholeValue() gives back a value of ${length} bytes`, async () => {
    await withTemporaryEngine(async (engine) => {
      const value = bytesOf(length);
      await engine.transact((tx) => Promise.resolve(setLargeValue(tx, 1, key, value)));
      const whole = await engine.snapshot(async (tx) =>
        await wholeValue(tx, 1, key, (await tx.get(key))!)
      );
      assert.deepEqual(whole, value);
    });
  });
}

Deno.test("clearLargeValue() leaves nothing of the value behind", async () => {
  await withTemporaryEngine(async (engine) => {
    await engine.transact((tx) => Promise.resolve(setLargeValue(tx, 1, key, bytesOf(300_000))));
    await engine.transact((tx) => Promise.resolve(clearLargeValue(tx, 1, key)));
    const left = await engine.snapshot(async (tx) => [
      await tx.get(key),
      await tx.getRange(keys.pieces(1, key)),
    ]);
    assert.deepEqual(left, [undefined, []]);
  });
});

Deno.test("wholeValue() takes a value with a missing piece for the bug it is", async () => {
  await withTemporaryEngine(async (engine) => {
    await engine.transact((tx) => Promise.resolve(setLargeValue(tx, 1, key, bytesOf(300_000))));
    await engine.transact((tx) => Promise.resolve(tx.clear(keys.piece(1, key, 1))));
    const read = engine.snapshot(async (tx) => await wholeValue(tx, 1, key, (await tx.get(key))!));
    await assert.rejects(read, { name: "Bug" });
  });
});
