/** Which worker works on which shard. */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { Lease } from "../../../src/domain/fairness/lease.ts";
import {
  planShare,
  QUEUE_NAMES,
  QUEUE_SHARDS,
  shardOf,
} from "../../../src/domain/fairness/work_share.ts";

/** Any state of any queue: shards never taken, running, released, and of the dead. */
const views = fc.record({
  queue: fc.constantFrom(...QUEUE_NAMES),
  owners: fc.uniqueArray(fc.stringMatching(/^[0-9a-f]{4}$/), { minLength: 1, maxLength: 20 }),
  holders: fc.array(fc.nat(25), { maxLength: 16 }),
}).map(({ queue, owners, holders }) => {
  const dead = ["dead 1", "dead 2", ""];
  const leases = holders.slice(0, QUEUE_SHARDS[queue]).map((by, shard): Lease => (
    { queue, shard, owner: owners[by] ?? dead[by % 3]!, term: 1 }
  ));
  return { queue, leases, owners, live: new Set(owners) };
});

Deno.test("planShare() takes nothing that another runs, and gives up nothing it needs", () => {
  fc.assert(fc.property(views, ({ queue, leases, owners, live }) => {
    for (const owner of owners) {
      const plan = planShare(queue, { leases, live, owner });
      for (const { shard } of plan.claim) {
        const lease = leases.find((lease) => lease.shard === shard);
        assert.ok(lease === undefined || !live.has(lease.owner));
      }
      const own = leases.filter((lease) => lease.owner === owner);
      assert.deepEqual([...plan.keep, ...plan.release], own);
      if (plan.release.length > 0) assert.deepEqual(plan.claim, []);
    }
  }));
});

Deno.test("planShare() lets turns end with every shard taken, and shares that differ by one", () => {
  fc.assert(fc.property(views, ({ queue, owners, live, leases: start }) => {
    let leases = start.filter((lease) => live.has(lease.owner));
    for (let turn = 0; turn < 2; turn++) {
      for (const owner of owners) {
        const plan = planShare(queue, { leases, live, owner });
        leases = leases.filter((lease) => !plan.release.includes(lease));
        const claimed = plan.claim.map((name): Lease => ({ ...name, owner, term: 1 }));
        leases = [...leases, ...claimed];
      }
    }
    assert.equal(new Set(leases.map(({ shard }) => shard)).size, QUEUE_SHARDS[queue]);
    const counts = owners.map((owner) => leases.filter((lease) => lease.owner === owner).length);
    assert.ok(Math.max(...counts) - Math.min(...counts) <= 1, `${counts}`);
  }));
});

Deno.test("planShare() of the only one takes all", () => {
  for (const queue of QUEUE_NAMES) {
    const plan = planShare(queue, { leases: [], live: new Set(), owner: "a" });
    assert.equal(plan.claim.length, QUEUE_SHARDS[queue]);
  }
});

Deno.test("shardOf() gives the same shard for the same subject, below the number of shards", () => {
  fc.assert(fc.property(fc.string(), (subject) => {
    for (const queue of QUEUE_NAMES) {
      const shard = shardOf(queue, subject);
      assert.equal(shard, shardOf(queue, subject));
      assert.ok(Number.isInteger(shard) && shard >= 0 && shard < QUEUE_SHARDS[queue]);
    }
  }));
  // Published values of FNV-1a with 32 bits: "" is 0x811c9dc5, "a" is 0xe40c292c.
  assert.deepEqual([shardOf("rebuild", ""), shardOf("rebuild", "a")], [0x5, 0xc]);
});
