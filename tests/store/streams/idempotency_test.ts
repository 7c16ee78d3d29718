/** The ledger's part in the life cycle of an idempotency key. See docs/reference/writing.md. */

import assert from "node:assert/strict";
import type { Written } from "../../../src/domain/write/write.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import {
  answerFromEntry,
  type LedgerCursor,
  readLedger,
  recordInLedger,
  sweepLedger,
  touchLedger,
} from "../../../src/store/streams/idempotency.ts";
import { keys } from "../../../src/store/keys.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const DAY = 24 * 3600;
const START = 1_767_225_600;
const claim = { key: "order-7", bodyHash: "aa".repeat(32) };
const written: Written = {
  form: "batch",
  targets: [
    { key: "order:global", first: 3, count: 2 },
    { key: "customer:global", first: 0, count: 1 },
  ],
  impliedCount: 0,
  replayed: false,
  requestId: "request-1",
};

function record(engine: Engine, now = START, tenant = 1): Promise<void> {
  return engine.transact((tx) =>
    Promise.resolve(recordInLedger(tx, tenant, claim, { used: now, written }))
  );
}

function lookUp(engine: Engine, now: number, change = {}, tenant = 1) {
  const changed = { ...claim, ...change };
  return engine.snapshot(async (tx) =>
    answerFromEntry(await readLedger(tx, tenant, changed), changed, now)
  );
}

function touch(engine: Engine, now: number): Promise<void> {
  return engine.transact(async (tx) => {
    const entry = await readLedger(tx, 1, claim);
    touchLedger(tx, 1, { key: claim.key, entry: entry! }, now);
  });
}

Deno.test("answerFromEntry() has not seen a key that nobody used", async () => {
  await withTemporaryEngine(async (engine) => {
    assert.deepEqual(await lookUp(engine, START), { kind: "unseen" });
  });
});

Deno.test("answerFromEntry() gives the whole answer of the write that landed", async () => {
  await withTemporaryEngine(async (engine) => {
    await record(engine);
    const answer = await lookUp(engine, START + 5);
    assert.deepEqual(answer, { kind: "recorded", written: { ...written, replayed: true } });
  });
});

Deno.test("answerFromEntry() tells another body apart", async () => {
  await withTemporaryEngine(async (engine) => {
    await record(engine);
    const answer = await lookUp(engine, START, { bodyHash: "bb".repeat(32) });
    assert.deepEqual(answer, { kind: "mismatch" });
  });
});

Deno.test("answerFromEntry() keeps instances and environments apart", async () => {
  await withTemporaryEngine(async (engine) => {
    await record(engine, START, 1);
    assert.deepEqual(await lookUp(engine, START, {}, 2), { kind: "unseen" });
  });
});

Deno.test("answerFromEntry() keeps a key for 24 hours to the second", async () => {
  await withTemporaryEngine(async (engine) => {
    await record(engine);
    assert.equal((await lookUp(engine, START + DAY - 1)).kind, "recorded");
    assert.equal((await lookUp(engine, START + DAY)).kind, "unseen");
  });
});

Deno.test("touchLedger() starts the 24 hours anew", async () => {
  await withTemporaryEngine(async (engine) => {
    await record(engine);
    await touch(engine, START + DAY - 1);
    assert.equal((await lookUp(engine, START + 2 * DAY - 2)).kind, "recorded");
    assert.equal((await lookUp(engine, START + 2 * DAY - 1)).kind, "unseen");
  });
});

async function isKept(engine: Engine, key: string): Promise<boolean> {
  return await engine.snapshot((tx) => tx.get(keys.ledger(1, key))) !== undefined;
}

Deno.test("sweepLedger() removes ended entries and no other, in steps", async () => {
  await withTemporaryEngine(async (engine) => {
    const names = Array.from({ length: 10 }, (_, n) => `key-${n}`);
    for (const [n, key] of names.entries()) {
      const used = n % 2 === 0 ? START : START + 3600;
      const named = { ...claim, key };
      await engine.transact((tx) =>
        Promise.resolve(recordInLedger(tx, 1, named, { used, written }))
      );
    }
    let cursor: LedgerCursor | undefined = { tenant: 1 };
    let steps = 0;
    let removed = 0;
    while (cursor !== undefined) {
      const from: LedgerCursor = cursor;
      const sweep = await engine.transact((tx) => sweepLedger(tx, from, START + DAY, 3));
      cursor = sweep.next;
      removed += sweep.removed;
      steps++;
    }
    assert.deepEqual([steps, removed], [4, 5]);
    for (const [n, key] of names.entries()) assert.equal(await isKept(engine, key), n % 2 === 1);
  });
});

Deno.test("sweepLedger() spares an entry that was used again", async () => {
  await withTemporaryEngine(async (engine) => {
    await record(engine);
    await touch(engine, START + 20 * 3600);
    await engine.transact((tx) => sweepLedger(tx, { tenant: 1 }, START + DAY, 100));
    assert.equal(await isKept(engine, claim.key), true);
    const end = START + 20 * 3600 + DAY;
    await engine.transact((tx) => sweepLedger(tx, { tenant: 1 }, end, 100));
    assert.equal(await isKept(engine, claim.key), false);
  });
});

Deno.test("sweepLedger() spares an entry that is used again at the moment of its removal", async () => {
  await withTemporaryEngine(async (engine) => {
    await record(engine);
    let runs = 0;
    const { removed } = await engine.transact(async (tx) => {
      const swept = await sweepLedger(tx, { tenant: 1 }, START + DAY, 100);
      // After it was read, and before it is removed.
      if (++runs === 1) await touch(engine, START + DAY - 1);
      return swept;
    });
    assert.deepEqual([runs, removed], [2, 0]);
    assert.equal(await isKept(engine, claim.key), true);
  });
});
