/**
 * A number that no event will ever have, and a reader that waits for it forever. The
 * transaction was rolled back, or the event was removed or is of no interest to the reader.
 *
 * Published by: Marten, Axon, socket.io-servicebus, Commanded's EventStore, Eventuous.
 */

import assert from "node:assert/strict";
import { streamKey } from "../../src/domain/identifier.ts";
import type { Engine } from "../../src/kv/engine.ts";
import { logCommit } from "../../src/store/feed/commit_log.ts";
import { keyAfter, keys } from "../../src/store/keys.ts";
import { heldEngine } from "../support/held_engine.ts";
import { idsOf, readLog, readStep, timesSeenOf } from "../support/log_reader.ts";
import { setOff } from "../support/reactive_spec.ts";
import { SHOP } from "../support/saga_fixtures.ts";
import { withTemporaryEngine } from "../support/temporary_engine.ts";
import { openSequenceLog, openSequenceReader, type SequenceLog } from "./sequence_log.ts";
import { countLeft, typesOf, withShop, workOn, writeAndDie } from "./shop.ts";

const TENANT = 9;

/** Puts one event into both logs in one transaction; `then` decides whether it commits. */
function logBoth(engine: Engine, sequence: SequenceLog, id: string, then = () => {}) {
  const number = sequence.take();
  return engine.transact((tx) => {
    sequence.append(tx, { number, atMs: 0 });
    logCommit(tx, TENANT, [
      { kind: "appended", stream: streamKey("order", id), first: 0, count: 1 },
    ]);
    then();
    return Promise.resolve();
  });
}

function rollBack(): void {
  throw new Error("rolled back");
}

// JasperFx/marten#3503: after a gap in the sequence neither the high water mark nor any
// subscription advanced, for hours. AxonIQ/AxonFramework#2958: a tracking processor neither
// failed nor advanced. azure-contrib/socket.io-servicebus#28: because of one missing message
// the sequencer kept everything behind it in memory.
Deno.test("neither a rolled back transaction nor one under way holds a reader up (Marten, Axon, socket.io-servicebus)", async () => {
  await withTemporaryEngine(async (engine) => {
    const ids = idsOf(6);
    const sequence = openSequenceLog(engine, "gaps");
    const patient = openSequenceReader(sequence, () => false);
    const held = heldEngine(engine);
    await logBoth(engine, sequence, ids[0]!);
    await assert.rejects(logBoth(engine, sequence, ids[1]!, rollBack), { message: "rolled back" });
    await logBoth(engine, sequence, ids[2]!);
    const commit = held.hold();
    const underWay = logBoth(held, sequence, ids[3]!);
    await commit.reached;
    await logBoth(engine, sequence, ids[4]!);
    await patient.read();
    await readLog(engine, TENANT);
    assert.deepEqual(patient.handled, [1], "the other one waits for ever");
    assert.deepEqual(await timesSeenOf(engine, TENANT, ids), [1, 0, 1, 0, 1, 0]);
    commit.release();
    await underWay;
    await logBoth(engine, sequence, ids[5]!);
    await patient.read();
    await readLog(engine, TENANT);
    assert.deepEqual(patient.handled, [1]);
    assert.deepEqual(await timesSeenOf(engine, TENANT, ids), [1, 0, 1, 1, 1, 1]);
  });
});

// commanded/eventstore#238: events of a deleted stream were missing from the log of all
// streams, and the checkpoint, which advanced by ones, was never stored again.
Deno.test("removing what a cursor points to holds no reader up (Commanded's EventStore)", async () => {
  await withTemporaryEngine(async (engine) => {
    const ids = idsOf(6);
    const sequence = openSequenceLog(engine, "removed");
    for (const id of ids) await logBoth(engine, sequence, id);
    const patient = openSequenceReader(sequence, () => false);
    await engine.transact((tx) => Promise.resolve(sequence.remove(tx, 3)));
    await patient.read();
    assert.deepEqual(patient.handled, [1, 2], "one that counts by ones stops before it");
    /** Removes the first `count` records that are left; the last one is what the cursor names. */
    async function remove(count: number): Promise<void> {
      await engine.transact(async (tx) => {
        const { begin, end } = keys.commitLog(TENANT);
        const pairs = await tx.getRange({ begin, end }, { limit: count });
        tx.clearRange({ begin, end: keyAfter(pairs.at(-1)!.key) });
      });
    }
    await readStep(engine, TENANT, 3);
    await remove(3);
    assert.equal(await readStep(engine, TENANT, 2), 2);
    await remove(2);
    await readLog(engine, TENANT);
    assert.deepEqual(await timesSeenOf(engine, TENANT, ids), [1, 1, 1, 1, 1, 1]);
  });
});

// Eventuous/eventuous#142: events that no handler wanted left holes in the completed sequence,
// and the checkpoint was never stored again.
Deno.test("events that no saga waits for are done with, and hold up none behind them (Eventuous)", async () => {
  await withShop(async (shop) => {
    const { tenant } = shop;
    const payment = (type: string) => ({
      ...setOff("o2", type),
      targets: [{ aggregateType: "payment", id: "o2", events: [{ type, data: {} }] }],
    });
    for (const type of ["was_captured", "was_refused", "was_captured"]) {
      await writeAndDie(shop, payment(type));
    }
    await writeAndDie(shop, setOff("o1", "was_placed", { sku: "stock" }));
    shop.pass(1_000);
    const node = shop.start();
    assert.equal(await countLeft(node), 4);
    await workOn(node);
    assert.deepEqual(await typesOf(node, tenant, "payment", "o1"), ["was_requested"]);
    assert.equal(await countLeft(node), 0, "nothing that is due is left");
  }, SHOP);
});
