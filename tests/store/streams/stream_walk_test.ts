/** The heads of all streams, page by page: each once, whatever lies between them. */

import assert from "node:assert/strict";
import { encodeEvent } from "../../../src/domain/event.ts";
import { type StreamKey, streamKey } from "../../../src/domain/identifier.ts";
import type { Bytes, Engine, KeyRange, RangeOptions } from "../../../src/kv/engine.ts";
import { listHeads } from "../../../src/store/streams/stream_walk.ts";
import { openStreams } from "../../../src/store/streams/streams.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const TENANT = 3;
const OTHER = 4;

interface FilledStream {
  readonly id: string;
  readonly events: number;
  readonly bytes?: number;
}

/** Appends this many events of this size to one stream. */
async function fill(engine: Engine, tenant: number, { id, events, bytes = 10 }: FilledStream) {
  await engine.transact(async (tx) => {
    const stream = (await openStreams(tx, tenant, [streamKey("order", id)]))[0]!;
    const text = JSON.stringify({ text: "x".repeat(bytes) });
    const event = encodeEvent({
      key: stream.key,
      type: "was_noted",
      dataJson: text,
      metadataJson: "{}",
    });
    stream.append(Array.from({ length: events }, () => event), 1);
    stream.flush(0);
  });
}

/** All heads as lines, with the number of pages and bytes read for them. */
async function readAll(engine: Engine) {
  const lines: string[] = [];
  let bytes = 0;
  let pages = 0;
  let after: StreamKey | undefined;
  do {
    const { heads, last } = await engine.snapshot((tx) =>
      listHeads(
        {
          get: (key: Bytes) => tx.get(key),
          async getRange(range: KeyRange, options?: RangeOptions) {
            const pairs = await tx.getRange(range, options);
            bytes += pairs.reduce((sum, { value }) => sum + value.length, 0);
            return pairs;
          },
        },
        TENANT,
        after,
      )
    );
    lines.push(...heads.map(({ stream, head }) => `${stream} ${head.length}`));
    after = last;
    pages++;
  } while (after !== undefined);
  return { lines, bytes, pages };
}

Deno.test("listHeads() has nothing of an environment without streams", async () => {
  await withTemporaryEngine(async (engine) => {
    await fill(engine, OTHER, { id: "main", events: 1 });
    assert.deepEqual((await readAll(engine)).lines, []);
  });
});

Deno.test("listHeads() has each stream once, short or long, and nothing of the neighbours", async () => {
  await withTemporaryEngine(async (engine) => {
    for (const tenant of [TENANT - 1, OTHER]) await fill(engine, tenant, { id: "main", events: 2 });
    const lengths = new Map<string, number>();
    for (let number = 0; number < 400; number++) {
      lengths.set(`s${String(number).padStart(3, "0")}`, 1 + number % 3);
    }
    // Each is longer than a page on its own: in the middle, side by side, and at the end.
    for (const id of ["s100-long", "s200-long", "s200-longer", "z-long"]) lengths.set(id, 400);
    for (const [id, length] of lengths) {
      await fill(engine, TENANT, { id, events: length, bytes: length === 400 ? 1_000 : 900 });
    }
    const { lines, pages } = await readAll(engine);
    const expected = [...lengths].sort(([a], [b]) => a < b ? -1 : 1);
    assert.deepEqual(lines, expected.map(([id, length]) => `order:${id} ${length}`));
    assert.ok(pages > 6, `${pages} pages`);
  });
});

Deno.test("listHeads() does not read a long stream through", async () => {
  await withTemporaryEngine(async (engine) => {
    for (let part = 0; part < 5; part++) {
      await fill(engine, TENANT, { id: "long", events: 1_000, bytes: 1_000 });
    }
    await fill(engine, TENANT, { id: "short", events: 1 });
    const { lines, bytes } = await readAll(engine);
    assert.deepEqual(lines, ["order:long 5000", "order:short 1"]);
    assert.ok(bytes < 500_000, `${bytes} of more than 5,000,000 bytes`);
  });
});
