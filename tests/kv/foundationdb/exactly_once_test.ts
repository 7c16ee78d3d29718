/** The markers of attempts: their keys, their expiry, and reruns between other writers. */

import assert from "node:assert/strict";
import {
  CommitUnknown,
  markerKey,
  staleMarkers,
  sweepMarkers,
  transactExactlyOnce,
} from "../../../src/kv/foundationdb/exactly_once.ts";
import type { Engine, KeyRange, Transaction } from "../../../src/kv/engine.ts";
import { bytes, content, write } from "../../contract/engine_fixture.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const markers: KeyRange = { begin: Uint8Array.of(0xfe), end: Uint8Array.of(0xff) };

function mark(nowMs: number, id = 1) {
  return { id: new Uint8Array(16).fill(id), nowMs };
}

function countMarkers(engine: Engine): Promise<number> {
  return engine.snapshot(async (tx) => (await tx.getRange(markers)).length);
}

Deno.test("transactExactlyOnce() sets a marker with a write and none without", async () => {
  await withTemporaryEngine(async (engine) => {
    const attempt = <T>(body: (tx: Transaction) => Promise<T>) => engine.transact(body);
    await transactExactlyOnce(attempt, (tx) => tx.get(bytes("a")), mark(1000));
    assert.equal(await countMarkers(engine), 0);
    await transactExactlyOnce(
      attempt,
      (tx) => Promise.resolve(tx.set(bytes("a"), bytes("1"))),
      mark(1000),
    );
    assert.equal(await countMarkers(engine), 1);
    assert.ok(await engine.snapshot((tx) => tx.get(markerKey(mark(1000)))) !== undefined);
  });
});

Deno.test("transactExactlyOnce() sets a marker with a write of any kind", async () => {
  const range = { begin: bytes("a"), end: bytes("b") };
  const writes: [string, (tx: Transaction) => void][] = [
    ["set", (tx) => tx.set(bytes("a"), bytes("1"))],
    ["clear", (tx) => tx.clear(bytes("a"))],
    ["clear a range", (tx) => tx.clearRange(range)],
    ["add", (tx) => tx.add(bytes("n"), 1n)],
    ["set at a stamp", (tx) => tx.setStamped(bytes("a"), bytes(""), bytes("1"))],
  ];
  for (const [what, change] of writes) {
    await withTemporaryEngine(async (engine) => {
      const attempt = <T>(body: (tx: Transaction) => Promise<T>) => engine.transact(body);
      await transactExactlyOnce(attempt, (tx) => Promise.resolve(change(tx)), mark(1000));
      assert.equal(await countMarkers(engine), 1, what);
    });
  }
});

Deno.test("what a rerun gives is of the attempt that landed, however many are unheard after it", async () => {
  await withTemporaryEngine(async (engine) => {
    let attempts = 0;
    async function attempt<T>(body: (tx: Transaction) => Promise<T>): Promise<T> {
      const value = await engine.transact(body);
      if (++attempts < 4) throw new CommitUnknown("lost");
      return value;
    }
    let runs = 0;
    const value = await transactExactlyOnce(attempt, (tx) => {
      tx.add(bytes("n"), 1n);
      return Promise.resolve(`run ${++runs}`);
    }, mark(0));
    assert.deepEqual([value, runs, attempts], ["run 1", 1, 4]);
  });
});

Deno.test("a failure that says that nothing landed is not tried again", async () => {
  let attempts = 0;
  function attempt(): Promise<never> {
    attempts++;
    return Promise.reject(new Error("no room"));
  }
  await assert.rejects(transactExactlyOnce(attempt, () => Promise.resolve(), mark(0)), /no room/);
  assert.equal(attempts, 1);
});

Deno.test("a rerun does not write over what another wrote after the lost commit", async () => {
  await withTemporaryEngine(async (engine) => {
    let attempts = 0;
    async function attempt<T>(body: (tx: Transaction) => Promise<T>): Promise<T> {
      const value = await engine.transact(body);
      if (++attempts > 1) return value;
      await write(engine, "a=other");
      throw new CommitUnknown("lost");
    }
    const value = await transactExactlyOnce(attempt, async (tx) => {
      const before = await tx.get(bytes("a"));
      tx.set(bytes("a"), bytes("mine"));
      return before;
    }, mark(0));
    assert.equal(value, undefined);
    assert.equal(attempts, 2);
    assert.equal(await content(engine), "a=other");
  });
});

Deno.test("sweepMarkers() removes markers that are over a minute old, and nothing else", async () => {
  await withTemporaryEngine(async (engine) => {
    await write(engine, "a=1");
    for (const [index, nowMs] of [0, 1000, 2000, 2001].entries()) {
      await transactExactlyOnce(
        (body) => engine.transact(body),
        (tx) => Promise.resolve(tx.set(bytes("a"), bytes("1"))),
        mark(nowMs, index),
      );
    }
    await sweepMarkers(engine, 30_000);
    assert.equal(await countMarkers(engine), 4);
    await sweepMarkers(engine, 62_000);
    assert.equal(await countMarkers(engine), 2);
    await sweepMarkers(engine, 200_000);
    assert.equal(await countMarkers(engine), 0);
    assert.equal(await content(engine), "a=1");
    assert.deepEqual(staleMarkers(0).begin, Uint8Array.of(0xfe));
  });
});
