/**
 * Writes that share a transaction see each other's effects in the order of the writes. A
 * scheduled event that one of them cancels is not fired by another.
 */

import assert from "node:assert/strict";
import { appendWrites } from "../../../src/features/writes/append_writes.ts";
import { scheduleCause } from "../../../src/features/work/fire_schedule.ts";
import { prepareEmissionSteps } from "../../../src/features/writes/prepare_write.ts";
import type {
  Cause,
  PreparedReactions,
  PreparedWrite,
} from "../../../src/features/writes/prepared_write.ts";
import { limits } from "../../../src/domain/limits.ts";
import { encodeEvent } from "../../../src/domain/event.ts";
import type { Emission } from "../../../src/domain/reaction/action.ts";
import { compileSpec } from "../../../src/domain/spec/compile.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import type { Bytes, Engine, KeyRange } from "../../../src/kv/engine.ts";
import { keys } from "../../../src/store/keys.ts";
import {
  isCancelled,
  listSchedules,
  moveCancelMark,
  readCancelMark,
  type ScheduleRecord,
  storeSchedule,
} from "../../../src/store/reactions/schedules.ts";
import { setEpoch } from "../../../src/store/streams/audit_cuts.ts";
import { readHead } from "../../../src/store/streams/streams.ts";
import {
  NOTHING_WATCHED,
  openWatchedTypes,
  watchTypes,
} from "../../../src/store/reactions/watched_types.ts";
import { runAtOnce } from "../../../src/domain/fairness/pieces.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { hourOf, rootOf } from "../../../src/domain/reaction/root.ts";
import { readRecurring } from "../../../src/store/reactions/roots.ts";
import { reactiveSpec } from "../../support/reactive_spec.ts";
import { uuid, valueOf } from "../../support/service_fixture.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const TENANT = 1;
const host = fakeHost();
const compiled = compileSpec(reactiveSpec);
assert.ok(compiled.ok);
const { spec } = compiled;
const RULE = { key: streamKey("order", "global"), eventType: "was_called_off" };

function emissionOf(id: string, eventType: string): Emission {
  return { key: streamKey("order", id), aggregateType: "order", id, eventType, data: {} };
}

function prepared(emission: Emission, cause?: Cause): PreparedWrite {
  const stamp = { actor: { type: "user", id: "global" } };
  const root = rootOf(undefined, emission.key, "000000000000");
  const request = { emission, stamp, requestId: "r", cause, root };
  const made = runAtOnce(
    prepareEmissionSteps(host, spec, request, { nowMs: host.timeMs, ownWaitMs: 1_000 }),
  );
  assert.ok(made.ok);
  return made.write;
}

function recordOf(n: number): ScheduleRecord {
  return {
    id: uuid(n),
    emission: emissionOf(uuid(n), "was_reminded"),
    cancelOn: [{ ...RULE, mark: 0 }],
    createdMs: 0,
    fireAtMs: 0,
    by: { key: "order:global", eventType: "was_promised", streamId: "000000000000" },
    requestId: "r",
    tries: 0,
    timerMs: 0,
  };
}

async function storeAll(engine: Engine, records: readonly ScheduleRecord[]): Promise<void> {
  await engine.transact((tx) => {
    for (const record of records) storeSchedule(tx, TENANT, record);
    watchTypes(tx, TENANT, NOTHING_WATCHED, { cancels: ["order.was_called_off"] });
    return Promise.resolve();
  });
}

function cancelling(): PreparedWrite {
  return prepared(emissionOf("global", "was_called_off"));
}

function firing(n: number): PreparedWrite {
  const record = recordOf(n);
  return prepared(record.emission, scheduleCause(TENANT, record, host.timeMs));
}

async function append(engine: Engine, writes: readonly PreparedWrite[]): Promise<boolean[]> {
  const outcomes = await engine.transact((tx) =>
    appendWrites(tx, TENANT, writes, openWatchedTypes())
  );
  return outcomes.map((outcome) => valueOf(outcome).targets.length > 0);
}

function lengthOf(engine: Engine, id: string): Promise<number> {
  const stream = streamKey("order", id);
  return engine.snapshot((tx) => readHead(tx, TENANT, stream)).then(({ length }) => length);
}

for (const count of [3, limits.cancelledOneByOneMax + 5]) {
  const how = count > limits.cancelledOneByOneMax ? "all at once" : "one by one";
  Deno.test(`what a write cancels ${how} does not fire after it in the same transaction`, async () => {
    await withTemporaryEngine(async (engine) => {
      await storeAll(engine, Array.from({ length: count }, (_, n) => recordOf(n)));
      const writes = [firing(0), cancelling(), firing(1), firing(count - 1)];
      assert.deepEqual(await append(engine, writes), [true, true, false, false]);
      const lengths = await Promise.all([0, 1, count - 1].map((n) => lengthOf(engine, uuid(n))));
      assert.deepEqual(lengths, [1, 0, 0]);
    });
  });
}

Deno.test("one cause has one effect, also when two writes of a transaction have it", async () => {
  await withTemporaryEngine(async (engine) => {
    await storeAll(engine, [recordOf(0)]);
    assert.deepEqual(await append(engine, [firing(0), firing(0)]), [true, false]);
    assert.equal(await lengthOf(engine, uuid(0)), 1);
    assert.deepEqual(await append(engine, [firing(0)]), [false]);
    const left = await engine.snapshot((tx) => listSchedules(tx, TENANT, { limit: 10 }));
    assert.deepEqual(left, { records: [], isLast: true });
  });
});

Deno.test("what a recurring timer fires counts into its hour", async () => {
  await withTemporaryEngine(async (engine) => {
    const record: ScheduleRecord = { ...recordOf(0), root: { isRecurring: true } };
    await storeAll(engine, [record]);
    const write = prepared(record.emission, scheduleCause(TENANT, record, host.timeMs));
    assert.deepEqual(await append(engine, [write]), [true]);
    const count = await engine.snapshot((tx) => readRecurring(tx, TENANT, hourOf(host.timeMs)));
    assert.equal(count, 1);
  });
});

Deno.test("what is scheduled behind more cancelled events than there is room for is cancelled too", async () => {
  await withTemporaryEngine(async (engine) => {
    const many = limits.cancelledOneByOneMax + 5;
    await storeAll(engine, Array.from({ length: many }, (_, n) => recordOf(n)));
    await append(engine, [cancelling()]);
    const mark = () => engine.snapshot((tx) => readCancelMark(tx, TENANT, RULE));
    assert.equal(await mark(), 1);
    const later = { ...recordOf(many), cancelOn: [{ ...RULE, mark: 1 }] };
    await storeAll(engine, [later]);
    await append(engine, [cancelling()]);
    assert.equal(await mark(), 2);
    assert.ok(await engine.snapshot((tx) => isCancelled(tx, TENANT, later)));
  });
});

Deno.test("the types that a transaction begins to wait for are stored once, and cancel within it", async () => {
  await withTemporaryEngine(async (engine) => {
    const schedules = Array.from({ length: 500 }, (_, n): ScheduleRecord => ({
      ...recordOf(n),
      cancelOn: [{ key: RULE.key, eventType: n === 7 ? RULE.eventType : `was_${n}`, mark: 0 }],
    }));
    const scheduling = withSchedules(schedules);
    let stored = 0;
    const outcomes = await engine.transact((tx) => {
      const counting = new Proxy(tx, {
        get: (target, name) => {
          const member = Reflect.get(target, name);
          if (typeof member !== "function") return member;
          return (...args: unknown[]) => {
            const isHash = (args[0] as Bytes).toHex?.() === keys.watchedTypesHash(TENANT).toHex();
            if (name === "set" && isHash) stored++;
            return member.apply(target, args);
          };
        },
      });
      const writes = [scheduling, cancelling(), scheduling];
      return appendWrites(counting, TENANT, writes, openWatchedTypes());
    });
    assert.equal(outcomes.length, 3);
    assert.equal(stored, 1);
    const { cancels } = await engine.snapshot((tx) => openWatchedTypes().read(tx, TENANT));
    assert.equal(cancels.size, 500);
  });
});

Deno.test("a scheduled event that a mark has cancelled does not fire", async () => {
  await withTemporaryEngine(async (engine) => {
    await storeAll(engine, [recordOf(0)]);
    await engine.transact((tx) => Promise.resolve(moveCancelMark(tx, TENANT, RULE, 1)));
    assert.deepEqual(await append(engine, [firing(0)]), [false]);
  });
});

/**
 * Appends, and runs `other` between the append's reads and its commit; returns how often it
 * ran.
 */
async function appendBeside(
  engine: Engine,
  writes: readonly PreparedWrite[],
  other: () => Promise<void>,
): Promise<{ runs: number; isReplayed: boolean }> {
  let runs = 0;
  const outcomes = await engine.transact(async (tx) => {
    const appended = await appendWrites(tx, TENANT, writes, openWatchedTypes());
    if (++runs === 1) await other();
    return appended;
  });
  return { runs, isReplayed: valueOf(outcomes[0]!).replayed };
}

Deno.test("a write beside which a cut ends the epoch is behind the cut", async () => {
  await withTemporaryEngine(async (engine) => {
    const cut = () => engine.transact((tx) => Promise.resolve(setEpoch(tx, TENANT, 1)));
    const write = prepared(emissionOf("global", "was_paid"));
    assert.equal((await appendBeside(engine, [write], cut)).runs, 2);
    const { epoch } = await engine.snapshot((tx) => readHead(tx, TENANT, write.targets[0]!.key));
    assert.equal(epoch, 1);
  });
});

Deno.test("a key that another process records at the same moment, for another stream, is answered from the ledger", async () => {
  await withTemporaryEngine(async (engine) => {
    const idempotency = { key: "k-1", bodyHash: "aa".repeat(32) };
    const write = (id: string) => ({ ...prepared(emissionOf(id, "was_paid")), idempotency });
    const other = async () => void await append(engine, [write(uuid(1))]);
    const { runs, isReplayed } = await appendBeside(engine, [write(uuid(2))], other);
    assert.deepEqual([runs, isReplayed], [2, true]);
    assert.equal(await lengthOf(engine, uuid(2)), 0);
  });
});

Deno.test("a write without reactions, where nothing is watched, stores nothing beside itself", async () => {
  await withTemporaryEngine(async (engine) => {
    const keysOf = async () => {
      const range = { begin: Uint8Array.of(0), end: Uint8Array.of(0xfe) };
      return (await engine.snapshot((tx) => tx.getRange(range))).length;
    };
    await append(engine, [prepared(emissionOf("global", "was_paid"))]);
    const kept = "its head with the event, its place in the listing and in the commit log, the " +
      "events of the month";
    assert.equal(await keysOf(), 4, kept);
  });
});

function isWithin(key: Bytes, { begin, end }: KeyRange): boolean {
  return key.toHex() >= begin.toHex() && key.toHex() < end.toHex();
}

/** Turns under a clock of which each look takes a millisecond; `onTurn` runs in each turn. */
function turnsThat(onTurn: () => Promise<void>) {
  let nowMs = 0;
  return { monotonicMs: () => nowMs++, yieldTurn: onTurn };
}

/** From here on, FoundationDB has markers of commits with the time in them. */
const MARKERS = new Uint8Array([0xfe]);

const LONG_WRITES = [
  { what: "many events", writes: () => [withEvents(5_000, 100)] },
  { what: "many events behind another", writes: () => [cancelling(), withEvents(5_000, 100)] },
  { what: "large events", writes: () => [withEvents(10, 50_000)] },
  { what: "events of many streams, few of each", writes: () => [withStreams(10, 40, 1_000)] },
  { what: "many implied events", writes: () => [withReactions({ entries: 2_000 })] },
  { what: "many scheduled events", writes: () => [withReactions({ schedules: 2_000 })] },
  {
    what: "large scheduled events",
    writes: () => [withReactions({ schedules: 40, bytes: 60_000 })],
  },
  {
    what: "implied and scheduled events behind another",
    writes: () => [cancelling(), withReactions({ entries: 700, schedules: 700 })],
  },
];

/** A write of one event that schedules others. */
function withSchedules(schedules: readonly ScheduleRecord[]): PreparedWrite {
  return withOwn({ entries: [], schedules: schedules.map((each) => ({ ...each, bytes: 1_000 })) });
}

/** A write of one event that sets off so many others. */
function withReactions({ entries = 0, schedules = 0, bytes = 1_000 }): PreparedWrite {
  const own: PreparedReactions = {
    entries: Array.from({ length: entries }, (_, n) => {
      const emission = emissionOf(uuid(n), "was_paid");
      const actor = { type: "user", id: "global" };
      const by = { actor, eventType: "was_paid", depth: 1, requestId: "r" };
      return { entry: { kind: "emit", emission, ...by }, sinceMs: 0, waitMs: 0, tries: 0 };
    }),
    schedules: Array.from({ length: schedules }, (_, n) => ({ ...recordOf(n), bytes })),
  };
  return withOwn(own);
}

function withOwn(own: PreparedReactions): PreparedWrite {
  const write = prepared(emissionOf("global", "was_paid"));
  const [target] = write.targets;
  return { ...write, targets: [{ ...target!, reactions: new Map([[0, own]]) }] };
}

function withEvents(count: number, bytes: number): PreparedWrite {
  const write = cancelling();
  const [target] = write.targets;
  const event = encodeEvent({
    key: RULE.key,
    type: "was_noted",
    dataJson: JSON.stringify("a".repeat(bytes)),
    metadataJson: "{}",
  });
  const targets = [{ ...target!, events: Array(count).fill(event) }];
  return { ...write, targets, bytes: count * event.bytes };
}

/** One write of so many events to each of several streams. */
function withStreams(streams: number, count: number, bytes: number): PreparedWrite {
  const write = withEvents(count, bytes);
  const [target] = write.targets;
  const keyOf = (n: number) => streamKey("order", uuid(n));
  const targets = Array.from({ length: streams }, (_, n) => ({ ...target!, key: keyOf(n) }));
  return { ...write, targets, bytes: streams * write.bytes };
}

for (const { what, writes } of LONG_WRITES) {
  Deno.test(`a write of ${what} lets others run within its transaction, and is whole`, async () => {
    const [atOnce, paused] = await Promise.all(
      [undefined, "turns"].map((how) =>
        withTemporaryEngine(async (engine) => {
          let turns = 0;
          const nothing = () => Promise.resolve(void turns++);
          const options = how === undefined ? {} : { turns: turnsThat(nothing) };
          await engine.transact((tx) =>
            appendWrites(tx, TENANT, writes(), openWatchedTypes(), options)
          );
          const pairs = await engine.snapshot((tx) =>
            tx.getRange({ begin: new Uint8Array([0]), end: MARKERS })
          );
          // The stamps in the keys of the commit log are each store's own.
          const log = keys.commitLog(TENANT);
          const stored = pairs.map(({ key, value }) =>
            isWithin(key, log) ? { key: log.begin, value } : { key, value }
          );
          return { stored, turns };
        })
      ),
    );
    assert.equal(atOnce!.turns, 0);
    assert.ok(paused!.turns > 1);
    assert.deepEqual(paused!.stored, atOnce!.stored);
  });
}

Deno.test("a write to the stream in a pause of a long one runs the long one again, behind it", async () => {
  await withTemporaryEngine(async (engine) => {
    let isFirst = true;
    const beside = async () => {
      if (!isFirst) return;
      isFirst = false;
      await append(engine, [cancelling()]);
    };
    const outcomes = await engine.transact((tx) =>
      appendWrites(tx, TENANT, [withEvents(2_000, 100)], openWatchedTypes(), {
        turns: turnsThat(beside),
      })
    );
    assert.deepEqual(valueOf(outcomes[0]!).targets, [{ key: RULE.key, first: 1, count: 2_000 }]);
    assert.equal(await lengthOf(engine, "global"), 2_001);
  });
});
