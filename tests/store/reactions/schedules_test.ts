/** Scheduled events in the store, with their timer and the rules that cancel them. */

import assert from "node:assert/strict";
import { streamKey } from "../../../src/domain/identifier.ts";
import { QUEUE_SHARDS } from "../../../src/domain/fairness/work_share.ts";
import type { Bytes, Engine } from "../../../src/kv/engine.ts";
import type { ErasedStream } from "../../../src/store/erased_copies.ts";
import { keys } from "../../../src/store/keys.ts";
import { sweepEndedSchedules } from "../../../src/store/effects.ts";
import { sweepParked } from "../../../src/store/reactions/parked_work.ts";
import {
  cancelledFor,
  type CancelRoom,
  findCancelled,
  isCancelled,
  listSchedules,
  moveCancelMark,
  parkSchedule,
  readCancelMark,
  readSchedule,
  removeSchedule,
  removeStreamSchedules,
  ruleName,
  type ScheduleRecord,
  storeSchedule,
} from "../../../src/store/reactions/schedules.ts";
import { listDueTimers } from "../../../src/store/timers.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const TENANT = 2;
const PAID = { key: streamKey("order", "global"), eventType: "was_paid" };
const CALLED_OFF = { key: streamKey("order", "global"), eventType: "was_called_off" };

function recordOf(id: string, change: Partial<ScheduleRecord> = {}): ScheduleRecord {
  return {
    id,
    emission: {
      key: streamKey("order", "global"),
      aggregateType: "order",
      id: "global",
      eventType: "was_reminded",
      data: {},
    },
    cancelOn: [{ ...PAID, mark: 0 }, { ...CALLED_OFF, mark: 0 }],
    createdMs: 1_000,
    fireAtMs: 61_000,
    by: { key: "order:global", eventType: "was_placed", streamId: "000000000000" },
    requestId: "request-1",
    tries: 0,
    timerMs: 61_000,
    ...change,
  };
}

async function store(engine: Engine, ...records: ScheduleRecord[]): Promise<void> {
  await engine.transact((tx) => {
    for (const record of records) storeSchedule(tx, TENANT, record);
    return Promise.resolve();
  });
}

async function timers(engine: Engine) {
  const shards = Array.from({ length: QUEUE_SHARDS.timer }, (_, shard) => shard);
  const lists = await engine.snapshot((tx) =>
    Promise.all(shards.map((shard) => listDueTimers(tx, shard, { nowMs: 1e12, limit: 100 })))
  );
  return lists.flat();
}

Deno.test("storeSchedule() keeps the record, its timer and its rules", async () => {
  await withTemporaryEngine(async (engine) => {
    const record = recordOf("a");
    await store(engine, record);
    assert.deepEqual(await engine.snapshot((tx) => readSchedule(tx, TENANT, "a")), record);
    assert.deepEqual(await timers(engine), [
      { dueMs: 61_000, tenant: TENANT, kind: "scheduled", id: "a" },
    ]);
    for (const rule of [PAID, CALLED_OFF]) {
      const found = await engine.snapshot((tx) => findCancelled(tx, TENANT, rule, roomFor(10)));
      assert.deepEqual(found, [record]);
    }
  });
});

/** Removes what is known of scheduled events for a while after they have ended. */
async function sweep(engine: Engine, nowMs: number): Promise<void> {
  const part = { after: undefined, nowMs, limit: 100 };
  await engine.transact((tx) => sweepEndedSchedules(tx, TENANT, part));
  await engine.transact((tx) => sweepParked(tx, undefined, nowMs, 100));
}

const END = cancelledFor("request", 5_000);
/** Just before thirty days after that, and then. */
const [KEPT_MS, OVER_MS] = [5_000 + 30 * 24 * 3_600_000 - 1, 5_000 + 30 * 24 * 3_600_000];

Deno.test("removeSchedule() leaves only how it has ended, for thirty days, of large data too", async () => {
  await withTemporaryEngine(async (engine) => {
    const { emission } = recordOf("a");
    const large = { ...emission, data: { text: "x".repeat(250_000) } };
    for (const record of [recordOf("a"), recordOf("b", { emission: large })]) {
      await store(engine, record);
      assert.deepEqual(await engine.snapshot((tx) => readSchedule(tx, TENANT, record.id)), record);
      await engine.transact((tx) => Promise.resolve(removeSchedule(tx, TENANT, record, END)));
      await sweep(engine, KEPT_MS);
      const left = await engine.snapshot((tx) => tx.getRange(keys.tenant(TENANT)));
      const known = await engine.snapshot((tx) => tx.getRange(keys.allScheduleEffects(TENANT)));
      assert.deepEqual(left, known);
      assert.equal(known.length, 1);
      await sweep(engine, OVER_MS);
      assert.deepEqual(await engine.snapshot((tx) => tx.getRange(keys.tenant(TENANT))), []);
      assert.deepEqual(await timers(engine), []);
    }
  });
});

Deno.test("parkSchedule() takes it away from its timer and its rules", async () => {
  await withTemporaryEngine(async (engine) => {
    await store(engine, recordOf("a"));
    await engine.transact((tx) => Promise.resolve(parkSchedule(tx, TENANT, recordOf("a"))));
    const left = await engine.snapshot((tx) => tx.getRange(keys.tenant(TENANT)));
    const leading = await engine.snapshot((tx) => tx.getRange(keys.allScheduleEffects(TENANT)));
    assert.deepEqual(left, leading);
    assert.deepEqual(await timers(engine), []);
    assert.equal((await engine.snapshot((tx) => tx.getRange(keys.parkeds()))).length, 1);
    await sweep(engine, recordOf("a").timerMs + 31 * 24 * 3_600_000);
    assert.deepEqual(await engine.snapshot((tx) => tx.getRange(keys.tenant(TENANT))), []);
    assert.deepEqual(await engine.snapshot((tx) => tx.getRange(keys.parkeds())), []);
  });
});

Deno.test("listSchedules() gives pages in the order of ids", async () => {
  await withTemporaryEngine(async (engine) => {
    await store(engine, ...["c", "a", "d", "b"].map((id) => recordOf(id)));
    assert.deepEqual(await pageOf(engine, undefined, 2), { ids: ["a", "b"], isLast: false });
    assert.deepEqual(await pageOf(engine, "b", 9), { ids: ["c", "d"], isLast: true });
    assert.deepEqual(await pageOf(engine, "d", 9), { ids: [], isLast: true });
  });
});

async function pageOf(engine: Engine, start: string | undefined, limit: number) {
  const { records, isLast } = await engine.snapshot((tx) =>
    listSchedules(tx, TENANT, { start, limit })
  );
  return { ids: records.map(({ id }) => id), isLast };
}

/** A record of about so many bytes. */
function sizedRecord(id: string, bytes: number) {
  return recordOf(id, {
    emission: { ...recordOf(id).emission, data: { text: "x".repeat(bytes) } },
  });
}

Deno.test("listSchedules() ends a page with the record that makes it a quarter of a megabyte", async () => {
  await withTemporaryEngine(async (engine) => {
    // Above 100,000 bytes, a record is stored in pieces.
    const records = ["a", "b", "c", "d"].map((id) => sizedRecord(id, 110_000));
    await store(engine, ...records, sizedRecord("e", 300_000), recordOf("f"));
    assert.deepEqual(await pageOf(engine, undefined, 9), { ids: ["a", "b", "c"], isLast: false });
    assert.deepEqual(await pageOf(engine, "c", 9), { ids: ["d", "e"], isLast: false });
    assert.deepEqual(await pageOf(engine, "d", 9), { ids: ["e"], isLast: false });
    assert.deepEqual(await pageOf(engine, "e", 9), { ids: ["f"], isLast: true });
  });
});

Deno.test("the schedules of an erased stream are looked through by their whole bytes", async () => {
  await withTemporaryEngine(async (engine) => {
    const records = ["a", "b", "c", "d", "e", "f"].map((id) => sizedRecord(id, 110_000));
    await store(engine, ...records);
    const erased: ErasedStream = {
      tenant: TENANT,
      stream: streamKey("order", "global"),
      length: 1,
      generation: 1,
      tombstoneId: "t",
      erasedMs: 2_000,
    };
    const left: number[] = [];
    let after: Bytes | undefined;
    do {
      const from = after;
      after = await engine.transact((tx) => removeStreamSchedules(tx, erased, from));
      left.push((await pageOf(engine, undefined, 9)).ids.length);
    } while (after !== undefined);
    assert.deepEqual(left, [3, 0, 0]);
  });
});

function roomFor(records: number, bytes = 10_000) {
  return { records, bytes };
}

Deno.test("findCancelled() knows only rules of that stream and type, up to its limit", async () => {
  await withTemporaryEngine(async (engine) => {
    await store(engine, ...["a", "b", "c"].map((id) => recordOf(id)));
    const count = async (rule: typeof PAID, limit: number) =>
      (await engine.snapshot((tx) => findCancelled(tx, TENANT, rule, roomFor(limit))))?.length;
    assert.equal(await count(PAID, 3), 3);
    assert.equal(await count(PAID, 2), undefined);
    assert.equal(await count({ ...PAID, eventType: "was_pai" }, 10), 0);
    assert.equal(await count({ ...PAID, key: streamKey("order", "globa") }, 10), 0);
  });
});

Deno.test("findCancelled() finds large records as long as there is room for their bytes", async () => {
  await withTemporaryEngine(async (engine) => {
    await store(engine, sizedRecord("a", 110_000), sizedRecord("b", 110_000), recordOf("c"));
    const find = (room: CancelRoom) =>
      engine.snapshot((tx) => findCancelled(tx, TENANT, PAID, room));
    const room = roomFor(10, 250_000);
    assert.deepEqual((await find(room))?.map(({ id }) => id), ["a", "b", "c"]);
    const taken = 250_000 - room.bytes;
    assert.ok(taken > 220_000 && taken < 222_000, `${taken} bytes`);
    assert.equal(await find(room), undefined);
    assert.deepEqual(
      room,
      { records: 7, bytes: 250_000 - taken },
      "what is not read takes no room",
    );
  });
});

Deno.test("moveCancelMark() cancels all records of a rule made before, and none made after", async () => {
  await withTemporaryEngine(async (engine) => {
    await store(engine, recordOf("a"), recordOf("b", { cancelOn: [] }));
    await engine.transact((tx) => Promise.resolve(moveCancelMark(tx, TENANT, PAID, 1)));
    const mark = await engine.snapshot((tx) => readCancelMark(tx, TENANT, PAID));
    assert.equal(mark, 1);
    const later = recordOf("c", { cancelOn: [{ ...PAID, mark }] });
    await store(engine, later);
    const records = [recordOf("a"), recordOf("b", { cancelOn: [] }), later];
    const cancelled = await engine.snapshot((tx) =>
      Promise.all(records.map((record) => isCancelled(tx, TENANT, record)))
    );
    assert.deepEqual(cancelled, [true, false, false]);
    const found = await engine.snapshot((tx) => findCancelled(tx, TENANT, PAID, roomFor(10)));
    assert.deepEqual(found?.map(({ id }) => id), ["c"]);
  });
});

Deno.test("moveCancelMark() clears no rules: each record clears its own when it ends", async () => {
  await withTemporaryEngine(async (engine) => {
    const records = ["a", "b", "c"].map((id) => recordOf(id));
    await store(engine, ...records);
    const rules = () =>
      engine.snapshot(async (tx) => {
        const range = keys.cancelRules(TENANT, PAID.key, PAID.eventType);
        return (await tx.getRange(range)).length;
      });
    await engine.transact((tx) => {
      const uncleared = new Proxy(tx, {
        get: (target, name) => {
          assert.notEqual(name, "clearRange");
          const member = Reflect.get(target, name);
          return typeof member === "function" ? member.bind(target) : member;
        },
      });
      return Promise.resolve(moveCancelMark(uncleared, TENANT, PAID, 1));
    });
    assert.equal(await rules(), 3);
    const room = roomFor(10);
    assert.deepEqual(await engine.snapshot((tx) => findCancelled(tx, TENANT, PAID, room)), []);
    assert.equal(room.records, 7, "they are read, and take room");
    for (const record of records) {
      await engine.transact((tx) => Promise.resolve(removeSchedule(tx, TENANT, record, END)));
    }
    assert.equal(await rules(), 0);
  });
});

Deno.test("firing and cancelling at once: the record guards, one of them finds it gone", async () => {
  await withTemporaryEngine(async (engine) => {
    await store(engine, recordOf("a"));
    const results = await Promise.all([1, 2].map(() =>
      engine.transact(async (tx) => {
        const record = await readSchedule(tx, TENANT, "a");
        if (record !== undefined) removeSchedule(tx, TENANT, record, END);
        return record !== undefined;
      })
    ));
    assert.deepEqual(results.toSorted(), [false, true]);
  });
});

Deno.test("ruleName() tells rules apart", () => {
  const names = [["order:a", "b"], ["order:a:b", "b"], ["order:a", "b_b"]] as const;
  const made = names.map(([key, type]) => ruleName(streamKey("order", key.slice(6)), type));
  assert.equal(new Set(made).size, names.length);
});
