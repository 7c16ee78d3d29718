/**
 * Environments share the work queues fairly. What one environment has piled up, or what keeps
 * failing there, delays another's work by a few rounds of the workers, not by all of it.
 */

import assert from "node:assert/strict";
import { OUTBOX_TURN, TIMER_WINDOW } from "../../../src/domain/fairness/fair_share.ts";
import type { OutboxEntry } from "../../../src/domain/reaction/outbox_entry.ts";
import { type StreamKey, streamKey } from "../../../src/domain/identifier.ts";
import { QUEUE_SHARDS } from "../../../src/domain/fairness/work_share.ts";
import type { Engine, Transaction } from "../../../src/kv/engine.ts";
import { listOutboxTurn, outboxShard, putEntry } from "../../../src/store/reactions/outbox.ts";
import { encodeEntry } from "../../../src/store/reactions/entry_bytes.ts";
import { storeSchedule } from "../../../src/store/reactions/schedules.ts";
import { eventsOf, reactiveSpec } from "../../support/reactive_spec.ts";
import { ACTOR, type ServiceFixture, uuid, withService } from "../../support/service_fixture.ts";

const options = { spec: reactiveSpec };
const PILE = 24_000;
/** The limit that the worker's loop uses. */
const LIMIT = 100;
const PUT_AT_A_TIME = 2_000;

async function pileUp(engine: Engine, put: (tx: Transaction, number: number) => void) {
  for (let first = 0; first < PILE; first += PUT_AT_A_TIME) {
    await engine.transact((tx) => {
      for (let number = first; number < first + PUT_AT_A_TIME; number++) put(tx, number);
      return Promise.resolve();
    });
  }
}

function noteIn(id: string) {
  const key = streamKey("ledger", id);
  return { key, aggregateType: "ledger", id, eventType: "was_noted", data: {} };
}

function emitEntry(id: string): OutboxEntry {
  const trigger = { actor: ACTOR, eventType: "was_placed", depth: 1, requestId: "request-1" };
  return { kind: "emit", emission: noteIn(id), ...trigger };
}

interface OutboxTimes {
  readonly sinceMs: number;
  readonly waitMs?: number;
}

function putOutbox(
  tx: Transaction,
  tenant: number,
  stream: StreamKey,
  { sinceMs, waitMs = 0 }: OutboxTimes,
) {
  const place = { tenant, stream, index: 0, number: 0 };
  const id = stream.slice("order:".length);
  putEntry(tx, place, encodeEntry({ entry: emitEntry(id), sinceMs, waitMs, tries: 0 }));
}

/** Rounds of `drain` until the ledger of that id has its event, at most `max`. */
async function roundsUntilNoted(
  { service, tenants: { test } }: ServiceFixture,
  id: string,
  max: number,
  drain: (limit: number) => Promise<number>,
): Promise<number> {
  for (let round = 1; round <= max; round++) {
    await drain(LIMIT);
    if ((await eventsOf(service, test, "ledger", id)).length > 0) return round;
  }
  return Infinity;
}

/** A stream of `tenant` that waits behind those of tenants with a lower number. */
function streamIn(tenant: number, shard: number): { stream: StreamKey; id: string } {
  for (let number = PILE;; number++) {
    const stream = streamKey("order", uuid(number));
    if (outboxShard({ tenant, stream, index: 0, number: 0 }) === shard) {
      return { stream, id: uuid(number) };
    }
  }
}

Deno.test("an entry is done in the first round while another environment has thousands before it", async () => {
  await withService(async (fixture) => {
    const { service, engine, host, tenants: { production, test } } = fixture;
    assert.ok(production.number < test.number, "in the order of keys it comes last");
    await pileUp(engine, (tx, number) => {
      putOutbox(tx, production.number, streamKey("order", uuid(number)), { sinceMs: host.timeMs });
    });
    const { stream, id } = streamIn(test.number, 3);
    await engine.transact((tx) =>
      Promise.resolve(putOutbox(tx, test.number, stream, { sinceMs: host.timeMs }))
    );
    const { drainOutbox } = service.background;
    assert.equal(await roundsUntilNoted(fixture, id, 5, drainOutbox), 1);
    assert.equal(await drainOutbox(LIMIT), LIMIT * QUEUE_SHARDS.outbox, "the others go on as fast");
  }, options);
});

Deno.test("an entry is done in the first round while another environment's wait for another try", async () => {
  await withService(async (fixture) => {
    const { service, engine, host, tenants: { production, test } } = fixture;
    await pileUp(engine, (tx, number) => {
      const stream = streamKey("order", uuid(number));
      putOutbox(tx, production.number, stream, { sinceMs: host.timeMs, waitMs: 60_000 });
    });
    const { stream, id } = streamIn(test.number, 9);
    await engine.transact((tx) =>
      Promise.resolve(putOutbox(tx, test.number, stream, { sinceMs: host.timeMs }))
    );
    assert.equal(await roundsUntilNoted(fixture, id, 5, service.background.drainOutbox), 1);
  }, options);
});

Deno.test("each of many environments has its turn: the delay grows by their number, not by their entries", async () => {
  await withService(async ({ engine, tenants: { test } }) => {
    const tenants = Array.from({ length: 40 }, (_, number) => test.number + 1 + number);
    const shard = 5;
    await engine.transact((tx) => {
      for (const tenant of tenants) {
        const { stream } = streamIn(tenant, shard);
        for (let index = 0; index < 3 * OUTBOX_TURN.each; index++) {
          const id = stream.slice("order:".length);
          const value = encodeEntry({ entry: emitEntry(id), sinceMs: 0, waitMs: 0, tries: 0 });
          putEntry(tx, { tenant, stream, index, number: 0 }, value);
        }
      }
      return Promise.resolve();
    });
    const seen: number[] = [];
    let after = 0;
    for (let round = 0; round < tenants.length / OUTBOX_TURN.reads; round++) {
      const turn = await engine.snapshot((tx) => listOutboxTurn(tx, shard, after, OUTBOX_TURN));
      seen.push(...turn.works.map(({ place }) => place.tenant));
      after = turn.after;
    }
    const each = tenants.flatMap((tenant) => Array<number>(OUTBOX_TURN.each).fill(tenant));
    assert.deepEqual(seen, each);
    const end = await engine.snapshot((tx) => listOutboxTurn(tx, shard, after, OUTBOX_TURN));
    assert.deepEqual(end, { works: [], after: 0 }, "and then it begins anew");
  }, options);
});

interface TimerTimes {
  readonly id: string;
  readonly nowMs: number;
  readonly agoMs: number;
}

/** One scheduled event of the ledger of `id`, due `agoMs` ago. */
function putTimer(tx: Transaction, tenant: number, { id, nowMs, agoMs }: TimerTimes) {
  const fireAtMs = nowMs - agoMs;
  storeSchedule(tx, tenant, {
    id,
    emission: noteIn(id),
    cancelOn: [],
    createdMs: fireAtMs - 1_000,
    fireAtMs,
    by: { key: `order:${id}`, eventType: "was_promised", streamId: "000000000000" },
    requestId: "request-1",
    tries: 0,
    timerMs: fireAtMs,
  });
}

Deno.test("a timer fires within a few rounds while another environment has thousands overdue", async () => {
  await withService(async (fixture) => {
    const { service, engine, host, tenants: { production, test } } = fixture;
    const nowMs = host.timeMs;
    await pileUp(engine, (tx, number) => {
      putTimer(tx, production.number, { id: uuid(number), nowMs, agoMs: 10_000 + number });
    });
    const id = uuid(PILE + 1);
    await engine.transact((tx) =>
      Promise.resolve(putTimer(tx, test.number, { id, nowMs, agoMs: 0 }))
    );
    const { drainTimers } = service.background;
    const rounds = await roundsUntilNoted(fixture, id, 10, drainTimers);
    // Each shard has about equally many, and each round takes one window.
    const bound = Math.ceil(1.25 * PILE / QUEUE_SHARDS.timer / TIMER_WINDOW);
    assert.ok(rounds <= bound, `${rounds} rounds, ${bound} at most`);
    assert.ok(await drainTimers(LIMIT) >= LIMIT, "the others go on as fast");
  }, options);
});

Deno.test("overdue timers of one environment fire in the order of their time", async () => {
  await withService(async ({ service, engine, host, tenants: { test } }) => {
    const nowMs = host.timeMs;
    await pileUp(engine, (tx, number) => {
      putTimer(tx, test.number, { id: uuid(number), nowMs, agoMs: 10_000 + number });
    });
    await service.background.drainTimers(LIMIT);
    const isFired = async (number: number) =>
      (await eventsOf(service, test, "ledger", uuid(number))).length === 1;
    assert.equal(await isFired(PILE - 1), true, "the oldest");
    assert.equal(await isFired(0), false, "the latest");
  }, options);
});
