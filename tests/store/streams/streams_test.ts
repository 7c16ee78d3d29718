/** Appending to streams: heads and segments. See docs/reference/audit.md for the chain hash. */

import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { frontierRoot } from "../../../src/domain/audit/frontier.ts";
import { merkleRoot } from "../../../src/domain/audit/merkle.ts";
import { keys } from "../../../src/store/keys.ts";
import { countRewrite } from "../../../src/store/streams/audit_cuts.ts";
import { isGeneration, openStreams, readHead } from "../../../src/store/streams/streams.ts";
import { append, event, heldBy, STREAM as stream, TENANT } from "../../support/stored_stream.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

Deno.test("readHead() of a stream without events has length 0 and no tip", async () => {
  await withTemporaryEngine(async (engine) => {
    const head = await engine.snapshot((tx) => readHead(tx, TENANT, stream));
    assert.deepEqual([head.length, head.bytes, head.tip], [0, 0, undefined]);
  });
});

Deno.test("openStreams() gives no object with accessors: each would keep its transaction in memory", async () => {
  await withTemporaryEngine(async (engine) => {
    const [appender] = await engine.transact((tx) => openStreams(tx, TENANT, [stream]));
    const fields = Object.values(Object.getOwnPropertyDescriptors(appender!));
    assert.deepEqual(fields.filter(({ get, set }) => get !== undefined || set !== undefined), []);
  });
});

Deno.test("openStreams() keeps the head of what was appended: length, bytes, times, tip", async () => {
  await withTemporaryEngine(async (engine) => {
    const first = await append(engine, 0, [5, 6], 100);
    const second = await append(engine, 2, [7], 50);
    const head = await engine.snapshot((tx) => readHead(tx, TENANT, stream));
    const raws = [...first, ...second];
    let tip = "";
    const hashes = raws.map((raw) => tip = hash("sha256", tip + raw, "hex"));
    const root = frontierRoot({ count: head.length, peaks: head.peaks });
    assert.equal(root, merkleRoot(hashes));
    assert.deepEqual(head, {
      length: 3,
      bytes: raws.join("").length,
      createdAt: 100,
      updatedAt: 50,
      generation: 0,
      epoch: 0,
      tip,
      peaks: head.peaks,
      place: undefined,
    });
  });
});

Deno.test("openStreams() puts several appends of one transaction into one segment", async () => {
  await withTemporaryEngine(async (engine) => {
    await engine.transact(async (tx) => {
      const appender = (await openStreams(tx, TENANT, [stream]))[0]!;
      for (let index = 0; index < 5; index++) {
        assert.equal(appender.append([event(index)], 1), index);
      }
      appender.flush(0);
    });
    const segments = await engine.snapshot((tx) => tx.getRange(keys.segments(TENANT, stream)));
    assert.equal(segments.length, 1);
  });
});

Deno.test("openStreams() packs ten thousand small events into some dozens of keys", async () => {
  await withTemporaryEngine(async (engine) => {
    await append(engine, 0, Array.from({ length: 10_000 }, () => 100));
    const segments = await engine.snapshot((tx) => tx.getRange(keys.segments(TENANT, stream)));
    assert.ok(segments.length > 10 && segments.length < 60, `${segments.length} segments`);
  });
});

Deno.test("openStreams() keeps single small events in the head, and makes one segment with the fourth", async () => {
  await withTemporaryEngine(async (engine) => {
    const seen: [segments: number, held: number][] = [];
    for (let number = 0; number < 9; number++) {
      await append(engine, number, [10]);
      const segments = await engine.snapshot((tx) => tx.getRange(keys.segments(TENANT, stream)));
      seen.push([segments.length, await heldBy(engine)]);
    }
    assert.deepEqual(seen, [[0, 1], [0, 2], [0, 3], [1, 0], [1, 1], [1, 2], [1, 3], [2, 0], [
      2,
      1,
    ]]);
  });
});

const neverHeld: readonly [string, readonly number[]][] = [
  ["several events at once", [1, 2]],
  ["an event as large as a head may hold", [1536]],
];

for (const [what, sizes] of neverHeld) {
  Deno.test(`openStreams() keeps no head for ${what}: they go to a segment, with what it held`, async () => {
    await withTemporaryEngine(async (engine) => {
      await append(engine, 0, [10]);
      assert.equal(await heldBy(engine), 1);
      await append(engine, 1, sizes);
      assert.equal(await heldBy(engine), 0);
      const segments = await engine.snapshot((tx) => tx.getRange(keys.segments(TENANT, stream)));
      assert.deepEqual(segments.map(({ key }) => key), [keys.segment(TENANT, stream, 0)]);
    });
  });
}

Deno.test("isGeneration() holds beside a write to the stream, and not beside a rewrite", async () => {
  await withTemporaryEngine(async (engine) => {
    await append(engine, 0, [10]);
    async function runsBeside(other: () => Promise<unknown>): Promise<number> {
      let runs = 0;
      await engine.transact(async (tx) => {
        await isGeneration(tx, TENANT, stream, 0);
        tx.set(keys.auditEpoch(9), new Uint8Array(1));
        if (++runs === 1) await other();
      });
      return runs;
    }
    assert.equal(await runsBeside(() => append(engine, 1, [10])), 1);
    const rewrite = () => engine.transact((tx) => Promise.resolve(countRewrite(tx, TENANT)));
    assert.equal(await runsBeside(rewrite), 2);
  });
});
