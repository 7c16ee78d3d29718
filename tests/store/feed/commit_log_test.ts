/**
 * The commit log, with a reader as a real one would be. Failures that other systems had are tested
 * by name: commits that become visible out of order, cursors ahead of their effects, effects done
 * twice.
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { FEED_START, type LogPlace } from "../../../src/domain/feed/place.ts";
import { type StreamKey, streamKey } from "../../../src/domain/identifier.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import {
  hasLogged,
  lastLogPlace,
  logCommit,
  type LogEntry,
  logFilled,
  readLog,
  readLogAt,
} from "../../../src/store/feed/commit_log.ts";
import { keys } from "../../../src/store/keys.ts";
import { readLog as readAll, readStep, timesSeen } from "../../support/log_reader.ts";
import { eventsOf, reactiveSpec, setOffAll, write } from "../../support/reactive_spec.ts";
import { uuid, withService } from "../../support/service_fixture.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";
import { faultyEngine } from "../../support/faulty_engine.ts";

const TENANT = 9;
const STREAM = streamKey("order", "a");

function appended(stream: StreamKey, first: number, count = 1): LogEntry {
  return { kind: "appended", stream, first, count };
}

function log(engine: Engine, ...entries: readonly LogEntry[]): Promise<void> {
  return engine.transact((tx) => Promise.resolve(logCommit(tx, TENANT, entries)));
}

for (const [count, bytesMax] of [[1, 60], [10, 16]] as const) {
  Deno.test(`the log takes at most ${bytesMax} bytes of an event in writes of ${count}`, async () => {
    await withTemporaryEngine(async (engine) => {
      // A number of events for which an index takes two bytes.
      await log(engine, appended(streamKey("customer", uuid(1)), 10_000, count));
      const [row] = await engine.snapshot((tx) => tx.getRange(keys.commitLog(TENANT)));
      const bytes = row!.key.length + row!.value.length;
      assert.ok(bytes <= bytesMax * count, `${bytes} bytes for ${count} events`);
    });
  });
}

/** The whole log, a page after the other. */
async function readPages(engine: Engine, limit: number) {
  const records: { readonly place: LogPlace; readonly entries: readonly LogEntry[] }[] = [];
  for (let after = FEED_START;;) {
    const page = await engine.snapshot((tx) => readLog(tx, TENANT, { after, limit }));
    if (page.length === 0) return records;
    records.push(...page);
    after = page.at(-1)!.place;
  }
}

Deno.test("readLog() gives commits in their order, from any place on", async () => {
  await withTemporaryEngine(async (engine) => {
    for (let n = 0; n < 300; n++) await log(engine, appended(STREAM, n));
    const records = await readPages(engine, 7);
    const expected = Array.from({ length: 300 }, (_, n) => [appended(STREAM, n)]);
    assert.deepEqual(records.map(({ entries }) => entries), expected);
    const places = records.map(({ place }) => place);
    assert.deepEqual(places, places.toSorted());
    assert.equal(new Set(places).size, 300);
    assert.equal(await engine.snapshot((tx) => lastLogPlace(tx, TENANT)), places.at(-1));
    const at = await engine.snapshot((tx) => readLogAt(tx, TENANT, places[41]!));
    assert.deepEqual(at, records[41]);
    const isMore = (after: LogPlace) => engine.snapshot((tx) => hasLogged(tx, TENANT, after));
    assert.deepEqual(await Promise.all([298, 299].map((n) => isMore(places[n]!))), [true, false]);
  });
});

Deno.test("a transaction has one record, with what it did in its order", async () => {
  await withTemporaryEngine(async (engine) => {
    const entries: LogEntry[] = [
      appended(streamKey("order", uuid(1)), 0, 2),
      { kind: "erased", stream: streamKey("order", uuid(2)) },
      appended(streamKey("ledger", "Größe ☃"), 70_000, 10_000),
      { kind: "touched", stream: STREAM },
      appended(streamKey("order", uuid(1)), 2, 1),
    ];
    await log(engine, ...entries);
    assert.deepEqual((await readPages(engine, 10)).map((record) => record.entries), [entries]);
  });
});

Deno.test("a transaction over thousands of streams has several records, next to each other", async () => {
  await withTemporaryEngine(async (engine) => {
    const many = Array.from({ length: 9_000 }, (_, n) => appended(streamKey("order", uuid(n)), n));
    await Promise.all([log(engine, ...many), log(engine, appended(STREAM, 0))]);
    const records = await readPages(engine, 1);
    assert.equal(records.length, 3);
    const long = records.filter(({ entries }) => entries.length > 1);
    assert.deepEqual(long.flatMap(({ entries }) => entries), many);
    // Epoch and stamp are the same.
    assert.equal(new Set(long.map(({ place }) => place.slice(0, -4))).size, 1);
    for (const { place, entries } of records) {
      const at = await engine.snapshot((tx) => readLogAt(tx, TENANT, place));
      assert.deepEqual(at?.entries, entries);
    }
  });
});

Deno.test("a transaction that logs several times has all of it, in its order", async () => {
  await withTemporaryEngine(async (engine) => {
    await engine.transact((tx) => {
      for (let n = 0; n < 30; n++) logCommit(tx, TENANT, [appended(STREAM, n)]);
      return Promise.resolve();
    });
    const firsts = (await readPages(engine, 7)).flatMap(({ entries }) =>
      entries.map((entry) => entry.kind === "appended" ? entry.first : -1)
    );
    assert.deepEqual(firsts, Array.from({ length: 30 }, (_, n) => n));
  });
});

Deno.test("what is filled in comes before all commits, however late it is written", async () => {
  await withTemporaryEngine(async (engine) => {
    await log(engine, appended(STREAM, 7));
    for (const number of [1, 2, 300]) {
      await engine.transact((tx) =>
        Promise.resolve(logFilled(tx, TENANT, number, [appended(STREAM, number)]))
      );
    }
    const firsts = (await readPages(engine, 2)).flatMap(({ entries }) =>
      entries.map((entry) => entry.kind === "appended" ? entry.first : -1)
    );
    assert.deepEqual(firsts, [1, 2, 300, 7]);
  });
});

Deno.test("any entries come out of a record as they went in", async () => {
  const numbers = fc.oneof(fc.nat({ max: 300 }), fc.maxSafeNat());
  const ids = fc.oneof(fc.uuid(), fc.string({ minLength: 1, unit: "grapheme" }));
  const streams = fc.tuple(fc.constantFrom("order", "a_long_type_name"), ids)
    .map(([type, id]) => streamKey(type, id));
  const plain = { noNullPrototype: true };
  const kinds = fc.constantFrom("erased" as const, "touched" as const);
  const appendedKind = fc.constant("appended" as const);
  const entry = fc.oneof(
    fc.record({ kind: appendedKind, stream: streams, first: numbers, count: numbers }, plain),
    fc.record({ kind: kinds, stream: streams }, plain),
  );
  await withTemporaryEngine(async (engine) => {
    const written: LogEntry[][] = [];
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { minLength: 1, maxLength: 20 }), async (entries) => {
        await log(engine, ...entries);
        written.push(entries);
      }),
      { numRuns: 100 },
    );
    const read = (await readPages(engine, 50)).map(({ entries }) => entries);
    assert.deepEqual(read, written);
  });
});

Deno.test("a reader never finds anything before a place it has seen", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: 5 }), { maxLength: 30 }), async (pauses) => {
      await withTemporaryEngine(async (engine) => {
        const writers = pauses.map(async (pause, n) => {
          await engine.transact(async (tx) => {
            // Begins early, commits late: other systems number by the begin.
            for (let turn = 0; turn < pause; turn++) await new Promise((r) => setTimeout(r, 0));
            logCommit(tx, TENANT, [appended(STREAM, n)]);
          });
        });
        let after = FEED_START;
        const seen: LogEntry[] = [];
        const read = async () => {
          const page = await engine.snapshot((tx) => readLog(tx, TENANT, { after, limit: 3 }));
          seen.push(...page.flatMap(({ entries }) => entries));
          after = page.at(-1)?.place ?? after;
          return page.length;
        };
        const writing = Promise.all(writers);
        let isOver = false;
        writing.then(() => isOver = true);
        while (!isOver) {
          await read();
          await new Promise((r) => setTimeout(r, 0));
        }
        while (await read() > 0);
        const firsts = seen.map((entry) => entry.kind === "appended" ? entry.first : -1);
        assert.deepEqual(firsts.toSorted((a, b) => a - b), pauses.map((_, n) => n));
      });
    }),
    { numRuns: 20 },
  );
});

for (const landed of [true, false]) {
  Deno.test(`cursor and effect commit together when a reply is lost (landed: ${landed})`, async () => {
    await withTemporaryEngine(async (inner) => {
      for (let n = 0; n < 10; n++) await log(inner, appended(STREAM, n));
      const engine = faultyEngine(inner, () => ({ kind: "lose_reply", landed }));
      // Every commit of the reader loses its reply; those that did not land never do.
      if (!landed) {
        await assert.rejects(readStep(engine, TENANT, 3), { name: "EngineUnavailable" });
        assert.equal(await timesSeen(inner, TENANT, STREAM, 0), 0);
        assert.equal(await readStep(inner, TENANT, 100), 10);
      } else while (await readStep(engine, TENANT, 3) > 0);
      for (let n = 0; n < 10; n++) assert.equal(await timesSeen(inner, TENANT, STREAM, n), 1);
    });
  });
}

Deno.test("two readers under one name see each commit once between them", async () => {
  await withTemporaryEngine(async (engine) => {
    for (let n = 0; n < 60; n++) await log(engine, appended(STREAM, n));
    const readers = [1, 2, 3].map(async () => {
      while (await readStep(engine, TENANT, 4) > 0);
    });
    await Promise.all(readers);
    for (let n = 0; n < 60; n++) assert.equal(await timesSeen(engine, TENANT, STREAM, n), 1);
  });
});

Deno.test("the log has every event of clients and of implications once", async () => {
  await withService(async ({ service, engine, tenants: { test } }) => {
    const events = [1, 2, 3].map(() => ({ type: "was_placed", data: {} }));
    await Promise.all([1, 2].map((n) => write(service, test, setOffAll(uuid(n), events))));
    await readAll(engine, test.number, 2);
    for (const n of [1, 2]) {
      for (const type of ["order", "ledger"]) {
        const { length } = await eventsOf(service, test, type, uuid(n));
        assert.equal(length, 3);
        for (let index = 0; index < length; index++) {
          const stream = streamKey(type, uuid(n));
          const times = await timesSeen(engine, test.number, stream, index);
          assert.equal(times, 1, `${stream} ${index}`);
        }
      }
    }
  }, { spec: reactiveSpec });
});
