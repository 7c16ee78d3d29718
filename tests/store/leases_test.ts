/** Leases in the store: claimed, renewed, released, taken over, and checked by effects. */

import assert from "node:assert/strict";
import { LEASE_LIFETIME_MS, LEASE_SKEW_MS } from "../../src/domain/fairness/lease.ts";
import type { Engine, Transaction } from "../../src/kv/engine.ts";
import {
  claimLease,
  holdsLease,
  listWorkers,
  readLeases,
  registerWorker,
  releaseLease,
  removeSilentWorkers,
  renewLease,
} from "../../src/store/leases.ts";
import { withTemporaryEngine } from "../support/temporary_engine.ts";

const name = { queue: "rebuild", shard: 3 };
const START_MS = 1_000_000;
const OVER_MS = START_MS + LEASE_LIFETIME_MS + LEASE_SKEW_MS;

function claim(engine: Engine, owner: string, nowMs: number) {
  return engine.transact((tx) => claimLease(tx, name, owner, nowMs));
}

function write(tx: Transaction, text: string): void {
  tx.set(new TextEncoder().encode(text), new Uint8Array(0));
}

Deno.test("claimLease() gives a free lease to one, and to another when it is over", async () => {
  await withTemporaryEngine(async (engine) => {
    const first = await claim(engine, "a", START_MS);
    assert.deepEqual(first, { ...name, owner: "a", term: 1, endsMs: START_MS + LEASE_LIFETIME_MS });
    assert.equal(await claim(engine, "b", OVER_MS - 1), undefined);
    assert.equal((await claim(engine, "b", OVER_MS))?.term, 2);
    assert.deepEqual(
      (await engine.snapshot((tx) => readLeases(tx, "rebuild"))).map(({ owner }) => owner),
      ["b"],
    );
    assert.deepEqual(await engine.snapshot((tx) => readLeases(tx, "sweep")), []);
  });
});

Deno.test("claimLease() raced by many is won by one", async () => {
  await withTemporaryEngine(async (engine) => {
    const owners = Array.from({ length: 8 }, (_, n) => `owner ${n}`);
    const claimed = await Promise.all(owners.map((owner) => claim(engine, owner, START_MS)));
    assert.equal(claimed.filter((lease) => lease !== undefined).length, 1);
  });
});

Deno.test("renewLease() moves the end, also of one that is over and still nobody's", async () => {
  await withTemporaryEngine(async (engine) => {
    const lease = (await claim(engine, "a", START_MS))!;
    const renewed = await engine.transact((tx) => renewLease(tx, lease, OVER_MS));
    assert.deepEqual(renewed, { ...lease, endsMs: OVER_MS + LEASE_LIFETIME_MS });
    assert.equal(await claim(engine, "b", OVER_MS), undefined);
  });
});

Deno.test("renewLease() and holdsLease() tell the former owner that it has lost", async () => {
  await withTemporaryEngine(async (engine) => {
    const lost = (await claim(engine, "a", START_MS))!;
    await claim(engine, "b", OVER_MS);
    assert.equal(await engine.transact((tx) => renewLease(tx, lost, OVER_MS)), undefined);
    assert.equal(await engine.transact((tx) => holdsLease(tx, lost)), false);
    await engine.transact((tx) => releaseLease(tx, lost));
    assert.equal(await claim(engine, "c", OVER_MS), undefined, "b has it still");
  });
});

Deno.test("releaseLease() frees it at once, and the same owner's next term is another", async () => {
  await withTemporaryEngine(async (engine) => {
    const first = (await claim(engine, "a", START_MS))!;
    await engine.transact((tx) => releaseLease(tx, first));
    assert.equal((await claim(engine, "b", START_MS))?.term, 2);
    const again = (await claim(engine, "a", OVER_MS))!;
    assert.equal(again.term, 3);
    assert.equal(await engine.transact((tx) => holdsLease(tx, first)), false);
    assert.equal(await engine.transact((tx) => holdsLease(tx, again)), true);
  });
});

Deno.test("an effect that has looked at its lease does not commit once another took it", async () => {
  await withTemporaryEngine(async (engine) => {
    const lease = (await claim(engine, "a", START_MS))!;
    const held: boolean[] = [];
    await engine.transact(async (tx) => {
      const holds = await holdsLease(tx, lease);
      held.push(holds);
      // After the check and before the commit: the worst moment.
      if (held.length === 1) await claim(engine, "b", OVER_MS);
      if (holds) write(tx, "effect");
    });
    assert.deepEqual(held, [true, false]);
    assert.equal(
      await engine.snapshot((tx) => tx.get(new TextEncoder().encode("effect"))),
      undefined,
    );
  });
});

Deno.test("an effect does not run again because its lease was renewed meanwhile", async () => {
  await withTemporaryEngine(async (engine) => {
    const lease = (await claim(engine, "a", START_MS))!;
    let runs = 0;
    await engine.transact(async (tx) => {
      runs++;
      assert.ok(await holdsLease(tx, lease));
      if (runs === 1) await engine.transact((other) => renewLease(other, lease, START_MS + 1));
      write(tx, "effect");
    });
    assert.equal(runs, 1);
  });
});

Deno.test("removeSilentWorkers() keeps those that spoke within the last minute", async () => {
  await withTemporaryEngine(async (engine) => {
    await engine.transact((tx) => {
      registerWorker(tx, "old", START_MS);
      registerWorker(tx, "new", START_MS + 60_000);
      return Promise.resolve();
    });
    const nowMs = START_MS + LEASE_LIFETIME_MS + 60_001;
    await engine.transact(async (tx) => removeSilentWorkers(tx, await listWorkers(tx), nowMs));
    const left = await engine.snapshot((tx) => listWorkers(tx));
    assert.deepEqual(left.map(({ owner }) => owner), ["new"]);
  });
});
