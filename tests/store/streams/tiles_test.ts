/** Tiles of streams with large events: what is read of them in one piece. */

import assert from "node:assert/strict";
import { encodeEvent } from "../../../src/domain/event.ts";
import { leafHash, NODE_BYTES } from "../../../src/domain/audit/chain.ts";
import { TILE_NODES } from "../../../src/domain/audit/tree_tiles.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import { extendTiles } from "../../../src/features/audit/collect_changes.ts";
import type { Engine, ReadTransaction } from "../../../src/kv/engine.ts";
import { readEvents } from "../../../src/store/streams/stream_events.ts";
import { openStreams } from "../../../src/store/streams/streams.ts";
import { countTiles, readTile } from "../../../src/store/streams/tiles.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const TENANT = 1;
const KEY = streamKey("order", "large");
const STREAM = { tenant: TENANT, key: KEY, generation: 0 };
const PIECE_BYTES_MAX = 1024 * 1024;

/** Some events larger than a value of the engine, some that are not, and many small ones. */
function textOf(index: number): string {
  return "x".repeat([100, 60_000, 99_000, 100, 100, 130_000][index % 6]!);
}

async function writeEvents(engine: Engine, count: number): Promise<void> {
  for (let from = 0; from < count; from += 16) {
    await engine.transact(async (tx) => {
      const stream = (await openStreams(tx, TENANT, [KEY]))[0]!;
      const events = Array.from({ length: Math.min(16, count - from) }, (_, at) =>
        encodeEvent({
          key: KEY,
          type: "was_noted",
          dataJson: JSON.stringify({ text: textOf(from + at) }),
          metadataJson: "{}",
        }));
      stream.append(events, 1);
      stream.flush(0);
    });
  }
}

/** The same reads; adds the bytes of their values to `read`. */
function weighed(tx: ReadTransaction, read: { bytes: number }): ReadTransaction {
  return {
    ...tx,
    async get(key) {
      const value = await tx.get(key);
      read.bytes += value?.length ?? 0;
      return value;
    },
    async getRange(range, options) {
      const pairs = await tx.getRange(range, options);
      for (const { value } of pairs) read.bytes += value.length;
      return pairs;
    },
  };
}

/** Counts what is read between rests. */
function openScale() {
  const read = { bytes: 0 };
  const parts: number[] = [];
  function rest(): undefined {
    parts.push(read.bytes);
    read.bytes = 0;
  }
  return { read, parts, rest };
}

async function leavesOf(engine: Engine, to: number): Promise<string> {
  const window = { from: 0, to, bytesMax: Infinity };
  const events = await engine.snapshot((tx) => readEvents(tx, TENANT, KEY, window));
  return events.map(({ hash }) => leafHash(hash)).join("");
}

Deno.test("a tile of large events is read in pieces of bounded bytes, without their texts", async () => {
  await withTemporaryEngine(async (engine) => {
    const length = TILE_NODES - 1;
    await writeEvents(engine, length);
    const scale = openScale();
    const tile = await engine.snapshot((tx) => {
      const reads = weighed(tx, scale.read);
      const reading = { length, pieces: { rest: scale.rest } };
      return readTile(reads, STREAM, { height: 0, number: 0 }, reading);
    });
    scale.rest();
    assert.equal(tile.toHex(), await leavesOf(engine, length));
    assert.ok(Math.max(...scale.parts) <= PIECE_BYTES_MAX, `${Math.max(...scale.parts)}`);
  });
});

Deno.test("tiles are extended by large events in snapshots of bounded bytes, and others go on between", async () => {
  await withTemporaryEngine(async (engine) => {
    const length = TILE_NODES + 3;
    await writeEvents(engine, length);
    const scale = openScale();
    const counted = {
      snapshot: (body) => engine.snapshot((tx) => body(weighed(tx, scale.read))),
      transact: (body) => engine.transact(body),
    } as Pick<Engine, "snapshot" | "transact"> as Engine;
    const pace = () => Promise.resolve(scale.rest());
    await extendTiles({ engine: counted, pace }, { stream: STREAM, length });
    scale.rest();
    assert.ok(Math.max(...scale.parts) <= PIECE_BYTES_MAX, `${Math.max(...scale.parts)}`);
    assert.equal(await engine.snapshot((tx) => countTiles(tx, STREAM)), 1);
    const reading = { length, pieces: { rest: () => undefined } };
    const tile = await engine.snapshot((tx) =>
      readTile(tx, STREAM, { height: 0, number: 0 }, reading)
    );
    assert.equal(tile.length, TILE_NODES * NODE_BYTES);
    assert.equal(tile.toHex(), await leavesOf(engine, TILE_NODES));
  });
});
