/** Epochs and marks: what a stream was at a cut, whatever was written since. */

import assert from "node:assert/strict";
import { merkleRoot } from "../../../src/domain/audit/merkle.ts";
import { frontierRoot } from "../../../src/domain/audit/frontier.ts";
import { encodeEvent } from "../../../src/domain/event.ts";
import { type StreamKey, streamKey } from "../../../src/domain/identifier.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import {
  clearChanges,
  countRewrite,
  listChanged,
  readAtCut,
  readEpoch,
  readRewrites,
  setEpoch,
} from "../../../src/store/streams/audit_cuts.ts";
import { readEvents } from "../../../src/store/streams/stream_events.ts";
import { openStreams } from "../../../src/store/streams/streams.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const TENANT = 1;
const [a, b, c] = ["a", "b", "c"].map((id) => streamKey("order", id)) as [
  StreamKey,
  StreamKey,
  StreamKey,
];

function write(engine: Engine, ...streams: StreamKey[]): Promise<void> {
  return engine.transact(async (tx) => {
    const epoch = await readEpoch(tx, TENANT);
    for (const stream of streams) {
      const appender = (await openStreams(tx, TENANT, [stream]))[0]!;
      const event = encodeEvent({
        key: stream,
        type: "was_noted",
        dataJson: `{"n":${appender.head.length}}`,
        metadataJson: "{}",
      });
      appender.append([event], 1);
      appender.flush(epoch);
    }
  });
}

/** Ends the epoch; returns the cut. */
function cut(engine: Engine): Promise<number> {
  return engine.transact(async (tx) => {
    const epoch = await readEpoch(tx, TENANT);
    setEpoch(tx, TENANT, epoch + 1);
    return epoch;
  });
}

async function changed(engine: Engine, upTo: number): Promise<StreamKey[]> {
  const { changed } = await engine.snapshot((tx) => listChanged(tx, TENANT, upTo, { limit: 10 }));
  return changed.map(({ stream }) => stream);
}

Deno.test("readAtCut() gives each stream as it was at the latest cut, whatever came later", async () => {
  await withTemporaryEngine(async (engine) => {
    await write(engine, a, b);
    const first = await cut(engine);
    await write(engine, a, c);
    await write(engine, a, c);
    const counts = async (at: number) =>
      await engine.snapshot(async (tx) => {
        const found = await Promise.all([a, b, c].map((each) => readAtCut(tx, TENANT, each, at)));
        return found.map(({ count }) => count);
      });
    assert.deepEqual(await counts(first), [1, 1, 0]);
    const second = await cut(engine);
    await write(engine, b, c);
    assert.deepEqual(await counts(second), [3, 1, 2]);
  });
});

Deno.test("readAtCut() gives the tree over the events up to the cut", async () => {
  await withTemporaryEngine(async (engine) => {
    await cut(engine);
    for (let before = 1; before <= 9; before++) {
      await write(engine, a);
      const at = await cut(engine);
      await write(engine, a);
      const found = await engine.snapshot(async (tx) => ({
        frontier: await readAtCut(tx, TENANT, a, at),
        events: await readEvents(tx, TENANT, a, { from: 0, to: 2 * before - 1, bytesMax: 1e6 }),
      }));
      const hashes = found.events.map(({ hash }) => hash);
      assert.equal(frontierRoot(found.frontier), merkleRoot(hashes));
    }
  });
});

Deno.test("listChanged() tells each stream once for each epoch, none before the first cut", async () => {
  await withTemporaryEngine(async (engine) => {
    await write(engine, a, b);
    await cut(engine);
    assert.deepEqual(await changed(engine, 0), []);
    await write(engine, a, c);
    await write(engine, a);
    const second = await cut(engine);
    await write(engine, b);
    assert.deepEqual(await changed(engine, second), [a, c]);
    const third = await cut(engine);
    assert.deepEqual(await changed(engine, third), [a, c, b]);
    const { changed: left } = await engine.snapshot((tx) =>
      listChanged(tx, TENANT, third, { covered: second, limit: 10 })
    );
    assert.deepEqual(left.map(({ stream }) => stream), [b], "what is covered is not told again");
    assert.equal(await engine.transact((tx) => clearChanges(tx, TENANT, second, 1)), true);
    assert.deepEqual(await changed(engine, third), [c, b]);
    assert.equal(await engine.transact((tx) => clearChanges(tx, TENANT, second, 2)), false);
    assert.deepEqual(await changed(engine, third), [b]);
  });
});

Deno.test("listChanged() goes on after the mark that ended the page before", async () => {
  await withTemporaryEngine(async (engine) => {
    await cut(engine);
    await write(engine, a, b, c);
    const at = await cut(engine);
    const all: StreamKey[] = [];
    let after: Uint8Array<ArrayBuffer> | undefined;
    for (let pages = 0; pages < 4; pages++) {
      const page = await engine.snapshot((tx) => listChanged(tx, TENANT, at, { after, limit: 1 }));
      all.push(...page.changed.map(({ stream }) => stream));
      after = page.last ?? after;
    }
    assert.deepEqual(all, [a, b, c]);
  });
});

Deno.test("countRewrite() moves what readRewrites() gives", async () => {
  await withTemporaryEngine(async (engine) => {
    const seen = new Set<string>();
    for (let count = 0; count < 3; count++) {
      seen.add(await engine.snapshot((tx) => readRewrites(tx, TENANT)));
      await engine.transact((tx) => Promise.resolve(countRewrite(tx, TENANT)));
    }
    assert.equal(seen.size, 3);
  });
});
