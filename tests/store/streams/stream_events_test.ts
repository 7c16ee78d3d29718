/** Reading streams, compared with a plain list. */

import assert from "node:assert/strict";
import { hash } from "node:crypto";
import fc from "fast-check";
import { encodeEvent } from "../../../src/domain/event.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { keys } from "../../../src/store/keys.ts";
import {
  readEvent,
  readEvents,
  readEventsBackwards,
} from "../../../src/store/streams/stream_events.ts";
import { openStreams } from "../../../src/store/streams/streams.ts";
import { changeHead } from "../../support/stored_head.ts";
import { append, heldBy, STREAM as stream, TENANT } from "../../support/stored_stream.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const MiB = 1024 * 1024;
/** Smaller and larger than a segment, and larger than one value of the engine. */
const MIXED = [[1, 2, 3], [70_000], [5], [102_000, 4, 102_000], [6], [7], [6, 7, 64_000, 8]];
const HELD = [0, 1, 2, 3];

/** Runs `use` with a stream whose head holds its last `held` events. */
async function withMixedStream(
  held: number,
  use: (engine: Engine, raws: string[]) => Promise<void>,
) {
  await withTemporaryEngine(async (engine) => {
    const raws: string[] = [];
    for (const sizes of [...MIXED, ...Array.from({ length: held }, () => [9])]) {
      raws.push(...await append(engine, raws.length, sizes));
    }
    assert.equal(await heldBy(engine), held);
    await use(engine, raws);
  });
}

for (const held of HELD) {
  Deno.test(`readEvents() gives every window of a stream of mixed sizes, in both directions, ${held} of them in its head`, async () => {
    await withMixedStream(held, async (engine, raws) => {
      for (let from = 0; from <= raws.length; from++) {
        for (let to = from; to <= raws.length; to++) {
          for (const generation of [undefined, 0]) {
            const window = { from, to, bytesMax: MiB, generation };
            for (const read of [readEvents, readEventsBackwards]) {
              const events = await engine.snapshot((tx) => read(tx, TENANT, stream, window));
              assert.deepEqual(events.map(({ raw }) => raw), raws.slice(from, to));
              assert.deepEqual(
                events.map(({ index }) => index),
                raws.slice(from, to).map((_, offset) => from + offset),
              );
            }
          }
        }
      }
    });
  });

  Deno.test(`readEvent() gives the event at each index of such a stream, and nothing behind its end, ${held} of them in its head`, async () => {
    await withMixedStream(held, async (engine, raws) => {
      for (let index = 0; index <= raws.length; index++) {
        for (const generation of [undefined, 0]) {
          const found = await engine.snapshot((tx) =>
            readEvent(tx, TENANT, stream, { index, generation })
          );
          assert.equal(found?.raw, raws[index]);
          if (found !== undefined) assert.equal(found.index, index);
        }
      }
    });
  });
}

Deno.test("readEvent() of a stream without events gives nothing", async () => {
  await withTemporaryEngine(async (engine) => {
    const none = await engine.snapshot((tx) => readEvent(tx, TENANT, stream, { index: 0 }));
    assert.equal(none, undefined);
  });
});

Deno.test("readEvents() by the generation before finds none of the events in a head", async () => {
  await withTemporaryEngine(async (engine) => {
    const raws = [...await append(engine, 0, [1]), ...await append(engine, 1, [2])];
    await engine.transact((tx) => changeHead(tx, TENANT, stream, { generation: 1 }));
    for (const [generation, found] of [[undefined, raws], [1, raws], [0, []]] as const) {
      const window = { from: 0, to: 2, bytesMax: MiB, generation };
      for (const read of [readEvents, readEventsBackwards]) {
        const events = await engine.snapshot((tx) => read(tx, TENANT, stream, window));
        assert.deepEqual(events.map(({ raw }) => raw), found);
      }
      const one = await engine.snapshot((tx) =>
        readEvent(tx, TENANT, stream, { index: 1, generation })
      );
      assert.equal(one?.raw, found[1]);
    }
  });
});

Deno.test("readEvents() counts the events of a head towards its ceiling", async () => {
  await withTemporaryEngine(async (engine) => {
    const raws = await append(engine, 0, [500, 500, 500]);
    for (const size of [100, 100]) raws.push(...await append(engine, raws.length, [size]));
    assert.equal(await heldBy(engine), 2);
    const read = async (from: number, bytesMax: number) => {
      const window = { from, to: raws.length, bytesMax };
      const forwards = await engine.snapshot((tx) => readEvents(tx, TENANT, stream, window));
      const backwards = await engine.snapshot((tx) =>
        readEventsBackwards(tx, TENANT, stream, window)
      );
      return [forwards.map(({ index }) => index), backwards.map(({ index }) => index)];
    };
    const segment = raws[0]!.length + raws[1]!.length + raws[2]!.length;
    const held = raws[3]!.length + raws[4]!.length;
    assert.deepEqual(await read(0, held), [[0, 1, 2], [3, 4]]);
    assert.deepEqual(await read(0, segment), [[0, 1, 2], [0, 1, 2, 3, 4]]);
    assert.deepEqual(await read(0, segment + 1), [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]);
    assert.deepEqual(await read(3, 1), [[3, 4], [3, 4]]);
  });
});

Deno.test("readEvents() stops early at its ceiling, and still makes progress", async () => {
  await withTemporaryEngine(async (engine) => {
    const raws = await append(engine, 0, Array.from({ length: 40 }, () => 102_000));
    for (const bytesMax of [1, 1_000, 500_000]) {
      const window = { from: 0, to: raws.length, bytesMax };
      const forwards = await engine.snapshot((tx) => readEvents(tx, TENANT, stream, window));
      assert.ok(forwards.length >= 1 && forwards.length <= 1 + Math.ceil(bytesMax / 102_000));
      assert.equal(forwards[0]!.raw, raws[0]);
      const backwards = await engine.snapshot((tx) =>
        readEventsBackwards(tx, TENANT, stream, window)
      );
      assert.equal(backwards.length, forwards.length);
      assert.equal(backwards.at(-1)!.raw, raws.at(-1));
    }
  });
});

Deno.test("readEvents() gives text beyond ASCII byte for byte, with the hash of each event", async () => {
  await withTemporaryEngine(async (engine) => {
    const texts = ["Grüße", "☃", "😀 two units", "plain", "\u2028", "\\ud800"];
    const events = texts.map((text) =>
      encodeEvent({
        key: stream,
        type: "was_noted",
        dataJson: JSON.stringify({ text }),
        metadataJson: '{"timestamp":1}',
      })
    );
    await engine.transact(async (tx) => {
      const appender = (await openStreams(tx, TENANT, [stream]))[0]!;
      appender.append(events, 1);
      appender.flush(0);
    });
    const window = { from: 0, to: texts.length, bytesMax: MiB };
    const read = await engine.snapshot((tx) => readEvents(tx, TENANT, stream, window));
    let tip = "";
    for (const [index, { raw, hash: found, bytes }] of read.entries()) {
      assert.equal(raw, events[index]!.raw);
      assert.equal(bytes, new TextEncoder().encode(raw).length);
      tip = hash("sha256", tip + raw, "hex");
      assert.equal(found, tip);
    }
  });
});

Deno.test("streams of other tenants and of names that begin alike are never read along", async () => {
  await withTemporaryEngine(async (engine) => {
    const names = [[1, "order:a"], [1, "order:ab"], [2, "order:a"], [1, "orders:a"]] as const;
    for (const [tenant, name] of names) {
      await engine.transact(async (tx) => {
        const key = name as typeof stream;
        const appender = (await openStreams(tx, tenant, [key]))[0]!;
        const event = encodeEvent({
          key: name,
          type: "was_noted",
          dataJson: `{"t":${tenant}}`,
          metadataJson: "{}",
        });
        appender.append([event], 1);
        appender.flush(0);
      });
    }
    for (const [tenant, name] of names) {
      const window = { from: 0, to: 1, bytesMax: MiB };
      const key = name as typeof stream;
      const events = await engine.snapshot((tx) => readEvents(tx, tenant, key, window));
      const expected = encodeEvent({
        key: name,
        type: "was_noted",
        dataJson: `{"t":${tenant}}`,
        metadataJson: "{}",
      }).raw;
      assert.deepEqual(events.map(({ raw }) => raw), [expected]);
    }
  });
});

Deno.test("reading equals a plain list after any history of appends", async () => {
  const sizes = fc.array(fc.integer({ min: 0, max: 30_000 }), { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(sizes, fc.constant([20])), { maxLength: 12 }),
      fc.nat(60),
      fc.nat(60),
      async (all, a, b) => {
        await withTemporaryEngine(async (engine) => {
          const raws: string[] = [];
          for (const list of all) raws.push(...await append(engine, raws.length, list));
          const to = Math.min(raws.length, Math.max(a, b));
          const from = Math.min(a, b, to);
          const window = { from, to, bytesMax: 8 * MiB };
          for (const read of [readEvents, readEventsBackwards]) {
            const events = await engine.snapshot((tx) => read(tx, TENANT, stream, window));
            assert.deepEqual(events.map(({ raw }) => raw), raws.slice(from, to));
          }
        });
      },
    ),
    { numRuns: 25 },
  );
});

Deno.test("events that are missing below the length of their stream are a fault, and no empty page", async () => {
  await withTemporaryEngine(async (engine) => {
    await append(engine, 0, [1, 2, 3]);
    await engine.transact((tx) => Promise.resolve(tx.clear(keys.segment(TENANT, stream, 0, 0))));
    const window = { from: 1, to: 3, bytesMax: MiB };
    const reading = engine.snapshot((tx) => readEvents(tx, TENANT, stream, window));
    await assert.rejects(reading, { name: "Bug", message: /holds every event below its length/ });
  });
});
