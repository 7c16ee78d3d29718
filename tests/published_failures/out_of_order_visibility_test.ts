/**
 * What began first becomes visible last. If events are numbered as they are written, a reader
 * that keeps the last number has passed an event before the event becomes visible, and never
 * looks back.
 *
 * Published by: Marten, Eventuous, SQLStreamStore, prooph, Axon, Emmett, kamu, occurrent.
 */

import assert from "node:assert/strict";
import { streamKey } from "../../src/domain/identifier.ts";
import type { Engine } from "../../src/kv/engine.ts";
import { logCommit } from "../../src/store/feed/commit_log.ts";
import { listOutbox, outboxShard } from "../../src/store/reactions/outbox.ts";
import { heldEngine } from "../support/held_engine.ts";
import { idsOf, readLog, timesSeenOf } from "../support/log_reader.ts";
import { eventsOf, setOff, write } from "../support/reactive_spec.ts";
import { uuid } from "../support/service_fixture.ts";
import { withTemporaryEngine } from "../support/temporary_engine.ts";
import { openSequenceLog, openSequenceReader, type SequencedEvent } from "./sequence_log.ts";
import { withShop, workOn, writeAndDie } from "./shop.ts";

const MINUTE_MS = 60_000;

function firstEventOf(id: string) {
  return { kind: "appended", stream: streamKey("order", id), first: 0, count: 1 } as const;
}

/** All orders of the items. */
function permutations<T>(items: readonly T[]): T[][] {
  if (items.length <= 1) return [[...items]];
  return items.flatMap((item, at) =>
    permutations(items.toSpliced(at, 1)).map((rest) => [item, ...rest])
  );
}

interface Outcome {
  /** By the reader of a sequence. */
  readonly handled: readonly number[];
  /** How often our log named each event to its reader. */
  readonly seen: readonly number[];
}

/** Four transactions that began together land in `order`; both readers look after each. */
async function landIn(order: readonly number[], engine: Engine, tenant: number): Promise<Outcome> {
  const ids = idsOf(order.length);
  const sequence = openSequenceLog(engine, `${tenant}`);
  const reader = openSequenceReader(sequence, () => true);
  const held = heldEngine(engine);
  const commits = ids.map(() => held.hold());
  const writings = ids.map((id) => {
    const number = sequence.take();
    return held.transact((tx) => {
      sequence.append(tx, { number, atMs: 0 });
      logCommit(tx, tenant, [firstEventOf(id)]);
      return Promise.resolve();
    });
  });
  await Promise.all(commits.map(({ reached }) => reached));
  for (const place of order) {
    commits[place]!.release();
    await writings[place];
    await reader.read();
    await readLog(engine, tenant, 1);
  }
  return { handled: reader.handled, seen: await timesSeenOf(engine, tenant, ids) };
}

// JasperFx/marten#1629: a large event took its number first and was committed after a small
// one, which the daemon had read already. Eventuous/eventuous#222: the checkpoint had passed
// events that no handler ever got. SQLStreamStore/SQLStreamStore#121: the same with identity
// columns of SQL Server. event-driven-io/emmett#336: processors lost messages under contention.
Deno.test("in whatever order commits become visible, each is read once (Marten, Eventuous, SQLStreamStore, Emmett)", async () => {
  await withTemporaryEngine(async (engine) => {
    const whole: string[] = [];
    for (const [tenant, order] of permutations([0, 1, 2, 3]).entries()) {
      const { handled, seen } = await landIn(order, engine, tenant + 1);
      assert.deepEqual(seen, [1, 1, 1, 1], `landed as ${order}`);
      if (handled.length === 4) whole.push(`${order}`);
    }
    assert.deepEqual(whole, ["0,1,2,3"], "the others skip in every order but one");
  });
});

/**
 * Two writes: A's is ready first, B's is read before A's lands. Returns how often each was
 * read.
 */
async function lateWrite(
  { skewMs, heldMs }: { readonly skewMs: number; readonly heldMs: number },
): Promise<{ readonly seen: readonly number[]; readonly timestamps: readonly number[] }> {
  const found = { seen: [] as number[], timestamps: [] as number[] };
  await withShop(async (shop) => {
    const { engine, tenant } = shop;
    const { node: a, held } = shop.startHeld();
    const b = shop.start();
    a.host.timeMs += skewMs;
    const ids = idsOf(2);
    const commit = held.hold();
    const writing = write(a.service, tenant, setOff(ids[0]!, "was_paid"));
    await commit.reached;
    await write(b.service, tenant, setOff(ids[1]!, "was_paid"));
    await readLog(engine, tenant.number);
    shop.pass(heldMs);
    await readLog(engine, tenant.number);
    commit.release();
    await writing;
    await readLog(engine, tenant.number);
    found.seen = await timesSeenOf(engine, tenant.number, ids);
    for (const id of ids) {
      const [event] = await eventsOf(b.service, tenant, "order", id);
      found.timestamps.push(event!.metadata.timestamp);
    }
  });
  return found;
}

// AxonIQ/AxonFramework#4829: a hole was given up as soon as the event behind it was older than
// a timeout by its own timestamp, however soon the hole was going to be filled.
// JasperFx/marten#2370: a pause between events made the daemon's timeout useless.
// prooph/pdo-event-store#189: projections skipped events; the remedy was to pause at a hole and
// then skip it.
Deno.test("a commit that comes later than any timeout is read (Axon, Marten, prooph)", async () => {
  const HELD_MS = 60 * MINUTE_MS;
  await withTemporaryEngine(async (engine) => {
    let nowMs = 0;
    const sequence = openSequenceLog(engine, "timeout");
    const isOld = ({ atMs }: SequencedEvent) => nowMs - atMs > MINUTE_MS;
    const reader = openSequenceReader(sequence, isOld);
    const [first, second] = [sequence.take(), sequence.take()];
    const append = (number: number) =>
      engine.transact((tx) => Promise.resolve(sequence.append(tx, { number, atMs: 0 })));
    await append(second);
    await reader.read();
    assert.deepEqual(reader.handled, [], "it waits for the hole");
    nowMs += HELD_MS;
    await reader.read();
    await append(first);
    await reader.read();
    assert.deepEqual(reader.handled, [second], "and gives it up too early");
  });
  const { seen } = await lateWrite({ skewMs: 0, heldMs: HELD_MS });
  assert.deepEqual(seen, [1, 1]);
});

// johanhaleby/occurrent#199: events written during a replay were found by their time, and were
// missed if their writer's clock was behind.
Deno.test("a commit of a process whose clock is behind is read (occurrent)", async () => {
  const { seen, timestamps: [late, early] } = await lateWrite({ skewMs: -MINUTE_MS, heldMs: 0 });
  const isFoundByTime = late! > early!;
  assert.ok(!isFoundByTime, "a cursor that is a time would be past it");
  assert.deepEqual(seen, [1, 1]);
});

// kamu-data/kamu-cli#1398: a consumer of the outbox kept the last id that it had consumed, and
// so could lose the message of a transaction that took its id earlier and committed later.
Deno.test("an outbox entry that lands before where the worker is gets its turn (kamu)", async () => {
  await withShop(async (shop) => {
    const { engine, tenant } = shop;
    const shardOf = (id: string) =>
      outboxShard({ tenant: tenant.number, stream: streamKey("order", id), index: 0, number: 0 });
    const shard = shardOf(uuid(0));
    const ids = Array.from({ length: 400 }, (_, n) => uuid(n)).filter((id) =>
      shardOf(id) === shard
    );
    const [late, ...others] = ids.slice(0, 6);
    for (const id of others) await writeAndDie(shop, setOff(id, "was_placed"));
    shop.pass(1_000);
    const worker = shop.start();
    // One entry of each shard at a time, so that the worker has passed the place of the next
    // entry.
    for (let turn = 0; turn < 2; turn++) await worker.service.background.drainOutbox(1);
    await writeAndDie(shop, setOff(late!, "was_placed"));
    const { works } = await engine.snapshot((tx) => listOutbox(tx, shard, { limit: 100 }));
    assert.equal(works[0]!.place.stream, streamKey("order", late!));
    assert.equal(works.length, 4, "it lands before three that are left");
    shop.pass(1_000);
    for (let turn = 0; turn < 10; turn++) await worker.service.background.drainOutbox(1);
    await workOn(worker);
    for (const id of [late!, ...others]) {
      assert.equal((await eventsOf(worker.service, tenant, "ledger", id)).length, 1);
    }
  });
});
