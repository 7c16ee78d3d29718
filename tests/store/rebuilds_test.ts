/** The lists of what the background has to fold. */

import assert from "node:assert/strict";
import { streamKey } from "../../src/domain/stream_key.ts";
import {
  advanceTypeRebuild,
  enqueueStreamRebuild,
  enqueueTypeRebuild,
  listStreamRebuilds,
  nextTypeRebuild,
  settleStreamRebuild,
} from "../../src/store/rebuilds.ts";
import { withTemporaryEngine } from "../support/temporary_engine.ts";

Deno.test("a stream is on the list once, until it is settled", async () => {
  await withTemporaryEngine(async (engine) => {
    const stream = streamKey("order", "global");
    for (let time = 0; time < 2; time++) {
      await engine.transact((tx) => Promise.resolve(enqueueStreamRebuild(tx, 7, stream)));
    }
    const listed = await engine.snapshot((tx) => listStreamRebuilds(tx, 10));
    assert.deepEqual(listed, [{ tenant: 7, stream }]);
    await engine.transact((tx) => settleStreamRebuild(tx, listed[0]!));
    assert.deepEqual(await engine.snapshot((tx) => listStreamRebuilds(tx, 10)), []);
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
    assert.deepEqual(await engine.snapshot((tx) => listStreamRebuilds(tx, 10)), [
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
