/** Leases in the store: claimed, renewed, released, taken over, and checked by effects. */

import assert from "node:assert/strict";
import type { Engine, Transaction } from "../../src/kv/engine.ts";
import {
  announceWorker,
  claimLease,
  holdsLease,
  listWorkers,
  readLeases,
  releaseLease,
  removeWorker,
} from "../../src/store/leases.ts";
import { withTemporaryEngine } from "../support/temporary_engine.ts";

const name = { queue: "rebuild", shard: 3 };

async function claimIn(tx: Transaction, owner: string) {
  const leases = await readLeases(tx, name.queue);
  return await claimLease(tx, name, owner, leases.find(({ shard }) => shard === name.shard));
}

/** Takes the lease, whoever has it. */
function claim(engine: Engine, owner: string) {
  return engine.transact((tx) => claimIn(tx, owner));
}

function write(tx: Transaction, text: string): void {
  tx.set(new TextEncoder().encode(text), new Uint8Array(0));
}

Deno.test("claimLease() takes a lease, each time with a new term", async () => {
  await withTemporaryEngine(async (engine) => {
    assert.deepEqual(await claim(engine, "a"), { ...name, owner: "a", term: 1 });
    assert.deepEqual(await claim(engine, "b"), { ...name, owner: "b", term: 2 });
    const leases = await engine.snapshot((tx) => readLeases(tx, "rebuild"));
    assert.deepEqual(leases, [{ ...name, owner: "b", term: 2 }]);
    assert.deepEqual(await engine.snapshot((tx) => readLeases(tx, "sweep")), []);
  });
});

Deno.test("claimLease() raced by many gives each another term", async () => {
  await withTemporaryEngine(async (engine) => {
    const owners = Array.from({ length: 8 }, (_, n) => `owner ${n}`);
    const claimed = await Promise.all(owners.map((owner) => claim(engine, owner)));
    const terms = claimed.map(({ term }) => term).sort((x, y) => x - y);
    assert.deepEqual(terms, [1, 2, 3, 4, 5, 6, 7, 8]);
  });
});

Deno.test("claimLease() runs again if the former owner announces itself meanwhile", async () => {
  await withTemporaryEngine(async (engine) => {
    await claim(engine, "a");
    let runs = 0;
    await engine.transact(async (tx) => {
      runs++;
      await claimIn(tx, "b");
      if (runs > 1) return;
      await engine.transact((other) =>
        Promise.resolve(announceWorker(other, { owner: "a", announcedMs: 1 }))
      );
    });
    assert.equal(runs, 2);
  });
});

Deno.test("holdsLease() tells the former owner that it has lost", async () => {
  await withTemporaryEngine(async (engine) => {
    const lost = await claim(engine, "a");
    const taken = await claim(engine, "b");
    assert.equal(await engine.transact((tx) => holdsLease(tx, lost)), false);
    await engine.transact((tx) => releaseLease(tx, lost));
    assert.equal(await engine.transact((tx) => holdsLease(tx, taken)), true, "b has it still");
  });
});

Deno.test("releaseLease() leaves it to nobody, and the same owner's next term is another", async () => {
  await withTemporaryEngine(async (engine) => {
    const first = await claim(engine, "a");
    await engine.transact((tx) => releaseLease(tx, first));
    const [free] = await engine.snapshot((tx) => readLeases(tx, "rebuild"));
    assert.equal(free!.owner, "");
    const again = await claim(engine, "a");
    assert.equal(again.term, 2);
    assert.equal(await engine.transact((tx) => holdsLease(tx, first)), false);
    assert.equal(await engine.transact((tx) => holdsLease(tx, again)), true);
  });
});

Deno.test("an effect that has looked at its lease does not commit once another took it", async () => {
  await withTemporaryEngine(async (engine) => {
    const lease = await claim(engine, "a");
    const held: boolean[] = [];
    await engine.transact(async (tx) => {
      const holds = await holdsLease(tx, lease);
      held.push(holds);
      // After the check and before the commit: the worst moment.
      if (held.length === 1) await claim(engine, "b");
      if (holds) write(tx, "effect");
    });
    assert.deepEqual(held, [true, false]);
    assert.equal(
      await engine.snapshot((tx) => tx.get(new TextEncoder().encode("effect"))),
      undefined,
    );
  });
});

Deno.test("an effect does not run again because its owner announced itself meanwhile", async () => {
  await withTemporaryEngine(async (engine) => {
    const lease = await claim(engine, "a");
    let runs = 0;
    await engine.transact(async (tx) => {
      runs++;
      assert.ok(await holdsLease(tx, lease));
      if (runs === 1) {
        await engine.transact((other) =>
          Promise.resolve(announceWorker(other, { owner: "a", announcedMs: 1 }))
        );
      }
      write(tx, "effect");
    });
    assert.equal(runs, 1);
  });
});

Deno.test("listWorkers() has the last announcement of each that has not been removed", async () => {
  await withTemporaryEngine(async (engine) => {
    await engine.transact((tx) => {
      announceWorker(tx, { owner: "a", announcedMs: 1 });
      announceWorker(tx, { owner: "a", announcedMs: 2 });
      announceWorker(tx, { owner: "b", announcedMs: 3 });
      removeWorker(tx, "b");
      return Promise.resolve();
    });
    const workers = await engine.snapshot((tx) => listWorkers(tx));
    assert.deepEqual(workers, [{ owner: "a", announcedMs: 2 }]);
  });
});
