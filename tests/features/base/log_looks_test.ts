/** Looks at what projections lack: they search nothing twice, and are right all the same. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { FEED_START, WHOLE_RECORD } from "../../../src/domain/feed/place.ts";
import { type StreamKey, streamKey } from "../../../src/domain/identifier.ts";
import { logLooksOf, tellsBehind } from "../../../src/features/base/log_looks.ts";
import { wrapEngine } from "../../../src/kv/calls.ts";
import type { Engine, ReadTransaction } from "../../../src/kv/engine.ts";
import { lastLogPlace, logCommit, type LogEntry } from "../../../src/store/feed/commit_log.ts";
import {
  type LogPosition,
  moveLogCursor,
  readLogCursor,
  readLogSpan,
} from "../../../src/store/feed/log_cursor.ts";
import { openWatchedTypes, setLoggedTypes } from "../../../src/store/reactions/watched_types.ts";
import { type FakeHost, fakeHost } from "../../support/fake_host.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const TENANT = 1;

function entry(type: string, number: number): LogEntry {
  const id = number.toString(16).padStart(8, "0");
  const stream = streamKey(type, `${id}-0000-4000-8000-000000000000`);
  return { kind: "appended", stream, first: 0, count: 1 };
}

/** One commit of some streams of a type. */
async function log(engine: Engine, type: string, streams = 1): Promise<void> {
  const entries = Array.from({ length: streams }, (_, number) => entry(type, number));
  await engine.transact((tx) => Promise.resolve(logCommit(tx, TENANT, entries)));
}

async function watchTypes(engine: Engine, ...types: string[]): Promise<void> {
  await engine.transact(async (tx) => {
    const before = await openWatchedTypes().read(tx, TENANT);
    setLoggedTypes(tx, TENANT, before, new Set(types));
  });
}

async function moveCursor(engine: Engine, position: LogPosition): Promise<void> {
  await engine.transact((tx) => Promise.resolve(moveLogCursor(tx, TENANT, position)));
}

/** An engine that counts the records of the log that snapshots get. */
function counting(engine: Engine): { readonly engine: Engine; records: number } {
  const counted = { engine, records: 0 };
  const countingReads = (tx: ReadTransaction): ReadTransaction => ({
    get: (key) => tx.get(key),
    readVersion: () => tx.readVersion(),
    async getRange(range, asked) {
      const pairs = await tx.getRange(range, asked);
      if (!asked?.keysOnly && asked?.bytesMax !== undefined) counted.records += pairs.length;
      return pairs;
    },
  });
  counted.engine = wrapEngine(engine, {
    snapshot: (body, options) => engine.snapshot((tx) => body(countingReads(tx)), options),
  });
  return counted;
}

/** What a wait that begins now finds out, in as many looks as it takes. */
async function isBehind(engine: Engine, host: FakeHost): Promise<{ told: boolean; looks: number }> {
  const looks = logLooksOf(engine);
  const { types, end } = await looks.look(TENANT, host);
  for (let number = 1;; number++) {
    assert.ok(number < 100, "it is known in the end");
    const question = { until: end, types, sinceMs: Infinity, turns: host };
    const told = await looks.isBehind(TENANT, question);
    if (told !== undefined) return { told, looks: number };
  }
}

async function withLog(
  body: (log: ReturnType<typeof counting> & { readonly host: FakeHost }) => Promise<void>,
): Promise<void> {
  await withTemporaryEngine(async (inner) => {
    await watchTypes(inner, "order");
    await moveCursor(inner, { place: FEED_START, done: WHOLE_RECORD });
    await body(Object.assign(counting(inner), { host: fakeHost() }));
  });
}

Deno.test("what was searched without a find is not searched again, what is new is", async () => {
  await withLog(async (counted) => {
    const { engine, host } = counted;
    for (let commit = 0; commit < 20; commit++) await log(engine, "note", 10);
    assert.equal((await isBehind(engine, host)).told, false);
    assert.equal(counted.records, 20);
    assert.equal((await isBehind(engine, host)).told, false);
    assert.equal(counted.records, 20);
    await log(engine, "note");
    await log(engine, "order");
    assert.equal((await isBehind(engine, host)).told, true);
    assert.equal(counted.records, 22);
    // The find is known, too, until the cursor has passed it.
    assert.equal((await isBehind(engine, host)).told, true);
    assert.equal(counted.records, 22);
    const place = await engine.snapshot((tx) => lastLogPlace(tx, TENANT));
    await moveCursor(engine, { place: place!, done: WHOLE_RECORD });
    await log(engine, "note");
    assert.equal((await isBehind(engine, host)).told, false);
    assert.equal(counted.records, 23);
  });
});

Deno.test("what was searched is searched again for other types", async () => {
  await withLog(async ({ engine, host }) => {
    await log(engine, "note");
    assert.equal((await isBehind(engine, host)).told, false);
    await watchTypes(engine, "order", "note");
    assert.equal((await isBehind(engine, host)).told, true);
    await watchTypes(engine, "order");
    assert.equal((await isBehind(engine, host)).told, false);
  });
});

Deno.test("without types that projections read, the log is not read", async () => {
  await withLog(async (counted) => {
    const { engine, host } = counted;
    await watchTypes(engine);
    await log(engine, "order");
    assert.equal((await isBehind(engine, host)).told, false);
    const request = { max: 10, turns: host };
    const { count } = await engine.snapshot((tx) => logLooksOf(engine).count(tx, TENANT, request));
    assert.deepEqual([count, counted.records], [0, 0]);
  });
});

Deno.test("one look searches only a part of a long log, and the next one goes on behind it", async () => {
  await withLog(async (counted) => {
    const { engine, host } = counted;
    for (let commit = 0; commit < 40; commit++) await log(engine, "note", 6_000);
    await log(engine, "order");
    // Each look at the clock takes five milliseconds.
    let nowMs = 0;
    host.monotonicMs = () => nowMs += 5;
    let turns = 0;
    const { yieldTurn } = host;
    host.yieldTurn = () => (turns++, yieldTurn());
    const { told, looks } = await isBehind(engine, host);
    assert.equal(told, true);
    assert.ok(looks > 1, `${looks} looks`);
    assert.ok(turns >= 10, `${turns} pauses`);
    const { records } = counted;
    const found = await engine.snapshot((tx) => lastLogPlace(tx, TENANT));
    const { first } = await logLooksOf(engine).look(TENANT, host);
    assert.deepEqual([first?.place, counted.records], [found, records]);
  });
});

Deno.test("those who look at the same time share one search", async () => {
  await withLog(async (counted) => {
    const { engine, host } = counted;
    for (let commit = 0; commit < 30; commit++) await log(engine, "note", 10);
    const all = await Promise.all(Array.from({ length: 20 }, () => isBehind(engine, host)));
    assert.deepEqual(new Set(all.map(({ told }) => told)), new Set([false]));
    assert.equal(counted.records, 30);
  });
});

Deno.test("a look that fails leaves nothing behind, and the next one is right", async () => {
  await withTemporaryEngine(async (inner) => {
    await watchTypes(inner, "order");
    await log(inner, "order");
    await moveCursor(inner, { place: FEED_START, done: WHOLE_RECORD });
    let isFailing = true;
    const engine = wrapEngine(inner, {
      async snapshot(body, options) {
        const seen = await inner.snapshot(body, options);
        if (isFailing) throw new Error("not durable");
        return seen;
      },
    });
    const host = fakeHost();
    const outcomes = await Promise.allSettled([isBehind(engine, host), isBehind(engine, host)]);
    assert.deepEqual(outcomes.map(({ status }) => status), ["rejected", "rejected"]);
    isFailing = false;
    assert.equal((await isBehind(engine, host)).told, true);
  });
});

Deno.test("a view tells of places that it has seen, and of no others", () => {
  const types = new Set(["order"]);
  const from = { place: FEED_START, done: WHOLE_RECORD };
  const place = (digit: number) => `${digit}`.repeat(FEED_START.length);
  const at = (digit: number, done = WHOLE_RECORD) => ({ place: place(digit), done });
  const view = { types, from, end: place(9), atMs: 0 };
  assert.equal(tellsBehind({ ...view, to: at(3) }, place(3)), false);
  assert.equal(tellsBehind({ ...view, to: at(3, 1) }, place(3)), undefined);
  assert.equal(tellsBehind({ ...view, to: at(3) }, place(4)), undefined);
  assert.equal(tellsBehind({ ...view, to: at(3), first: at(5, 2) }, place(4)), false);
  assert.equal(tellsBehind({ ...view, to: at(3), first: at(5, 2) }, place(5)), true);
  assert.equal(tellsBehind({ ...view, to: from, types: new Set() }, place(4)), false);
});

/** All entries behind the cursor, looked at one by one. */
async function lacksSomething(engine: Engine, types: ReadonlySet<string>): Promise<boolean> {
  return await engine.snapshot(async (tx) => {
    for (let at = await readLogCursor(tx, TENANT);;) {
      const { streams, end, isAtEnd } = await readLogSpan(tx, TENANT, at, { types, limit: 1 });
      if (streams.length > 0 || isAtEnd) return streams.length > 0;
      at = end;
    }
  });
}

Deno.test("looks say what the log says, whatever happens between them", async () => {
  const types = ["a", "b", "c"];
  const step = fc.oneof(
    fc.record({ logs: fc.array(fc.constantFrom(...types), { minLength: 1, maxLength: 4 }) }),
    fc.record({ keeps: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ watches: fc.subarray(types) }),
    fc.record({ looks: fc.integer({ min: 1, max: 3 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      await withTemporaryEngine(async (engine) => {
        const host = fakeHost();
        let watched = new Set<string>();
        for (const each of steps) {
          if ("logs" in each) {
            const entries = each.logs.map((type, number) => entry(type, number));
            await engine.transact((tx) => Promise.resolve(logCommit(tx, TENANT, entries)));
          } else if ("keeps" in each) {
            await engine.transact(async (tx) => {
              const at = await readLogCursor(tx, TENANT);
              const search = { types: watched, limit: each.keeps };
              moveLogCursor(tx, TENANT, (await readLogSpan(tx, TENANT, at, search)).end);
            });
          } else if ("watches" in each) {
            watched = new Set(each.watches);
            await watchTypes(engine, ...watched);
          } else {
            const looking = Array.from({ length: each.looks }, () => isBehind(engine, host));
            const expected = await lacksSomething(engine, watched);
            for (const { told } of await Promise.all(looking)) assert.equal(told, expected);
          }
        }
      });
    }),
    { numRuns: 30 },
  );
});

Deno.test("the count begins behind what was searched, and names the first stream", async () => {
  await withLog(async (counted) => {
    const { engine, host } = counted;
    for (let commit = 0; commit < 20; commit++) await log(engine, "note", 10);
    await isBehind(engine, host);
    await log(engine, "order", 3);
    counted.records = 0;
    const request = { max: 2, turns: host };
    const lag = await engine.snapshot((tx) => logLooksOf(engine).count(tx, TENANT, request));
    const first: StreamKey = entry("order", 0).stream;
    assert.deepEqual([lag, counted.records], [{ count: 2, first }, 1]);
  });
});
