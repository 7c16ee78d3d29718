/** Depth and lag of the queues: exact while they are short, bounded when they are long. */

import assert from "node:assert/strict";
import { newTombstone } from "../../../src/domain/erasure/tombstone.ts";
import type { QueueMeasure } from "../../../src/domain/measures/queue_measure.ts";
import type { WaitingEntry } from "../../../src/domain/reaction/outbox_entry.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import { type Engine, EngineUnavailable } from "../../../src/kv/engine.ts";
import { wrapEngine } from "../../../src/kv/calls.ts";
import { measureQueues, openStoreMeasures } from "../../../src/features/work/measures.ts";
import {
  encodeDelivery,
  markLane,
  putDelivery as putInLane,
} from "../../../src/store/listeners/deliveries.ts";
import {
  listOutbox,
  outboxShard,
  parkEntry,
  putEntry,
} from "../../../src/store/reactions/outbox.ts";
import { encodeEntry } from "../../../src/store/reactions/entry_bytes.ts";
import { setTimer } from "../../../src/store/timers.ts";
import { markErasure, saveTombstone } from "../../../src/store/tombstones.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";
import { faultyEngine } from "../../support/faulty_engine.ts";

const TENANT = 3;

function placeOf(id: string, index = 0) {
  return { tenant: TENANT, stream: streamKey("order", id), index, number: 0 };
}

async function put(engine: Engine, ids: readonly string[], sinceMs: number, waitMs = 0) {
  const entry = { kind: "sagas", eventType: "was_placed", requestId: "request-1" } as const;
  const waiting: WaitingEntry = { entry, sinceMs, waitMs, tries: 0 };
  await engine.transact((tx) => {
    for (const id of ids) putEntry(tx, placeOf(id), encodeEntry(waiting));
    return Promise.resolve();
  });
}

async function putTimers(engine: Engine, count: number, dueMs: number) {
  await engine.transact((tx) => {
    for (let n = 0; n < count; n++) {
      setTimer(tx, { dueMs, tenant: TENANT, kind: "scheduled", id: `${dueMs} ${n}` });
    }
    return Promise.resolve();
  });
}

function table(measures: readonly QueueMeasure[]) {
  return Object.fromEntries(measures.map(({ queue, depth, lagMs }) => [queue, [depth, lagMs]]));
}

Deno.test("measureQueues() finds nothing in an empty store", async () => {
  await withTemporaryEngine(async (engine) => {
    const measures = await measureQueues(engine, fakeHost());
    const nothing = [0, 0];
    const names = ["outbox", "timer", "lane", "view", "erasure", "parked"];
    const expected = Object.fromEntries(names.map((name) => [name, nothing]));
    assert.deepEqual(table(measures), expected);
  });
});

Deno.test("measureQueues() counts all shards, and times what is due and nothing else", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    const ids = Array.from({ length: 40 }, (_, n) => `o${n}`);
    await put(engine, ids, host.timeMs - 3_000);
    await put(engine, ["oldest"], host.timeMs - 5_000);
    // Its writer may still be working on it.
    await put(engine, ["own"], host.timeMs - 9_000, 10_000);
    await putTimers(engine, 30, host.timeMs - 200);
    await putTimers(engine, 1, host.timeMs - 700);
    await putTimers(engine, 20, host.timeMs + 1);
    assert.deepEqual(table(await measureQueues(engine, host)), {
      outbox: [42, 5_000],
      timer: [31, 700],
      lane: [0, 0],
      view: [0, 0],
      erasure: [0, 0],
      parked: [0, 0],
    });
    host.timeMs += 1;
    assert.deepEqual(table(await measureQueues(engine, host)).timer, [51, 701]);
  });
});

Deno.test("measureQueues() counts what is parked, without a lag: nobody tries it again", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    await put(engine, ["a"], host.timeMs - 3_000);
    const shard = outboxShard(placeOf("a"));
    const { works: [work] } = await engine.snapshot((tx) => listOutbox(tx, shard, { limit: 1 }));
    await engine.transact((tx) => Promise.resolve(parkEntry(tx, work!)));
    const measures = table(await measureQueues(engine, host));
    assert.deepEqual(measures.outbox, [0, 0]);
    assert.deepEqual(measures.parked, [1, 0]);
  });
});

Deno.test("measureQueues() counts marked lanes, and times the first delivery of each that is due", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    await putDelivery(engine, "a", host.timeMs - 3_000, 0);
    // Written long ago, and due again for two seconds.
    await putDelivery(engine, "b", host.timeMs - 9_000, host.timeMs - 2_000);
    await putDelivery(engine, "c", host.timeMs - 9_000, host.timeMs + 1);
    assert.deepEqual(table(await measureQueues(engine, host)).lane, [3, 3_000]);
  });
});

async function putDelivery(engine: Engine, id: string, sinceMs: number, dueMs: number) {
  const lane = { tenant: TENANT, listener: "hook", stream: streamKey("order", id) };
  const url = "https://example.com/";
  const value = encodeDelivery({ id, sinceMs, dueMs, url, tries: [], triesBefore: 0 });
  await engine.transact((tx) => {
    putInLane(tx, lane, 0, value);
    markLane(tx, lane);
    return Promise.resolve();
  });
}

Deno.test("measureQueues() counts no further than 1,000 in one shard", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    for (let index = 0; index < 1_500; index += 500) {
      await engine.transact((tx) => {
        const entry = { kind: "sagas", eventType: "was_placed", requestId: "r" } as const;
        const value = encodeEntry({ entry, sinceMs: host.timeMs - 1, waitMs: 0, tries: 0 });
        for (let n = index; n < index + 500; n++) putEntry(tx, placeOf("a", n), value);
        return Promise.resolve();
      });
    }
    assert.deepEqual(table(await measureQueues(engine, host)).outbox, [1_000, 1]);
  });
});

Deno.test("measureQueues() lets writes in between its shards", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    let turns = 0;
    const yieldTurn = () => {
      turns++;
      return host.yieldTurn();
    };
    await measureQueues(engine, { ...host, yieldTurn });
    assert.equal(turns, 3 * 16);
  });
});

Deno.test("measureQueues() counts erasures that are due, and times the oldest from its time on", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    const wish = { key: streamKey("order", "o1"), reason: "asked for", grace_hours: 1 };
    await engine.transact((tx) => {
      for (const [number, ago] of [[1, 7_200_000], [2, 3_600_500]] as const) {
        const tombstone = newTombstone(`tmb_${number}`, wish, "dpo", host.timeMs - ago);
        saveTombstone(tx, TENANT, tombstone);
        markErasure(tx, { tenant: TENANT, id: tombstone.id });
      }
      return Promise.resolve();
    });
    assert.deepEqual(table(await measureQueues(engine, host)).erasure, [2, 3_600_000]);
  });
});

/** Counts the rounds of reads: each round asks the engine for its measurements once. */
function counted(inner: Engine) {
  let rounds = 0;
  const engine = wrapEngine(inner, {
    measure: () => Promise.resolve({ conflicts: ++rounds, bytes: { database: 5 } }),
  });
  return { engine, rounds: () => rounds };
}

const EMPTY = [
  { queue: "outbox", depth: 0, lagMs: 0 },
  { queue: "timer", depth: 0, lagMs: 0 },
  { queue: "lane", depth: 0, lagMs: 0 },
  { queue: "view", depth: 0, lagMs: 0 },
  { queue: "erasure", depth: 0, lagMs: 0 },
  { queue: "parked", depth: 0, lagMs: 0 },
];

Deno.test("the store tells its queues and what its engine knows of itself", async () => {
  await withTemporaryEngine(async (inner) => {
    const measure = openStoreMeasures(counted(inner).engine, fakeHost());
    const told = { isUp: true, queues: EMPTY, conflicts: 1, bytes: { database: 5 } };
    assert.deepEqual(await measure(), told);
  });
});

Deno.test("the store is asked once for all who ask at once, and once a second", async () => {
  await withTemporaryEngine(async (inner) => {
    const host = fakeHost();
    const { engine, rounds } = counted(inner);
    const measure = openStoreMeasures(engine, host);
    await Promise.all([measure(), measure(), measure()]);
    host.timeMs += 999;
    await measure();
    assert.equal(rounds(), 1);
    host.timeMs += 1;
    await measure();
    assert.equal(rounds(), 2);
  });
});

Deno.test("a store that is away is told so, and asked again a second later", async () => {
  await withTemporaryEngine(async (inner) => {
    const host = fakeHost();
    let isAway = true;
    const engine = faultyEngine(counted(inner).engine, [], { isAway: () => isAway });
    const measure = openStoreMeasures(engine, host);
    assert.deepEqual(await measure(), { isUp: false, queues: [] });
    assert.equal(host.lines.length, 1);
    isAway = false;
    host.timeMs += 1_000;
    const told = { isUp: true, queues: EMPTY, conflicts: 1, bytes: { database: 5 } };
    assert.deepEqual(await measure(), told);
  });
});

Deno.test("a store that says nothing is given up after two seconds, and not asked twice", async () => {
  await withTemporaryEngine(async (inner) => {
    const host = fakeHost();
    const silence = Promise.withResolvers<never>();
    let asked = 0;
    const silent = wrapEngine(inner, {
      snapshot: () => {
        asked++;
        return silence.promise;
      },
    });
    const measure = openStoreMeasures(silent, host);
    for (let round = 0; round < 3; round++) {
      const answer = measure();
      host.timeMs += 2_000;
      assert.deepEqual(await answer, { isUp: false, queues: [] });
    }
    assert.equal(asked, 1);
    silence.reject(new EngineUnavailable("gone"));
    assert.deepEqual(await measure(), { isUp: false, queues: [] });
  });
});
