/** The contract: single keys, own writes, counters, stamps, and what a throw leaves behind. */

import assert from "node:assert/strict";
import type { Bytes, Engine } from "../../src/kv/engine.ts";
import {
  bytes,
  content,
  counter,
  type EngineTest,
  everything,
  put,
  range,
  read,
  show,
  text,
  write,
} from "./engine_fixture.ts";

export function writeContract(test: EngineTest): void {
  test("get() gives what was set, nothing for what never was or was cleared", async (engine) => {
    await write(engine, "a=1 b=2");
    await engine.transact((tx) => Promise.resolve(tx.clear(bytes("b"))));
    assert.equal(await read(engine, "a"), "1");
    assert.equal(await read(engine, "b"), undefined);
    assert.equal(await read(engine, "c"), undefined);
  });

  test("an empty value is a value, and a key may be a part of a larger array", async (engine) => {
    const large = Uint8Array.of(9, 9, 97, 98, 9);
    await engine.transact((tx) => Promise.resolve(tx.set(large.subarray(2, 4), new Uint8Array())));
    assert.deepEqual(await engine.snapshot((tx) => tx.get(bytes("ab"))), new Uint8Array());
    const pairs = await engine.snapshot((tx) => tx.getRange(everything));
    assert.deepEqual(pairs, [{ key: bytes("ab"), value: new Uint8Array() }]);
  });

  test("transact() gives what its body returned", async (engine) => {
    assert.equal(await engine.transact((tx) => (put(tx, "a=1"), Promise.resolve(7))), 7);
    assert.equal(await engine.transact(() => Promise.resolve("read only")), "read only");
  });

  test("get() sees own sets, clears, cleared ranges and additions", async (engine) => {
    await write(engine, "a=1 b=2 c=3 d=4");
    await engine.transact(async (tx) => {
      put(tx, "a=new");
      tx.clear(bytes("b"));
      tx.clearRange(range("c", "e"));
      put(tx, "d=back");
      tx.add(bytes("n"), 5n);
      tx.add(bytes("n"), -7n);
      assert.equal(text(await tx.get(bytes("a"))), "new");
      assert.equal(await tx.get(bytes("b")), undefined);
      assert.equal(await tx.get(bytes("c")), undefined);
      assert.equal(text(await tx.get(bytes("d"))), "back");
      assert.deepEqual(await tx.get(bytes("n")), counter(-2n));
      assert.equal(text(await tx.unguarded.get(bytes("a"))), "new");
    });
    assert.deepEqual(await engine.snapshot((tx) => tx.get(bytes("n"))), counter(-2n));
    assert.equal(await read(engine, "d"), "back");
  });

  test("the last of several writes to one key counts", async (engine) => {
    await engine.transact((tx) => {
      put(tx, "a=1 a=2 b=1 c=1");
      tx.clear(bytes("b"));
      tx.clearRange(range("c", "d"));
      put(tx, "c=2");
      return Promise.resolve();
    });
    assert.equal(await content(engine), "a=2 c=2");
  });

  test("clearRange() takes the first key, leaves the end, and takes own writes", async (engine) => {
    await write(engine, "a=1 b=2 c=3 d=4");
    await engine.transact((tx) => {
      put(tx, "bb=own");
      tx.clearRange(range("b", "d"));
      tx.clearRange(range("z", "a"));
      return Promise.resolve();
    });
    assert.equal(await content(engine), "a=1 d=4");
  });

  test("keys are in the order of their bytes", async (engine) => {
    const keys: Bytes[] = [];
    for (const first of [0x00, 0x01, 0x7f, 0x80, 0xfd]) {
      keys.push(Uint8Array.of(first));
      for (const second of [0x00, 0x7f, 0x80, 0xff]) keys.push(Uint8Array.of(first, second));
    }
    await engine.transact((tx) => {
      for (const key of keys.toReversed()) tx.set(key, key);
      return Promise.resolve();
    });
    const all = { begin: new Uint8Array(), end: Uint8Array.of(0xfe) };
    const pairs = await engine.snapshot((tx) => tx.getRange(all));
    assert.deepEqual(pairs.map(({ key }) => key), keys);
    const back = await engine.snapshot((tx) => tx.getRange(all, { reverse: true }));
    assert.deepEqual(back, pairs.toReversed());
  });

  test("add() starts at 0, wraps at 64 bits, pads and cuts other values", async (engine) => {
    await write(engine, "short=A long=AAAAAAAAAA");
    const key = bytes("n");
    await engine.transact((tx) => (tx.add(key, 2n ** 63n - 1n), Promise.resolve()));
    await engine.transact((tx) => (tx.add(key, 1n), Promise.resolve()));
    await engine.transact((tx) => {
      tx.add(bytes("short"), 1n);
      tx.add(bytes("long"), 0n);
      return Promise.resolve();
    });
    const [value, short, long] = await engine.snapshot((tx) =>
      Promise.all([tx.get(key), tx.get(bytes("short")), tx.get(bytes("long"))])
    );
    assert.deepEqual(value, counter(-(2n ** 63n)));
    assert.deepEqual(short, counter(0x42n));
    assert.deepEqual(long, counter(0x4141414141414141n));
  });

  test("add() after own writes counts from them", async (engine) => {
    await engine.transact((tx) => (tx.add(bytes("n"), 40n), Promise.resolve()));
    await engine.transact((tx) => {
      tx.clear(bytes("n"));
      tx.add(bytes("n"), 1n);
      tx.set(bytes("m"), counter(5n));
      tx.add(bytes("m"), 1n);
      return Promise.resolve();
    });
    const get = (key: string) => engine.snapshot((tx) => tx.get(bytes(key)));
    assert.deepEqual([await get("n"), await get("m")], [counter(1n), counter(6n)]);
  });

  test("a hundred racing add() all count, and none runs twice", async (engine) => {
    let runs = 0;
    await Promise.all(Array.from({ length: 100 }, () =>
      engine.transact((tx) => {
        runs++;
        tx.add(bytes("n"), 3n);
        return Promise.resolve();
      })));
    assert.deepEqual(await engine.snapshot((tx) => tx.get(bytes("n"))), counter(300n));
    assert.equal(runs, 100);
  });

  test("stamps grow in the order of commits", (engine) => testStamps(engine));

  test("a stamped key cannot be read before its commit", async (engine) => {
    await engine.transact(async (tx) => {
      tx.setStamped(bytes("log"), bytes("x"), bytes("v"));
      assert.deepEqual(await tx.getRange(everything), []);
    });
    const [pair] = await engine.snapshot((tx) => tx.getRange(everything));
    assert.equal(pair!.key.length, 3 + 10 + 1);
    assert.deepEqual(pair!.value, bytes("v"));
  });

  test("all stamps of one transaction are the same", async (engine) => {
    await engine.transact((tx) => {
      for (const suffix of "abc") tx.setStamped(bytes("log"), bytes(suffix), bytes(suffix));
      return Promise.resolve();
    });
    const pairs = await engine.snapshot((tx) => tx.getRange(everything));
    assert.equal(show(pairs.map(({ value }) => ({ key: value, value }))), "a=a b=b c=c");
    assert.equal(new Set(pairs.map(({ key }) => String(key.subarray(0, 13)))).size, 1);
  });

  test("a body that throws leaves nothing behind, and its error comes out", async (engine) => {
    await write(engine, "a=1");
    const error = new Error("no");
    await assert.rejects(
      engine.transact((tx) => {
        put(tx, "a=2 b=2");
        tx.clearRange(everything);
        tx.add(bytes("n"), 1n);
        tx.setStamped(bytes("log"), bytes(""), bytes(""));
        throw error;
      }),
      (thrown) => thrown === error,
    );
    assert.equal(await content(engine), "a=1");
  });

  test("a body that throws is not run again, whatever changed meanwhile", async (engine) => {
    await write(engine, "a=1");
    let runs = 0;
    await assert.rejects(
      engine.transact(async (tx) => {
        runs++;
        await tx.get(bytes("a"));
        put(tx, "b=1");
        await write(engine, "a=2");
        throw new Error("no");
      }),
      /no/,
    );
    assert.equal(runs, 1);
    assert.equal(await content(engine), "a=2");
  });

  test("a transaction cannot be used after its end", async (engine) => {
    const kept = await engine.transact((tx) => Promise.resolve(tx));
    const range = { begin: bytes("a"), end: bytes("b") };
    assert.throws(() => kept.set(bytes("a"), bytes("1")));
    assert.throws(() => kept.clear(bytes("a")));
    assert.throws(() => kept.clearRange(range));
    assert.throws(() => kept.add(bytes("a"), 1n));
    assert.throws(() => kept.setStamped(bytes("a"), bytes(""), bytes("1")));
    await assert.rejects(kept.get(bytes("a")));
    assert.equal(await content(engine), "");
  });
}

async function testStamps(engine: Engine): Promise<void> {
  const acknowledged: string[] = [];
  async function append(name: string): Promise<void> {
    await engine.transact((tx) => {
      tx.setStamped(bytes("log"), bytes(name), bytes(name));
      return Promise.resolve();
    });
    acknowledged.push(name);
  }
  for (let round = 0; round < 20; round++) {
    await Promise.all(Array.from({ length: 10 }, (_, i) => append(`${round}-${i}`)));
  }
  const pairs = await engine.snapshot((tx) => tx.getRange(everything));
  const order = pairs.map(({ value }) => text(value)!);
  assert.equal(new Set(order).size, 200);
  // Within a round commits race; each round comes after all commits of the round before.
  assert.deepEqual(
    order.map((name) => name.split("-")[0]),
    Array.from({ length: 200 }, (_, i) => String(Math.floor(i / 10))),
  );
  const stamps = new Set(pairs.map(({ key }) => String(key.subarray(3, 13))));
  assert.equal(stamps.size, 200);
}
