/** The contract: transactions are serializable, and snapshots see one version. */

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
  read,
  runsWith,
  show,
  text,
  write,
} from "./engine_fixture.ts";

export function isolationContract(test: EngineTest): void {
  test("transact() loses no update when fifty writers race", async (engine) => {
    await Promise.all(Array.from({ length: 50 }, () =>
      engine.transact(async (tx) => {
        const value = Number(text(await tx.get(bytes("n"))) ?? 0);
        put(tx, `n=${value + 1}`);
      })));
    assert.equal(await read(engine, "n"), "50");
  });

  test("transact() allows no write skew", async (engine) => {
    await write(engine, "alice=on bob=on");
    async function leave(who: string): Promise<void> {
      await engine.transact(async (tx) => {
        const [alice, bob] = [await tx.get(bytes("alice")), await tx.get(bytes("bob"))];
        await pause();
        if (text(alice) === "on" && text(bob) === "on") put(tx, `${who}=off`);
      });
    }
    await Promise.all([leave("alice"), leave("bob")]);
    assert.ok(["alice=off bob=on", "alice=on bob=off"].includes(await content(engine)));
  });

  test("a change of what was read is a conflict, of what was not is none", async (engine) => {
    await write(engine, "a=1 b=2 c=3 e=5");
    type Case = [string, (tx: Transaction) => Promise<unknown>, string, number];
    const cases: Case[] = [
      ["a key", (tx) => tx.get(bytes("a")), "a", 2],
      ["another key", (tx) => tx.get(bytes("a")), "b", 1],
      ["a key that was not there", (tx) => tx.get(bytes("q")), "q", 2],
      ["nothing read at all", () => Promise.resolve(), "a", 1],
      ["a key read without a guard", (tx) => tx.unguarded.get(bytes("a")), "a", 1],
      ["a range read without a guard", (tx) => tx.unguarded.getRange(everything), "bb", 1],
      ["an own key", (tx) => (put(tx, "a=own"), tx.get(bytes("a"))), "a", 1],
      ["an own clear", (tx) => (tx.clear(bytes("a")), tx.get(bytes("a"))), "a", 1],
      [
        "an own cleared range",
        (tx) => {
          tx.clearRange(range("a", "d"));
          return tx.getRange(range("a", "d"));
        },
        "bb",
        1,
      ],
      [
        "beside an own cleared range",
        (tx) => {
          tx.clearRange(range("a", "c"));
          return tx.getRange(range("a", "d"));
        },
        "cc",
        2,
      ],
      [
        "an own key in a range",
        (tx) => {
          put(tx, "b=own");
          return tx.getRange(range("a", "d"));
        },
        "b",
        1,
      ],
      ["a key that was only added to", (tx) => (tx.add(bytes("n"), 1n), Promise.resolve()), "n", 1],
      ["a sum that was read", (tx) => (tx.add(bytes("n"), 1n), tx.get(bytes("n"))), "n", 2],
    ];
    for (const [what, body, changed, expected] of cases) {
      const change = () =>
        engine.transact((tx) => (tx.set(bytes(changed), counter(1n)), Promise.resolve()));
      const runs = await runsWith(engine, async (tx) => {
        await body(tx);
        put(tx, "other=1");
      }, change);
      assert.equal(runs, expected, what);
    }
  });

  test("a range is guarded as far as it was read", async (engine) => {
    await write(engine, "b=1 d=2 f=3 h=4");
    type Case = [RangeOptions, string, number];
    const cases: Case[] = [
      [{}, "b", 2],
      [{}, "a", 2],
      [{}, "z", 2],
      [{}, "zz", 1],
      [{ limit: 2 }, "a", 2],
      [{ limit: 2 }, "c", 2],
      [{ limit: 2 }, "d", 2],
      [{ limit: 2 }, "dd", 1],
      [{ limit: 2 }, "f", 1],
      [{ limit: 4 }, "i", 1],
      [{ limit: 5 }, "i", 2],
      [{ bytesMax: 3 }, "d", 2],
      [{ bytesMax: 3 }, "e", 1],
      [{ limit: 2, reverse: true }, "z", 2],
      [{ limit: 2, reverse: true }, "f", 2],
      [{ limit: 2, reverse: true }, "ee", 1],
      [{ limit: 2, reverse: true }, "d", 1],
      [{ limit: 0 }, "b", 1],
    ];
    for (const [options, changed, expected] of cases) {
      const runs = await runsWith(engine, async (tx) => {
        await tx.getRange(everything, options);
        put(tx, "zzz=1");
      }, async () => {
        // Changes the key and restores it, so that the pairs stay as they are for the next
        // case.
        const before = await read(engine, changed);
        await write(engine, `${changed}=x`);
        if (before !== undefined) await write(engine, `${changed}=${before}`);
        else await engine.transact((tx) => (tx.clear(bytes(changed)), Promise.resolve()));
      });
      assert.equal(runs, expected, `${JSON.stringify(options)}, change of ${changed}`);
    }
  });

  test("every kind of write can be what a reader conflicts with", async (engine) => {
    const writes: [string, (tx: Transaction) => void][] = [
      ["set", (tx) => put(tx, "m=1")],
      ["clear", (tx) => tx.clear(bytes("m"))],
      ["clearRange", (tx) => tx.clearRange(range("l", "n"))],
      ["add", (tx) => tx.add(bytes("m"), 1n)],
      ["setStamped", (tx) => tx.setStamped(bytes("m"), bytes(""), bytes(""))],
    ];
    const reads: [string, (tx: Transaction) => Promise<unknown>][] = [
      ["getRange", (tx) => tx.getRange(range("m", "mzzzz"))],
      ["get", (tx) => tx.get(bytes("m"))],
    ];
    for (const [name, change] of writes) {
      for (const [reading, body] of reads) {
        const runs = await runsWith(engine, async (tx) => {
          await body(tx);
          put(tx, "zzz=1");
        }, () => engine.transact((tx) => Promise.resolve(change(tx))));
        const isHit = !(name === "setStamped" && reading === "get");
        assert.equal(runs, isHit ? 2 : 1, `${name}, ${reading}`);
      }
    }
  });

  test("racing transactions that insert into a range they counted take turns", async (engine) => {
    await Promise.all(Array.from({ length: 20 }, (_, i) =>
      engine.transact(async (tx) => {
        const pairs = await tx.getRange(range("m", "n"));
        if (i % 2 === 0) await pause();
        put(tx, `m${String(i).padStart(2, "0")}=${pairs.length}`);
      })));
    const pairs = await engine.snapshot((tx) => tx.getRange(range("m", "n")));
    const counts = pairs.map(({ value }) => Number(text(value))).sort((a, b) => a - b);
    assert.deepEqual(counts, Array.from({ length: 20 }, (_, i) => i));
  });

  test("a snapshot held open over commits sees one version", async (engine) => {
    await write(engine, "a=0 b=0");
    await engine.snapshot(async (tx) => {
      assert.equal(text(await tx.get(bytes("a"))), "0");
      const version = await tx.readVersion();
      for (let i = 1; i <= 10; i++) {
        await write(engine, `a=${i} b=${i} c${i}=new`);
        assert.equal(show(await tx.getRange(everything)), "a=0 b=0");
        assert.equal(text(await tx.get(bytes("b"))), "0");
        assert.equal(await tx.readVersion(), version);
      }
      await engine.transact((tx) => (tx.clearRange(everything), Promise.resolve()));
      assert.equal(show(await tx.getRange(everything, { reverse: true })), "b=0 a=0");
    });
    assert.equal(await content(engine), "");
  });

  test("many snapshots at different versions each see their own", async (engine) => {
    await write(engine, "n=0");
    const open = Promise.withResolvers<void>();
    const held: Promise<[string, string]>[] = [];
    for (let i = 0; i < 20; i++) {
      await write(engine, `n=${i}`);
      const joined = Promise.withResolvers<void>();
      held.push(engine.snapshot(async (tx) => {
        const before = text(await tx.get(bytes("n")))!;
        joined.resolve();
        await open.promise;
        return [before, text(await tx.get(bytes("n")))!];
      }));
      await joined.promise;
    }
    await write(engine, "n=last");
    open.resolve();
    const seen = await Promise.all(held);
    assert.deepEqual(seen, Array.from({ length: 20 }, (_, i) => [String(i), String(i)]));
  });

  test("a transaction reads one version, however long its body takes", async (engine) => {
    await write(engine, "a=0 b=0");
    let runs = 0;
    await engine.transact(async (tx) => {
      const a = text(await tx.get(bytes("a")));
      if (runs++ === 0) await write(engine, "a=1 b=1");
      assert.equal(text(await tx.get(bytes("b"))), a);
      put(tx, "c=1");
    });
    assert.equal(runs, 2);
  });

  test("what is acknowledged is seen by whatever begins afterwards", async (engine) => {
    for (let i = 0; i < 50; i++) {
      await Promise.all([write(engine, `a=${i}`), write(engine, `b=${i}`)]);
      assert.equal(await content(engine), `a=${i} b=${i}`);
    }
  });

  test("readVersion() grows with every commit", async (engine) => {
    const version = () => engine.snapshot((tx) => tx.readVersion());
    let last = await version();
    for (let i = 0; i < 5; i++) {
      await write(engine, "a=1");
      const next = await version();
      assert.ok(next > last);
      last = next;
    }
  });
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1));
}
