/** The lists of what the background must fold. */

import assert from "node:assert/strict";
import { streamKey } from "../../../src/domain/identifier.ts";
import {
  advanceTypeRebuild,
  enqueueStreamRebuild,
  enqueueTypeRebuild,
  listStreamRebuilds,
  nextTypeRebuild,
  settleStreamRebuild,
  type StreamRebuild,
} from "../../../src/store/streams/rebuilds.ts";
import type { ReadTransaction } from "../../../src/kv/engine.ts";
import { QUEUE_SHARDS } from "../../../src/domain/fairness/work_share.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

/** What waits in all shards, by stream. */
async function listAll(tx: ReadTransaction): Promise<StreamRebuild[]> {
  const shards = Array.from({ length: QUEUE_SHARDS.rebuild }, (_, shard) => shard);
  const lists = await Promise.all(shards.map((shard) => listStreamRebuilds(tx, shard, 10)));
  return lists.flat().sort((a, b) => a.stream < b.stream ? -1 : 1);
}

Deno.test("a stream is on the list once, until it is settled", async () => {
  await withTemporaryEngine(async (engine) => {
    const stream = streamKey("order", "global");
    for (let time = 0; time < 2; time++) {
      await engine.transact((tx) => Promise.resolve(enqueueStreamRebuild(tx, 7, stream)));
    }
    const listed = await engine.snapshot((tx) => listAll(tx));
    assert.deepEqual(listed, [{ tenant: 7, stream }]);
    await engine.transact((tx) => settleStreamRebuild(tx, listed[0]!));
    assert.deepEqual(await engine.snapshot((tx) => listAll(tx)), []);
  });
});

Deno.test("a type moves on behind the ids it was given, and ends when there are none", async () => {
  await withTemporaryEngine(async (engine) => {
    await engine.transact((tx) => Promise.resolve(enqueueTypeRebuild(tx, 7, "order")));
    const first = await engine.snapshot((tx) => nextTypeRebuild(tx));
    assert.deepEqual(first, { tenant: 7, type: "order", done: undefined });
    await engine.transact((tx) => Promise.resolve(advanceTypeRebuild(tx, first!, ["a", "b"])));
    const second = await engine.snapshot((tx) => nextTypeRebuild(tx));
    assert.deepEqual(second, { tenant: 7, type: "order", done: "b" });
    assert.deepEqual(await engine.snapshot((tx) => listAll(tx)), [
      { tenant: 7, stream: "order:a" },
      { tenant: 7, stream: "order:b" },
    ]);
    await engine.transact((tx) => Promise.resolve(advanceTypeRebuild(tx, second!, [])));
    assert.equal(await engine.snapshot((tx) => nextTypeRebuild(tx)), undefined);
  });
});

Deno.test("a type that is enqueued again starts anew", async () => {
  await withTemporaryEngine(async (engine) => {
    await engine.transact((tx) => Promise.resolve(enqueueTypeRebuild(tx, 7, "order")));
    const work = { tenant: 7, type: "order", done: undefined };
    await engine.transact((tx) => Promise.resolve(advanceTypeRebuild(tx, work, ["a"])));
    await engine.transact((tx) => Promise.resolve(enqueueTypeRebuild(tx, 7, "order")));
    const next = await engine.snapshot((tx) => nextTypeRebuild(tx));
    assert.equal(next?.done, undefined);
  });
});

Deno.test("streams wait in all shards, each always in the same one", async () => {
  await withTemporaryEngine(async (engine) => {
    const streams = Array.from({ length: 400 }, (_, n) => streamKey("order", `id-${n}`));
    for (let time = 0; time < 2; time++) {
      await engine.transact((tx) => {
        for (const stream of streams) enqueueStreamRebuild(tx, 7, stream);
        return Promise.resolve();
      });
    }
    const counts: number[] = [];
    for (let shard = 0; shard < QUEUE_SHARDS.rebuild; shard++) {
      counts.push((await engine.snapshot((tx) => listStreamRebuilds(tx, shard, 400))).length);
    }
    assert.equal(counts.reduce((sum, count) => sum + count), 400);
    // 25 are expected in each: far from that, one shard would do most of the work.
    assert.ok(Math.min(...counts) >= 8 && Math.max(...counts) <= 50, `${counts}`);
  });
});
