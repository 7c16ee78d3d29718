/** How much of each kind is pending, and up to which limits that is counted. */

import assert from "node:assert/strict";
import { streamKey } from "../../../src/domain/identifier.ts";
import type { SagaState } from "../../../src/domain/saga/instance.ts";
import { countReactions } from "../../../src/features/reactions/count_reactions.ts";
import type { Engine, Transaction } from "../../../src/kv/engine.ts";
import { encodeDelivery, putDelivery } from "../../../src/store/listeners/deliveries.ts";
import { encodeEntry } from "../../../src/store/reactions/entry_bytes.ts";
import { putEntry } from "../../../src/store/reactions/outbox.ts";
import { encodeSchedule, storeSchedule } from "../../../src/store/reactions/schedules.ts";
import { saveSaga } from "../../../src/store/sagas/sagas.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { charactersParsedIn } from "../../support/parsed_json.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const TENANT = 6;
const KEY = streamKey("order", "global");
const NONE = { count: 0, bytes: 0, is_more: false };

function emissionOf(characters: number) {
  const data = { text: "x".repeat(characters) };
  return { key: KEY, aggregateType: "order", id: "global", eventType: "was_met", data };
}

async function store(engine: Engine, put: (tx: Transaction) => void): Promise<void> {
  await engine.transact((tx) => Promise.resolve(put(tx)));
}

function scheduleOf(number: number, characters: number, createdMs: number) {
  return {
    id: String(number).padStart(4, "0"),
    emission: emissionOf(characters),
    cancelOn: [],
    createdMs,
    fireAtMs: 9,
    requestId: "r",
    tries: 0,
    timerMs: 9,
    by: { key: KEY, eventType: "was_placed", streamId: "000000000000" },
  };
}

function sagaOf(id: string, state: SagaState, startedAt: number) {
  const trigger = { key: KEY, event_type: "was_placed", stream_id: "000000000000" };
  const metadata = { actor: { type: "user", id: "global" }, timestamp: 9 };
  const triggerEvent = { key: KEY, type: "was_placed", data: {}, metadata };
  const times = { startedAt, updatedAt: 9 };
  const lists = { completed: [], history: [] };
  const instance = { id, name: "a", definition: "d", state, trigger, triggerEvent };
  return { instance: { ...instance, ...times, ...lists }, depth: 1, requestId: "r" };
}

function entryOf(kind: "emit" | "sagas", sinceMs: number) {
  const shared = { eventType: "was_placed", requestId: "r" };
  const actor = { type: "user", id: "global" } as const;
  const entry = kind === "sagas"
    ? { kind, ...shared }
    : { kind, emission: emissionOf(10), actor, depth: 1, ...shared };
  return encodeEntry({ entry, sinceMs, waitMs: 0, tries: 0 });
}

Deno.test("nothing that is pending is counted as nothing", async () => {
  await withTemporaryEngine(async (engine) => {
    const none = { implied: NONE, scheduled: NONE, saga: NONE, delivery: NONE, oldest: null };
    assert.deepEqual(await countReactions(engine, fakeHost(), TENANT), none);
  });
});

Deno.test("each kind is counted once, with its bytes as stored and the time of the oldest", async () => {
  await withTemporaryEngine(async (engine) => {
    const [emit, sagas] = [entryOf("emit", 7_000), entryOf("sagas", 6_000)];
    const record = scheduleOf(1, 10, 5_000);
    const lane = { tenant: TENANT, listener: "home", stream: KEY };
    const delivery = encodeDelivery({ text: "é" } as never);
    await store(engine, (tx) => {
      for (const tenant of [TENANT, TENANT + 1]) {
        putEntry(tx, { tenant, stream: KEY, index: 0, number: 0 }, emit);
      }
      putEntry(tx, { tenant: TENANT, stream: KEY, index: 0, number: 1 }, sagas);
      storeSchedule(tx, TENANT, record);
      saveSaga(tx, TENANT, undefined, sagaOf("s1", "running", 4));
      saveSaga(tx, TENANT, undefined, sagaOf("s2", "compensating", 8));
      saveSaga(tx, TENANT, undefined, sagaOf("s3", "completed", 1));
      putDelivery(tx, lane, 0, delivery);
    });
    const { saga, ...rest } = await countReactions(engine, fakeHost(), TENANT);
    assert.deepEqual(rest, {
      implied: { count: 1, bytes: emit.length, is_more: false },
      scheduled: { count: 1, bytes: encodeSchedule(record).length, is_more: false },
      delivery: { count: 1, bytes: delivery.length, is_more: false },
      oldest: "1970-01-01T00:00:04.000Z",
    });
    assert.deepEqual([saga.count, saga.is_more], [3, false]);
  });
});

for (const [count, isMore] of [[2_000, false], [2_001, true]] as const) {
  Deno.test(`of ${count} deliveries 2,000 are counted, and is_more is ${isMore}`, async () => {
    await withTemporaryEngine(async (engine) => {
      const lane = { tenant: TENANT, listener: "home", stream: KEY };
      await store(engine, (tx) => {
        for (let at = 0; at < count; at++) putDelivery(tx, lane, at, encodeDelivery({} as never));
      });
      const { delivery } = await countReactions(engine, fakeHost(), TENANT);
      assert.deepEqual(delivery, { count: 2_000, bytes: 4_000, is_more: isMore });
    });
  });
}

Deno.test("scheduled events are counted without decoding them, up to 16 megabytes", async () => {
  await withTemporaryEngine(async (engine) => {
    for (let at = 0; at < 20; at++) {
      await store(engine, (tx) => storeSchedule(tx, TENANT, scheduleOf(at, 1_000_000, 1_000 + at)));
    }
    const { monotonicMs, yieldTurn } = fakeHost();
    let [nowMs, turns] = [monotonicMs(), 0];
    const host = Object.assign(fakeHost(), {
      monotonicMs: () => nowMs += 5,
      yieldTurn() {
        turns++;
        return yieldTurn();
      },
    });
    let counted: unknown;
    const parsed = await charactersParsedIn(async () => {
      const { scheduled, oldest } = await countReactions(engine, host, TENANT);
      counted = [scheduled.count, scheduled.is_more, oldest];
    });
    assert.deepEqual(counted, [17, true, "1970-01-01T00:00:01.000Z"]);
    assert.ok(parsed < 1_000, `${parsed} characters`);
    assert.ok(turns >= 17, `${turns} turns`);
  });
});
