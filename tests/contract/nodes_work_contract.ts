/** Background work on two nodes: shared by leases, taken over, and never lost. */

import assert from "node:assert/strict";
import { LEASE_RENEWAL_MS, LEASE_SILENCE_MS } from "../../src/domain/fairness/lease.ts";
import { streamKey } from "../../src/domain/identifier.ts";
import { QUEUE_SHARDS } from "../../src/domain/fairness/work_share.ts";
import type { Engine } from "../../src/kv/engine.ts";
import { keys } from "../../src/store/keys.ts";
import { readLeases } from "../../src/store/leases.ts";
import { enqueueStreamRebuild } from "../../src/store/streams/rebuilds.ts";
import { noteWrite, orderWrite, uuid, valueOf } from "../support/service_fixture.ts";
import { type Node, type NodesTest, OPERATOR, type TwoNodes } from "../support/two_nodes.ts";

const STREAMS = 24;

/** How many shards of a queue each owner has, most first. */
async function countShares(engine: Engine, queue: keyof typeof QUEUE_SHARDS): Promise<number[]> {
  const counts = new Map<string, number>();
  for (const { owner } of await engine.snapshot((tx) => readLeases(tx, queue))) {
    if (owner !== "") counts.set(owner, (counts.get(owner) ?? 0) + 1);
  }
  return [...counts.values()].sort((x, y) => y - x);
}

/** Both take their share; the first releases half for the second, which then takes it. */
async function settleShares({ a, b, pass }: TwoNodes): Promise<void> {
  for (const node of [a, b, a, b]) {
    await node.service.background.renewShare();
    pass(LEASE_RENEWAL_MS / 2);
  }
}

async function drain({ service }: Node): Promise<number> {
  let done = 0;
  for (let round = 0; round < 100; round++) {
    const some = await service.background.rebuildSnapshots(4);
    if (some === 0) return done;
    done += some;
  }
  throw new Error("the background found work again and again");
}

/** Enqueues streams that deserve a snapshot; returns a function that counts their snapshots. */
async function writeStreams({ a, tenants: { test: tenant } }: TwoNodes) {
  const event = { type: "was_viewed", data: { fill: "x".repeat(1_000) } };
  for (let n = 0; n < STREAMS; n++) {
    const write = orderWrite(uuid(n), Array.from({ length: 70 }, () => event));
    valueOf(await a.service.data.writeEvents(tenant, write));
  }
  const streams = Array.from({ length: STREAMS }, (_, n) => streamKey("order", uuid(n)));
  await a.engine.transact((tx) => {
    for (const stream of streams) enqueueStreamRebuild(tx, tenant.number, stream);
    return Promise.resolve();
  });
  async function countSnapshots(): Promise<number> {
    const found = await Promise.all(
      streams.map((stream) =>
        a.engine.snapshot((tx) => tx.getRange(keys.snapshots(tenant.number, stream)))
      ),
    );
    return found.filter(({ length }) => length > 0).length;
  }
  return { countSnapshots };
}

export function nodesWorkContract(test: NodesTest): void {
  test("each has half of the shards, and one of them sweeps", async (nodes) => {
    await settleShares(nodes);
    assert.deepEqual(await countShares(nodes.a.engine, "rebuild"), [8, 8]);
    assert.deepEqual(await countShares(nodes.a.engine, "sweep"), [1]);
  });

  test("what waits is done by both together, each stream by one", async (nodes) => {
    await settleShares(nodes);
    const { countSnapshots } = await writeStreams(nodes);
    const [byA, byB] = await Promise.all([drain(nodes.a), drain(nodes.b)]);
    assert.equal(byA + byB, STREAMS);
    assert.ok(byA > 0 && byB > 0, `${byA} and ${byB}`);
    assert.equal(await countSnapshots(), STREAMS);
  });

  test("what a crashed one left is done once it was silent for long enough, and not before", async (nodes) => {
    const { b, pass } = nodes;
    await settleShares(nodes);
    const { countSnapshots } = await writeStreams(nodes);
    // From here on A does nothing any more.
    const before = await drain(b);
    assert.ok(before > 0 && before < STREAMS);
    for (let passed = 0; passed <= LEASE_SILENCE_MS; passed += LEASE_RENEWAL_MS) {
      pass(LEASE_RENEWAL_MS);
      await b.service.background.renewShare();
    }
    await drain(b);
    assert.equal(await countSnapshots(), STREAMS);
    assert.deepEqual(await countShares(b.engine, "rebuild"), [QUEUE_SHARDS.rebuild]);
  });

  test("one that stops in order leaves everything to the other at once", async (nodes) => {
    const { a, b, pass } = nodes;
    await settleShares(nodes);
    const { countSnapshots } = await writeStreams(nodes);
    await a.service.close();
    pass(LEASE_RENEWAL_MS);
    await drain(b);
    assert.equal(await countSnapshots(), STREAMS);
  });

  test("the sweep of one removes what both have written", async (nodes) => {
    const { a, b, tenants: { test: tenant }, pass } = nodes;
    for (const [n, { service }] of [a, b].entries()) {
      const idempotency = { key: `k-${n}`, bodyHash: "aa".repeat(32) };
      valueOf(await service.data.writeEvents(tenant, noteWrite(uuid(n), "x", { idempotency })));
    }
    pass(24 * 3600 * 1000);
    await settleShares(nodes);
    for (let round = 0; round < 10; round++) {
      for (const { service } of [a, b]) await service.background.sweep(100);
    }
    const left = await a.engine.snapshot((tx) => tx.getRange(keys.ledgers(tenant.number)));
    assert.deepEqual(left, []);
  });

  test("an error record of one is found by the other", async (nodes) => {
    const { a, b, tenants: { test: tenant } } = nodes;
    const error = { error_type: "internal", message: "m", context: {}, request_id: "r" };
    const id = b.service.data.recordError(tenant, error);
    await b.service.close();
    assert.equal(valueOf(await a.service.data.readError(tenant, id)).message, "m");
  });

  test("both deploy at once: one after the other, and each tells the version it made", async (nodes) => {
    const { a, b, tenants: { test: tenant }, instanceId } = nodes;
    assert.ok(valueOf(await b.access.readInstance(OPERATOR, instanceId)));
    const versions = await Promise.all([a, b].map(async ({ service }, n) => {
      const spec = { agent_types: ["user", `robot_${n}`], aggregate_types: {} };
      const outcome = await service.specs.deploySpec(tenant, { spec, force: true, dryRun: false });
      return valueOf(outcome).version;
    }));
    assert.deepEqual(versions.sort(), [2, 3]);
  });
}
