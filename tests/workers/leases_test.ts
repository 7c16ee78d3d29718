/** The lease worker keeps a share of the work while nothing else asks for it. */

import assert from "node:assert/strict";
import { LEASE_LIFETIME_MS, LEASE_RENEWAL_MS } from "../../src/domain/fairness/lease.ts";
import { listWorkers, readLeases } from "../../src/store/leases.ts";
import { leaseWorker } from "../../src/workers/workers.ts";
import { fakeHost } from "../support/fake_host.ts";
import { withTemporaryEngine } from "../support/temporary_engine.ts";
import { startNode, stopNode } from "../support/two_nodes.ts";

Deno.test("leaseWorker() claims what is free and announces itself in time, finding nothing to do", async () => {
  await withTemporaryEngine(async (engine) => {
    const node = startNode(engine, fakeHost());
    const worker = leaseWorker(node.service);
    for (let passed = 0; passed < 2 * LEASE_LIFETIME_MS; passed += LEASE_RENEWAL_MS) {
      assert.equal(await worker.drain(1), 0);
      const leases = await engine.snapshot((tx) => readLeases(tx, "rebuild"));
      assert.equal(leases.length, 16);
      const [announced] = await engine.snapshot((tx) => listWorkers(tx));
      assert.equal(announced!.announcedMs, node.host.timeMs);
      node.host.timeMs += LEASE_RENEWAL_MS;
    }
    await stopNode(node);
    const left = await engine.snapshot((tx) => readLeases(tx, "rebuild"));
    assert.ok(left.every(({ owner }) => owner === ""));
  });
});
