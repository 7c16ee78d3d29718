/**
 * Work that can never succeed heads a queue and is retried before everything behind it.
 *
 * Published by: MassTransit, WSO2, occurrent.
 */

import assert from "node:assert/strict";
import { limits } from "../../src/domain/limits.ts";
import { streamKey } from "../../src/domain/identifier.ts";
import { outboxShard } from "../../src/store/reactions/outbox.ts";
import { poisonedEngine } from "../support/poisoned_engine.ts";
import { depthsOf, setOff } from "../support/reactive_spec.ts";
import { uuid } from "../support/service_fixture.ts";
import type { Node } from "../support/two_nodes.ts";
import { countNotes, typesOf, withShop, workOn, writeAndDie } from "./shop.ts";

/** Numbers of entries that always fail, and of some behind them that succeed. */
const POISONED = Array.from({ length: 24 }, (_, n) => 0xa00 + n);
const GOOD = [0xb00, 0xb01, 0xb02];
/** Part of the id of every stream that cannot be written to, and of no other. */
const POISON = "000000000a";
/** More than any shard has here, so that pages of one entry reach the end. */
const ROUNDS_MAX = 16;

/** Works with pages of one entry of each shard, while the clock stands still. */
async function workInSmallPages({ service: { background } }: Node): Promise<void> {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    await background.drainOutbox(1);
    await background.drainTimers(16);
  }
}

/** Retries until everything that fails has failed for good. */
async function workForLong(node: Node): Promise<void> {
  for (let tries = 0; tries < limits.reactionTriesMax; tries++) {
    node.host.timeMs += limits.reactionRetryMsMax;
    await workOn(node);
  }
}

// MassTransit/MassTransit#6216: one message that could not be sent kept the delivery service
// busy, and every other outbox waited for the next restart. wso2/product-ei#2740: the message
// processor retried a poison message endlessly, and the whole flow stopped.
Deno.test("entries that fail at the head of the outbox hold up none behind them, and are parked (MassTransit, WSO2)", async () => {
  await withShop(async (shop) => {
    const { tenant } = shop;
    const shardOf = (n: number) => {
      const stream = streamKey("order", uuid(n));
      return outboxShard({ tenant: tenant.number, stream, index: 0, number: 0 });
    };
    const inOneShard = (from: number, count: number) =>
      Array.from({ length: 0x100 }, (_, n) => from + n)
        .filter((n) => shardOf(n) === shardOf(GOOD[0]!)).slice(0, count);
    const [poisoned, good] = [inOneShard(0xa00, 8), inOneShard(0xb00, 3)];
    for (const n of [...poisoned, ...good]) await writeAndDie(shop, setOff(uuid(n), "was_placed"));
    shop.pass(1_000);
    const poison = `ledger:${uuid(0xa00).slice(0, -2)}`;
    const node = shop.start((engine) => poisonedEngine(engine, () => poison));
    await workInSmallPages(node);
    assert.deepEqual(await countNotes(node, tenant, good), [1, 1, 1]);
    assert.deepEqual(await depthsOf(node.service), { outbox: poisoned.length });
    await workForLong(node);
    assert.deepEqual(await countNotes(node, tenant, good), [1, 1, 1]);
    assert.deepEqual(await depthsOf(node.service), { parked: poisoned.length });
  });
});

// johanhaleby/occurrent#1006: a poll took the timers that were due first. Those that could not
// fire stayed first, and once a batch was full of them no other saga got its timeouts.
Deno.test("timers that fail, more than a batch of them, hold up none behind them (occurrent)", async () => {
  await withShop(async (shop) => {
    const { tenant } = shop;
    for (const n of POISONED) await writeAndDie(shop, setOff(uuid(n), "was_delayed"));
    shop.pass(1_000);
    for (const n of GOOD) await writeAndDie(shop, setOff(uuid(n), "was_delayed"));
    shop.pass(10_000);
    const node = shop.start((engine) => poisonedEngine(engine, () => POISON));
    await workInSmallPages(node);
    const fired = async (n: number) => (await typesOf(node, tenant, "order", uuid(n))).length - 1;
    for (const n of GOOD) assert.equal(await fired(n), 1);
    // Failed timers wait for their next try.
    assert.deepEqual(await depthsOf(node.service), {});
    await workForLong(node);
    for (const n of GOOD) assert.equal(await fired(n), 1);
    assert.deepEqual(await depthsOf(node.service), { parked: POISONED.length });
  });
});
