/** The index behind the aggregate listing. */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { splitStreamKey, type StreamKey } from "../../../src/domain/identifier.ts";
import {
  indexAggregate,
  isListedAfter,
  listAggregateIds,
  listStreams,
} from "../../../src/store/streams/aggregates.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

Deno.test("listAggregateIds() pages through all ids of one type in byte-wise order", async () => {
  const id = fc.oneof(fc.uuid(), fc.stringMatching(/^[0-9A-Z]{9}$/), fc.stringMatching(/^[a-z]+$/));
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(id), fc.integer({ min: 1, max: 7 }), async (ids, limit) => {
      await withTemporaryEngine(async (engine) => {
        await engine.transact((tx) => {
          for (const id of ids) indexAggregate(tx, 1, "order", id);
          indexAggregate(tx, 1, "orders", "global");
          indexAggregate(tx, 2, "order", "global");
          return Promise.resolve();
        });
        const found: string[] = [];
        let start: string | undefined;
        for (;;) {
          const page = await engine.snapshot((tx) =>
            listAggregateIds(tx, 1, "order", { start, limit })
          );
          if (page.length === 0) break;
          found.push(...page);
          start = page.at(-1);
        }
        // All these ids are ASCII, where UTF-16 units and bytes sort alike.
        assert.deepEqual(found, [...ids].sort((a, b) => a < b ? -1 : 1));
      });
    }),
    { numRuns: 20 },
  );
});

Deno.test("listAggregateIds() with a prefix has the ids that begin so, from one range", async () => {
  const unit = fc.constantFrom("a", "b", "\u00e9", "\u{1f600}", "\0");
  const id = fc.string({ unit, minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(id), id, id, async (ids, prefix, start) => {
      await withTemporaryEngine(async (engine) => {
        await engine.transact((tx) => {
          for (const id of ids) indexAggregate(tx, 1, "order", id);
          return Promise.resolve();
        });
        const inBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
        const wanted = ids.filter((id) => id.startsWith(prefix)).sort(inBytes);
        for (const after of [undefined, start]) {
          const ranges: number[] = [];
          const found = await engine.snapshot((tx) => {
            function getRange(...parts: Parameters<typeof tx.getRange>) {
              ranges.push(parts[1]?.limit ?? 0);
              return tx.getRange(...parts);
            }
            return listAggregateIds({ getRange }, 1, "order", { prefix, start: after, limit: 2 });
          });
          const left = wanted.filter((id) => after === undefined || inBytes(id, after) > 0);
          assert.deepEqual(found, left.slice(0, 2));
          assert.ok(ranges.length <= 1 && ranges.every((limit) => limit === 2));
        }
      });
    }),
    { numRuns: 40 },
  );
});

Deno.test("listAggregateIds() starts after any text, also one that is no id", async () => {
  await withTemporaryEngine(async (engine) => {
    await engine.transact((tx) => {
      for (const id of ["a", "ab", "b"]) indexAggregate(tx, 1, "order", id);
      return Promise.resolve();
    });
    const after = (start: string) =>
      engine.snapshot((tx) => listAggregateIds(tx, 1, "order", { start, limit: 9 }));
    assert.deepEqual(await after(""), ["a", "ab", "b"]);
    assert.deepEqual(await after("a"), ["ab", "b"]);
    assert.deepEqual(await after("aa"), ["ab", "b"]);
    assert.deepEqual(await after("b"), []);
    assert.deepEqual(await after("\u{10ffff}"), []);
  });
});

Deno.test("isListedAfter() knows the order in which listStreams() has streams", async () => {
  await withTemporaryEngine(async (engine) => {
    const names = [
      "order:a",
      "order:a:b",
      "order-1:a",
      "order_:b",
      "o:z",
      "orders:\u{1f600}",
      "orders:\uff01",
    ];
    await engine.transact((tx) => {
      for (const name of names) {
        const { type, id } = splitStreamKey(name as StreamKey);
        indexAggregate(tx, 1, type, id);
      }
      return Promise.resolve();
    });
    const listed = await engine.snapshot((tx) => listStreams(tx, 1, { limit: 10 }));
    assert.equal(listed.length, names.length);
    for (const [at, stream] of listed.entries()) {
      const after = listed.filter((other) => isListedAfter(other, stream));
      assert.deepEqual(after, listed.slice(at + 1));
    }
  });
});
