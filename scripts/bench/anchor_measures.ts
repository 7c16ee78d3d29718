/**
 * `deno task bench -- --audit`: measures anchors and bundles of large environments. It runs in
 * process: the service and its embedded store, without HTTP. Streams are put into the store as
 * writes would leave them.
 */

import process from "node:process";
import type { Tenant } from "../../src/domain/tenant.ts";
import { encodeEvent, encodeMetadata } from "../../src/domain/event.ts";
import { streamKey } from "../../src/domain/identifier.ts";
import { readEpoch } from "../../src/store/streams/audit_cuts.ts";
import { indexAggregate } from "../../src/store/streams/aggregates.ts";
import { openStreams } from "../../src/store/streams/streams.ts";
import {
  noteWrite,
  type ServiceFixture,
  valueOf,
  withService,
} from "../../tests/support/service_fixture.ts";
import { systemHost } from "../../src/host.ts";
import { percentiles } from "./load.ts";
import type { Row } from "./table.ts";

const STREAMS = 100_000;
const STREAMS_MANY = 1_000_000;
const NEW_EVENTS = 1_000;
const NEW_STREAMS = 100;
const TURNS = 5;
const BUNDLES = 2_000;
const WRITERS = 64;
const SHARE_MS = 4_000;
const STREAMS_PER_TRANSACTION = 1_000;
/** Unix seconds. */
const TIMESTAMP = 1_767_225_600;
/** The real clock, because work that shares the thread with others measures time. */
const REAL_HOST = (({ monotonicMs, startTimer, yieldTurn }) => ({
  monotonicMs,
  startTimer,
  yieldTurn,
}))(systemHost());
const METADATA = encodeMetadata({
  actor: { type: "user", id: "global" },
  timestamp: TIMESTAMP,
});

export async function measureAnchors(isQuick: boolean, add: (row: Row) => void): Promise<void> {
  await withService(async (fixture) => {
    await fill(fixture, STREAMS);
    await measureFirst(fixture, STREAMS, add);
    await measureNext(fixture, add);
    await measureNew(fixture, add);
    await measureBundleLatency(fixture, add);
    await measureShare(fixture, add);
  }, { realHost: REAL_HOST });
  if (isQuick) return;
  await withService(async (fixture) => {
    await fill(fixture, STREAMS_MANY);
    await measureFirst(fixture, STREAMS_MANY, add);
    await measureNext(fixture, add, STREAMS_MANY);
  }, { realHost: REAL_HOST });
}

/** Ids in an order other than that of their numbers, unlike ids that begin with a time. */
function orderId(number: number): string {
  const mixed = Math.imul(number + 1, 0x9e3779b1) >>> 0;
  return `${mixed.toString(16).padStart(8, "0")}-0000-4000-8000-${
    number.toString(16).padStart(12, "0")
  }`;
}

/** Puts one event into each stream. */
async function fill({ engine, tenants: { test } }: ServiceFixture, count: number) {
  for (let from = 0; from < count; from += STREAMS_PER_TRANSACTION) {
    await engine.transact(async (tx) => {
      const epoch = await readEpoch(tx, test.number);
      for (let number = from; number < from + STREAMS_PER_TRANSACTION; number++) {
        const id = orderId(number);
        const stream = (await openStreams(tx, test.number, [streamKey("order", id)]))[0]!;
        const data = JSON.stringify({ text: `note ${number}` });
        const event = encodeEvent({
          key: stream.key,
          type: "was_noted",
          dataJson: data,
          metadataJson: METADATA,
        });
        stream.append([event], TIMESTAMP);
        stream.flush(epoch);
        indexAggregate(tx, test.number, "order", id);
      }
    });
  }
}

interface Anchored {
  readonly ms: number;
  /** Of all threads together. */
  readonly processorMs: number;
}

async function anchor({ service }: ServiceFixture, tenant: Tenant): Promise<Anchored> {
  const before = process.cpuUsage();
  const startedAt = performance.now();
  const { isNew } = await service.audit.makeAnchor(tenant);
  if (!isNew) throw new Error("there was nothing to anchor");
  const { user, system } = process.cpuUsage(before);
  return { ms: performance.now() - startedAt, processorMs: (user + system) / 1000 };
}

async function measureFirst(fixture: ServiceFixture, streams: number, add: (row: Row) => void) {
  const { ms, processorMs } = await anchor(fixture, fixture.tenants.test);
  add({
    name: `first anchor, ${streams.toLocaleString("en")} streams`,
    value: ms,
    unit: "ms",
    target: { below: 10_000 },
    note: `${processorMs.toFixed(0)} ms of processor time`,
  });
}

/**
 * The median of several anchors. Before each one, an event is written to every stream that
 * `numbersOf` names for that turn.
 */
async function middleAnchor(
  fixture: ServiceFixture,
  numbersOf: (turn: number) => readonly number[],
): Promise<Anchored> {
  const turns: Anchored[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    await Promise.all(numbersOf(turn).map((number) => write(fixture, number)));
    turns.push(await anchor(fixture, fixture.tenants.test));
  }
  return turns.sort((a, b) => a.ms - b.ms)[TURNS >> 1]!;
}

async function measureNext(fixture: ServiceFixture, add: (row: Row) => void, streams = STREAMS) {
  const { ms, processorMs } = await middleAnchor(
    fixture,
    (turn) => Array.from({ length: NEW_EVENTS }, (_, at) => (at * 97 + turn) % streams),
  );
  add({
    name: `anchor, ${streams.toLocaleString("en")} streams, 1,000 new events`,
    value: ms,
    unit: "ms",
    target: streams === STREAMS ? { below: 500 } : undefined,
    note: `${processorMs.toFixed(0)} ms of processor time; goal 100 ms`,
  });
}

/** The new streams come between the others, so half of the tree is hashed anew. */
async function measureNew(fixture: ServiceFixture, add: (row: Row) => void) {
  const { ms, processorMs } = await middleAnchor(
    fixture,
    (turn) => Array.from({ length: NEW_STREAMS }, (_, at) => STREAMS + turn * NEW_STREAMS + at),
  );
  add({
    name: "anchor, 100,000 streams, 100 new ones",
    value: ms,
    unit: "ms",
    note: `${processorMs.toFixed(0)} ms of processor time`,
  });
}

async function write({ service, tenants: { test } }: ServiceFixture, number: number) {
  valueOf(await service.data.writeEvents(test, noteWrite(orderId(number), "more")));
}

/** Attests events all over the environment, most of them in blocks that are not in memory. */
async function measureBundleLatency(
  { service, tenants: { test } }: ServiceFixture,
  add: (row: Row) => void,
) {
  const times: number[] = [];
  for (let number = 0; number < BUNDLES; number++) {
    const id = orderId((number * 7_919) % STREAMS);
    const startedAt = performance.now();
    valueOf(await service.audit.attest(test, { aggregateType: "order", id, index: "0" }));
    times.push(performance.now() - startedAt);
  }
  const latency = percentiles(times);
  add({
    name: "bundle, 100,000 streams, p99",
    value: latency.p99,
    unit: "ms",
    target: { below: 20 },
    latency,
  });
}

/** The number of writes while anchors are made one after the other, relative to writes alone. */
async function measureShare(fixture: ServiceFixture, add: (row: Row) => void) {
  let number = 0;
  async function writesIn(milliseconds: number): Promise<number> {
    const end = performance.now() + milliseconds;
    let writes = 0;
    await Promise.all(Array.from({ length: WRITERS }, async () => {
      for (; performance.now() < end; writes++) await write(fixture, (number++ * 97) % STREAMS);
    }));
    return writes;
  }
  await writesIn(SHARE_MS);
  let alone = 0;
  let beside = 0;
  let anchors = 0;
  for (let turn = 0; turn < 2; turn++) {
    alone += await writesIn(SHARE_MS);
    let isOver = false;
    const writing = writesIn(SHARE_MS).finally(() => isOver = true);
    while (!isOver) {
      await anchor(fixture, fixture.tenants.test);
      anchors++;
    }
    beside += await writing;
  }
  add({
    name: "writes while anchors are made, to those alone",
    value: beside / alone,
    unit: "x",
    target: { atLeast: 0.8 },
    note: `${anchors} anchors, one after the other`,
  });
}
