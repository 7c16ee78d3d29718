/**
 * The FoundationDB engine when its cluster fails: lost replies, conflicts, old versions,
 * silence. Over a client in memory, because a real one does not fail on demand. Also which cluster
 * files are valid, and the messages about invalid ones.
 */

import assert from "node:assert/strict";
import {
  type Engine,
  EngineClosed,
  EngineLimitExceeded,
  EngineUnavailable,
  type Transaction,
} from "../../../src/kv/engine.ts";
import {
  enterStore,
  findClusterFile,
  openFoundationdbEngine,
} from "../../../src/kv/foundationdb/binding.ts";
import { formatKey, restoringKey } from "../../../src/kv/foundationdb/changes.ts";
import { FoundationdbEngine } from "../../../src/kv/foundationdb/engine.ts";
import { bytes, counter, read, write } from "../../contract/engine_fixture.ts";
import { fakeHost } from "../../support/fake_host.ts";
import {
  type ClientCall,
  type ClientFault,
  type ClientPlan,
  type MemoryDatabase,
  memoryDatabase,
} from "../../support/memory_foundationdb.ts";
import { join } from "node:path";

interface World {
  readonly engine: Engine;
  readonly database: MemoryDatabase;
  readonly clock: { ms: number };
}

async function inWorld(
  plan: ClientPlan | undefined,
  body: (world: World) => Promise<void>,
): Promise<void> {
  const database = memoryDatabase(plan);
  const clock = { ms: 0 };
  const engine = new FoundationdbEngine({
    database,
    host: fakeHost(),
    nowMs: () => clock.ms,
    stallLimits: { turnMs: 5, turnsMax: 4 },
    failurePauseMs: 5,
  });
  try {
    await body({ engine, database, clock });
  } finally {
    await engine.close();
  }
}

/** The faults of the first calls of one kind. */
function first(call: ClientCall, ...faults: (ClientFault | undefined)[]): ClientPlan {
  return (kind, number) => kind === call ? faults[number] : undefined;
}

function addOne(tx: Transaction): Promise<void> {
  tx.add(bytes("n"), 1n);
  return Promise.resolve();
}

function count(engine: Engine): Promise<Uint8Array | undefined> {
  return engine.snapshot((tx) => tx.get(bytes("n")));
}

for (const landed of [false, true]) {
  Deno.test(`1021: a lost reply is no second effect (landed: ${landed})`, async () => {
    await inWorld(first("commit", { code: 1021, landed }), async ({ engine }) => {
      let runs = 0;
      const result = await engine.transact(async (tx) => {
        await addOne(tx);
        return ++runs;
      });
      assert.equal(result, landed ? 1 : 2);
      assert.deepEqual(await count(engine), counter(1n));
    });
  });
}

Deno.test("1021: a write that landed does not refuse itself", async () => {
  await inWorld(first("commit", { code: 1021, landed: true }), async ({ engine }) => {
    const outcome = await engine.transact(async (tx) => {
      if (await tx.get(bytes("head")) !== undefined) return "refused";
      tx.set(bytes("head"), bytes("1"));
      return "written";
    });
    assert.equal(outcome, "written");
    assert.equal(await read(engine, "head"), "1");
  });
});

Deno.test("1021 for ever ends in EngineUnavailable", async () => {
  await inWorld((call) => call === "commit" ? { code: 1021 } : undefined, async (world) => {
    await assert.rejects(world.engine.transact(addOne), EngineUnavailable);
    assert.equal(await count(world.engine), undefined);
  });
});

Deno.test("1021: what may have landed is never refused as too slow", async () => {
  await inWorld(
    first("commit", undefined, { code: 1021, landed: true }),
    async ({ engine, database, clock }) => {
      // With its first write the engine also looks whether a backup runs.
      await write(engine, "a=1");
      const call = engine.transact(async (tx) => {
        await addOne(tx);
        // The rerun asks for the marker, and by then its versions are too old.
        const { plan } = database;
        database.plan = (kind, number) => {
          if (kind !== "read") return plan(kind, number);
          clock.ms += 4500;
          return { code: 1007 };
        };
      });
      await assert.rejects(call, EngineUnavailable);
    },
  );
});

Deno.test("a commit without a reply is not run again, for it may land later", async () => {
  await inWorld(first("commit", { hangs: true, landsLate: true }), async (world) => {
    const { engine, database } = world;
    let runs = 0;
    const call = engine.transact((tx) => (runs++, addOne(tx)));
    await assert.rejects(call, EngineUnavailable);
    assert.equal(runs, 1);
    database.landLate();
    assert.deepEqual(await count(engine), counter(1n));
  });
});

Deno.test("what is repeated under a key meets the late commit once, in either order", async () => {
  for (const isLateFirst of [true, false]) {
    await inWorld(first("commit", { hangs: true, landsLate: true }), async (world) => {
      const { engine, database } = world;
      async function once(): Promise<string> {
        return await engine.transact(async (tx) => {
          if (await tx.get(bytes("ledger")) !== undefined) return "replayed";
          tx.set(bytes("ledger"), bytes("done"));
          await addOne(tx);
          return "written";
        });
      }
      await assert.rejects(once(), EngineUnavailable);
      if (isLateFirst) database.landLate();
      assert.equal(await once(), isLateFirst ? "replayed" : "written");
      if (!isLateFirst) assert.throws(() => database.landLate(), { code: 1020 });
      assert.deepEqual(await count(engine), counter(1n));
    });
  }
});

Deno.test("any other failure of a commit is never followed by a rerun", async () => {
  for (const code of [1025, 1031, 1038, 1039, 1100, 1500, 4100, 6000]) {
    await inWorld(first("commit", { code, landed: true }), async ({ engine, database }) => {
      await assert.rejects(engine.transact(addOne), EngineUnavailable, String(code));
      assert.equal(database.counts.commit, 1, String(code));
    });
  }
});

Deno.test("limits that only the client finds are EngineLimitExceeded", async () => {
  for (const code of [2101, 2102, 2103]) {
    await inWorld(first("commit", { code }), async ({ engine }) => {
      await assert.rejects(engine.transact(addOne), EngineLimitExceeded);
    });
  }
});

Deno.test("what a proxy puts off is committed a moment later", async () => {
  const faults = [1009, 1037, 1042, 1051, 1078, 1213].map((code) => ({ code }));
  await inWorld(first("commit", ...faults), async ({ engine }) => {
    await engine.transact(addOne);
    assert.deepEqual(await count(engine), counter(1n));
  });
});

Deno.test("what a proxy puts off for over four seconds is EngineUnavailable", async () => {
  await inWorld(undefined, async ({ engine, database, clock }) => {
    database.plan = (call) => {
      if (call !== "commit") return undefined;
      clock.ms += 1000;
      return { code: 1042 };
    };
    await assert.rejects(engine.transact(addOne), EngineUnavailable);
  });
});

Deno.test("a read that is put off is asked again at the same version", async () => {
  await inWorld(undefined, async ({ engine, database }) => {
    await write(engine, "a=1 b=1");
    for (const code of [1009, 1037, 1039]) {
      const start = database.counts.read;
      database.plan = (call, number) =>
        call === "read" && number === start + 1 ? { code } : undefined;
      let runs = 0;
      const seen = await engine.snapshot(async (tx) => {
        runs++;
        const version = await tx.readVersion();
        await tx.get(bytes("a"));
        await write(engine, `b=${code}`);
        const b = await tx.get(bytes("b"));
        assert.equal(await tx.readVersion(), version);
        return b;
      });
      assert.notDeepEqual(seen, bytes(String(code)));
      assert.equal(runs, 1);
    }
  });
});

Deno.test("a read that is put off for ever is EngineUnavailable, also when swallowed", async () => {
  await inWorld(undefined, async ({ engine, database, clock }) => {
    database.plan = (call) => {
      if (call !== "read") return undefined;
      clock.ms += 500;
      return { code: 1037 };
    };
    await assert.rejects(read(engine, "a"), EngineUnavailable);
    const swallowing = engine.transact(async (tx) => {
      await tx.get(bytes("a")).catch(() => undefined);
      await addOne(tx);
    });
    await assert.rejects(swallowing, EngineUnavailable);
    database.plan = () => undefined;
    assert.equal(await count(engine), undefined);
  });
});

Deno.test("1007: a snapshot fails; a transaction is run again, three times", async () => {
  await inWorld(undefined, async ({ engine, database, clock }) => {
    let runs = 0;
    async function tooSlow(tx: Pick<Transaction, "get">): Promise<void> {
      runs++;
      await tx.get(bytes("a"));
      clock.ms += 4500;
      database.plan = (call) => call === "read" ? { code: 1007 } : undefined;
      try {
        await tx.get(bytes("b"));
      } finally {
        database.plan = () => undefined;
      }
    }
    await assert.rejects(engine.snapshot(tooSlow), EngineLimitExceeded);
    assert.equal(runs, 1);
    await assert.rejects(engine.transact(tooSlow), EngineLimitExceeded);
    assert.equal(runs, 4);
  });
});

Deno.test("five seconds end a transaction whatever the cluster would still allow", async () => {
  await inWorld(undefined, async ({ engine, database, clock }) => {
    let runs = 0;
    const call = engine.transact(async (tx) => {
      runs++;
      await tx.get(bytes("a"));
      clock.ms += 5001;
      await addOne(tx);
    });
    await assert.rejects(call, EngineLimitExceeded);
    assert.equal(runs, 3);
    assert.equal(database.counts.commit, 0);
  });
});

Deno.test("1007 of a young version is a recovery: the body runs again at a new one", async () => {
  const plan: ClientPlan = (call, number) =>
    number === 0 && call !== "version" ? { code: 1007 } : undefined;
  await inWorld(plan, async ({ engine }) => {
    let runs = 0;
    await engine.transact(async (tx) => {
      runs++;
      await tx.get(bytes("a"));
      await addOne(tx);
    });
    // Once for the read and once for the commit.
    assert.equal(runs, 3);
    assert.deepEqual(await count(engine), counter(1n));
  });
  await inWorld(plan, async ({ engine }) => {
    await assert.rejects(read(engine, "a"), EngineUnavailable);
  });
});

Deno.test("a transaction that always loses gives up after ten seconds", async () => {
  await inWorld(undefined, async ({ engine, clock }) => {
    let runs = 0;
    const losing = engine.transact(async (tx) => {
      runs++;
      await tx.get(bytes("a"));
      await write(engine, `a=${runs}`);
      clock.ms += 3000;
      await addOne(tx);
    });
    await assert.rejects(losing, EngineUnavailable);
    assert.equal(runs, 4);
  });
});

Deno.test("a cluster that does not answer is EngineUnavailable, and its return is seen", async () => {
  const calls: ClientCall[] = ["version", "read", "commit"];
  for (const hanging of calls) {
    await inWorld(undefined, async ({ engine, database }) => {
      let isAway = true;
      database.plan = (call) => isAway && call === hanging ? { hangs: true } : undefined;
      await assert.rejects(
        engine.transact(async (tx) => {
          await tx.get(bytes("a"));
          await addOne(tx);
        }),
        EngineUnavailable,
        hanging,
      );
      if (hanging !== "commit") await assert.rejects(count(engine), EngineUnavailable);
      isAway = false;
      await engine.transact(addOne);
      assert.deepEqual(await count(engine), counter(1n));
    });
  }
});

Deno.test("a body that leaves failing reads alone ends nothing but itself", async () => {
  await inWorld(first("read", { code: 1031 }), async ({ engine }) => {
    await assert.rejects(
      engine.snapshot((tx) => {
        tx.get(bytes("a"));
        throw new Error("own");
      }),
      /own/,
    );
    await new Promise((resolve) => setTimeout(resolve, 10));
  });
});

Deno.test("a watch that fails counts as a change, and the next one works", async () => {
  for (const fault of [{ code: 1032 }, { code: 1039 }, { hangs: true }] as ClientFault[]) {
    await inWorld(first("watch", fault), async ({ engine, database }) => {
      assert.equal(await engine.watch(bytes("w")).changed, true);
      const watch = engine.watch(bytes("w"));
      await write(engine, "w=1");
      assert.equal(await watch.changed, true);
      await engine.close();
      assert.equal(database.pendingWatches, 0);
    });
  }
});

Deno.test("a watch hears of commits of other nodes", async () => {
  await inWorld(undefined, async ({ engine, database }) => {
    const other = new FoundationdbEngine({ database, host: fakeHost("other") });
    const watch = engine.watch(bytes("w"));
    // Calls that begin after watch() wait until the watch is armed.
    assert.equal(await read(engine, "w"), undefined);
    await write(other, "w=1");
    assert.equal(await watch.changed, true);
    await other.close();
  });
});

Deno.test("waiters of one key share a native watch; the last to go takes it along", async () => {
  await inWorld(undefined, async ({ engine, database }) => {
    const watches = Array.from({ length: 50 }, () => engine.watch(bytes("w")));
    await read(engine, "w");
    assert.equal(database.pendingWatches, 1);
    for (const watch of watches) watch.cancel();
    assert.deepEqual(
      new Set(await Promise.all(watches.map((one) => one.changed))),
      new Set([false]),
    );
    await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal(database.pendingWatches, 0);
  });
});

Deno.test("close() leaves no native watch behind, armed or not", async () => {
  await inWorld(undefined, async ({ engine, database }) => {
    const armed = engine.watch(bytes("w"));
    await read(engine, "w");
    const unarmed = engine.watch(bytes("v"));
    await engine.close();
    assert.deepEqual([await armed.changed, await unarmed.changed], [false, false]);
    assert.equal(database.pendingWatches, 0);
    await assert.rejects(engine.transact(addOne), EngineClosed);
  });
});

Deno.test("markers are under the prefix and take the time of the host", async () => {
  const database = memoryDatabase();
  const host = fakeHost();
  const engine = new FoundationdbEngine({ database, host, prefix: bytes("pre") });
  await engine.transact(addOne);
  await engine.close();
  const raw = new FoundationdbEngine({ database, host });
  const all = { begin: new Uint8Array(), end: Uint8Array.of(0xff) };
  const pairs = await raw.snapshot((tx) => tx.getRange(all));
  const marker = pairs.find(({ key }) => key[3] === 0xfe)!;
  assert.equal(new DataView(marker.key.buffer).getBigUint64(4), BigInt(host.nowMs()));
  assert.ok(pairs.every(({ key }) => new TextDecoder().decode(key.subarray(0, 3)) === "pre"));
  await raw.close();
});

Deno.test("a prefix that leaves no room for long keys is refused", async () => {
  const opening = openFoundationdbEngine({ host: fakeHost(), prefix: new Uint8Array(5) });
  await assert.rejects(opening, /prefix of all keys has 5 bytes; 4 fit/);
});

Deno.test("measure() tells how many commits have lost, and no sizes: the store is elsewhere", async () => {
  const conflict = { code: 1020 };
  await inWorld(first("commit", conflict, conflict), async ({ engine }) => {
    await engine.transact(addOne);
    assert.deepEqual(await engine.measure(), { conflicts: 2 });
  });
});

Deno.test("findClusterFile() takes all forms that FoundationDB takes", async () => {
  const directory = await Deno.makeTempDir({ prefix: "daybook_" });
  const path = join(directory, "fdb.cluster");
  const texts = [
    "docker:docker@10.0.0.1:4500",
    "# a comment\n\nmy_cluster:a1B2c3@127.0.0.1:4500\n",
    "c:i@10.0.0.1:4500,10.0.0.2:4500,10.0.0.3:4500\n",
    "c:i@10.0.0.1:4500:tls,10.0.0.2:4500:tls\n",
    "c:i@[::1]:4500\n",
    "c:i@fdb-0.fdb.svc.cluster.local:4500\n",
  ];
  for (const text of texts) {
    await Deno.writeTextFile(path, text);
    assert.equal(await findClusterFile(path), path, text);
  }
  await Deno.remove(directory, { recursive: true });
});

Deno.test("findClusterFile() names the places where it looked", async () => {
  await assert.rejects(findClusterFile("/not/there"), /at \/not\/there\. Set FDB_CLUSTER_FILE/);
});

Deno.test("a store notes the format of the newest build, and refuses earlier ones", async () => {
  await inWorld(undefined, async ({ engine }) => {
    const enter = () => engine.transact(enterStore);
    assert.equal(await enter(), undefined);
    assert.equal(await enter(), undefined, "again");
    await engine.transact((tx) => Promise.resolve(tx.set(formatKey, Uint8Array.of(9, 1, 0, 0))));
    assert.match(
      (await enter())!,
      /^This cluster has format 265\. This build knows formats up to 8:/,
    );
  });
});

Deno.test("a store into which a restore was cut off is refused", async () => {
  await inWorld(undefined, async ({ engine }) => {
    await engine.transact((tx) => Promise.resolve(tx.set(restoringKey, Uint8Array.of(1))));
    assert.match((await engine.transact(enterStore))!, /^A restore into this cluster is running/);
  });
});
