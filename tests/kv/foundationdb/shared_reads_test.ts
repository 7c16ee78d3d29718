/** Snapshots of one turn read in one native transaction, and never at an older version. */

import assert from "node:assert/strict";
import type { ClientTransaction } from "../../../src/kv/foundationdb/client.ts";
import type { Bytes, Engine } from "../../../src/kv/engine.ts";
import { FoundationdbEngine } from "../../../src/kv/foundationdb/engine.ts";
import { openSharedReads } from "../../../src/kv/foundationdb/shared_reads.ts";
import { memoryDatabase } from "../../support/memory_foundationdb.ts";

const KEY = Uint8Array.of(1);
const HOST = { nowMs: () => 0, randomBytes: (length: number): Bytes => new Uint8Array(length) };

/** `opened` counts the native transactions that have been opened. */
async function withEngine(
  body: (engine: Engine, opened: () => number) => Promise<void>,
): Promise<void> {
  const memory = memoryDatabase();
  let opened = 0;
  const database = Object.assign(Object.create(memory), {
    createTransaction: (): ClientTransaction => {
      opened++;
      return memory.createTransaction();
    },
  });
  const engine = new FoundationdbEngine({ database, host: HOST });
  try {
    await body(engine, () => opened);
  } finally {
    await engine.close();
  }
}

function set(engine: Engine, value: number): Promise<void> {
  return engine.transact((tx) => Promise.resolve(tx.set(KEY, Uint8Array.of(value))));
}

Deno.test("snapshots of one turn share a native transaction, those of the next do not", async () => {
  await withEngine(async (engine, opened) => {
    await set(engine, 5);
    const before = opened();
    const values = await Promise.all(
      Array.from({ length: 8 }, () => engine.snapshot((tx) => tx.get(KEY))),
    );
    assert.deepEqual(values, Array(8).fill(Uint8Array.of(5)));
    assert.equal(opened(), before + 1);
    assert.deepEqual(await engine.snapshot((tx) => tx.get(KEY)), Uint8Array.of(5));
    assert.equal(opened(), before + 2);
  });
});

Deno.test("a snapshot that begins after a commit sees it, whatever others are reading", async () => {
  await withEngine(async (engine) => {
    for (let value = 1; value <= 50; value++) {
      const earlier = engine.snapshot((tx) => tx.get(KEY));
      await set(engine, value);
      assert.deepEqual(await engine.snapshot((tx) => tx.get(KEY)), Uint8Array.of(value));
      await earlier;
    }
  });
});

Deno.test("a snapshot that reads later than others of its turn sees what was committed", async () => {
  await withEngine(async (engine) => {
    await set(engine, 1);
    const committed = Promise.withResolvers<void>();
    const [first, later] = await Promise.all([
      engine.snapshot((tx) => tx.get(KEY)).finally(() => set(engine, 2).then(committed.resolve)),
      engine.snapshot(async (tx) => {
        await committed.promise;
        return await tx.get(KEY);
      }),
    ]);
    assert.deepEqual([first, later], [Uint8Array.of(1), Uint8Array.of(2)]);
  });
});

Deno.test("a body that throws leaves the others of its turn alone", async () => {
  await withEngine(async (engine) => {
    await set(engine, 7);
    const [failed, read] = await Promise.allSettled([
      engine.snapshot(() => {
        throw new Error("of the body");
      }),
      engine.snapshot((tx) => tx.get(KEY)),
    ]);
    assert.equal(failed.status, "rejected");
    assert.deepEqual(read, { status: "fulfilled", value: Uint8Array.of(7) });
  });
});

Deno.test("only the last user of a shared transaction cancels or releases it", async () => {
  const calls: string[] = [];
  const client = { cancel: () => calls.push("cancel"), release: () => calls.push("release") };
  const sharing = openSharedReads({
    ...memoryDatabase(),
    createTransaction: () => client as unknown as ClientTransaction,
  });
  assert.equal(sharing.join(), undefined, "no snapshot is beginning");
  const users = await Promise.all(
    [1, 2, 3].map(() =>
      new Promise<ReturnType<typeof sharing.join>>((resolve) => {
        sharing.begin(() => resolve(sharing.join()));
      })
    ),
  );
  users[0]!.cancel();
  users[0]!.leave();
  users[1]!.cancel();
  assert.deepEqual(calls, [], "one still waits");
  users[2]!.cancel();
  assert.deepEqual(calls, ["cancel"]);
  users[1]!.leave();
  assert.deepEqual(calls, ["cancel"]);
  users[2]!.leave();
  assert.deepEqual(calls, ["cancel", "release"]);
});
