/** One attempt of a transaction: what it does at once, and what in time slices. */

import assert from "node:assert/strict";
import type { Transaction } from "../../../src/kv/engine.ts";
import { FoundationdbEngine } from "../../../src/kv/foundationdb/engine.ts";
import { nextTurn } from "../../../src/kv/transaction/turns.ts";
import { bytes, read } from "../../contract/engine_fixture.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { memoryDatabase } from "../../support/memory_foundationdb.ts";

/** The cluster says that it will answer soon. */
const FAULT = { code: 1037 };

/** How many turns of the event loop pass between the end of the body and its commit. */
async function turnsBeforeCommit(
  body: (tx: Transaction) => Promise<void>,
  fails: (call: string) => boolean = () => false,
): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  let [bodyTurn, commitTurn] = [0, 0];
  const database = memoryDatabase((call) => {
    if (call === "commit") commitTurn = turns;
    return fails(call) ? FAULT : undefined;
  });
  let nowMs = 0;
  let isBodyOver = false;
  // After the body, each look at the clock finds that a slice is over.
  const engine = new FoundationdbEngine({
    database,
    host: fakeHost("a"),
    nowMs: () => isBodyOver ? nowMs += 5 : nowMs,
    prefix: bytes("p"),
  });
  try {
    setImmediate(count);
    await engine.transact(async (tx) => {
      await body(tx);
      bodyTurn = turns;
      isBodyOver = true;
    });
    return commitTurn - bodyTurn;
  } finally {
    isOver = true;
    await engine.close();
  }
}

Deno.test("a read that is repeated in the pauses does not take the writes away", async () => {
  let reads = 0;
  const database = memoryDatabase((call) => {
    return call === "read" && reads++ === 0 ? FAULT : undefined;
  });
  let nowMs = 0;
  const engine = new FoundationdbEngine({
    database,
    host: fakeHost("a"),
    nowMs: () => performance.now() + (nowMs += 5),
  });
  try {
    await engine.transact(async (tx) => {
      // Nobody waits for it. It is to begin anew after 20 ms, while writes are handed over.
      tx.get(bytes("ahead")).catch(() => {});
      await setMany(tx, 100_000);
    });
    assert.equal(await read(engine, "k99999"), "v");
    assert.equal(await read(engine, "k0"), "v");
  } finally {
    await engine.close();
  }
});

function setMany(tx: Transaction, count: number): Promise<void> {
  for (let n = 0; n < count; n++) tx.set(bytes(`k${n}`), bytes("v"));
  return Promise.resolve();
}

Deno.test("a large transaction is handed to the client in time slices", async () => {
  const few = await turnsBeforeCommit((tx) => setMany(tx, 200));
  const many = await turnsBeforeCommit((tx) => setMany(tx, 2_560));
  assert.ok(many - few >= 9, `${many} turns, and ${few} for a small one`);
});

Deno.test("reads guard their keys, so only after a repeated one are guards handed over, in slices", async () => {
  const look = (count: number) => async (tx: Transaction) => {
    await Promise.all(Array.from({ length: count }, (_, n) => tx.get(bytes(`k${n}`))));
    tx.set(bytes("k"), bytes("v"));
  };
  const failsOnce = () => {
    let reads = 0;
    return (call: string) => call === "read" && reads++ === 0;
  };
  const [once, few, many] = [
    await turnsBeforeCommit(look(2_560)),
    await turnsBeforeCommit(look(200), failsOnce()),
    await turnsBeforeCommit(look(2_560), failsOnce()),
  ];
  assert.ok(once <= few, `${once} turns for guards of reads, ${few} for a few handed over`);
  assert.ok(many - few >= 9, `${many} turns, and ${few} for a small one`);
});

Deno.test("a key that was read before another read had to be repeated is still guarded", async () => {
  let isFailing = false;
  const database = memoryDatabase((call) => call === "read" && isFailing ? FAULT : undefined);
  const open = (seed: string) => new FoundationdbEngine({ database, host: fakeHost(seed) });
  const [engine, other] = [open("a"), open("b")];
  const put = (tx: Transaction) => Promise.resolve(tx.set(bytes("seen"), bytes("new")));
  const seen: string[] = [];
  try {
    await engine.transact(async (tx) => {
      seen.push(new TextDecoder().decode(await tx.get(bytes("seen"))));
      if (seen.length === 1) {
        isFailing = true;
        const repeated = tx.get(bytes("other"));
        await nextTurn();
        isFailing = false;
        await repeated;
        await other.transact(put);
      }
      tx.set(bytes("written"), bytes("v"));
    });
    assert.deepEqual(seen, ["", "new"]);
  } finally {
    await engine.close();
    await other.close();
  }
});
