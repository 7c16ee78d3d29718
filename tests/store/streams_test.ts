/** Appending and reading streams, against a plain list. Spec: "Event chain hash". */

import assert from "node:assert/strict";
import { hash } from "node:crypto";
import fc from "fast-check";
import { frontierRoot } from "../../src/domain/audit/frontier.ts";
import { merkleRoot } from "../../src/domain/audit/merkle.ts";
import { encodeEvent } from "../../src/domain/event.ts";
import { streamKey } from "../../src/domain/stream_key.ts";
import type { Engine } from "../../src/kv/engine.ts";
import { keys } from "../../src/store/keys.ts";
import {
  openStreams,
  readEvent,
  readEvents,
  readEventsBackwards,
  readHead,
} from "../../src/store/streams.ts";
import { withTemporaryEngine } from "../support/temporary_engine.ts";

const TENANT = 1;
const stream = streamKey("order", "global");
const MiB = 1024 * 1024;

/** An event whose data holds `size` characters. */
function event(number: number, size = 10) {
  const data = JSON.stringify({ number, fill: "x".repeat(size) });
  return encodeEvent(stream, "was_noted", data, '{"timestamp":1}');
}

/** One transaction for each size list; a list is one append. */
async function append(engine: Engine, from: number, sizes: readonly number[], timestamp = 1) {
  const events = sizes.map((size, index) => event(from + index, size));
  await engine.transact(async (tx) => {
    const appender = (await openStreams(tx, TENANT, [stream]))[0]!;
    appender.append(events, timestamp);
    appender.flush(0);
  });
  return events.map(({ raw }) => raw);
}

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

Deno.test("readEvents() gives every window of a stream of mixed sizes, in both directions", async () => {
  await withTemporaryEngine(async (engine) => {
    const raws: string[] = [];
    // Below and above a segment, and above what one value of the engine holds.
    for (const sizes of [[1, 2, 3], [70_000], [5], [102_000, 4, 102_000], [6, 7, 64_000, 8]]) {
      raws.push(...await append(engine, raws.length, sizes));
    }
    for (let from = 0; from <= raws.length; from++) {
      for (let to = from; to <= raws.length; to++) {
        const window = { from, to, bytesMax: MiB };
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
  });
});

Deno.test("readEvent() gives the event at each index of such a stream, and nothing behind its end", async () => {
  await withTemporaryEngine(async (engine) => {
    const none = await engine.snapshot((tx) => readEvent(tx, TENANT, stream, 0));
    assert.equal(none, undefined);
    const raws: string[] = [];
    for (const sizes of [[1, 2, 3], [70_000], [102_000, 4, 102_000], [6, 7, 64_000, 8]]) {
      raws.push(...await append(engine, raws.length, sizes));
    }
    for (let index = 0; index <= raws.length; index++) {
      const found = await engine.snapshot((tx) => readEvent(tx, TENANT, stream, index));
      assert.equal(found?.raw, raws[index]);
      if (found !== undefined) assert.equal(found.index, index);
    }
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
      encodeEvent(stream, "was_noted", JSON.stringify({ text }), '{"timestamp":1}')
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
        appender.append([encodeEvent(name, "was_noted", `{"t":${tenant}}`, "{}")], 1);
        appender.flush(0);
      });
    }
    for (const [tenant, name] of names) {
      const window = { from: 0, to: 1, bytesMax: MiB };
      const key = name as typeof stream;
      const events = await engine.snapshot((tx) => readEvents(tx, tenant, key, window));
      const expected = encodeEvent(name, "was_noted", `{"t":${tenant}}`, "{}").raw;
      assert.deepEqual(events.map(({ raw }) => raw), [expected]);
    }
  });
});

Deno.test("reading equals a plain list after any history of appends", async () => {
  const sizes = fc.array(fc.integer({ min: 0, max: 30_000 }), { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(sizes, { maxLength: 8 }),
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
