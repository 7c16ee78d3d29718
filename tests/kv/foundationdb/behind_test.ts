/**
 * Transactions that read at the version of the last own commit instead of asking for the newest:
 * what they save, and that nobody can tell otherwise.
 */

import assert from "node:assert/strict";
import { kvLimits, type Transaction } from "../../../src/kv/engine.ts";
import { FoundationdbEngine } from "../../../src/kv/foundationdb/engine.ts";
import { bytes, read } from "../../contract/engine_fixture.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { type MemoryDatabase, memoryDatabase } from "../../support/memory_foundationdb.ts";

const EXPECTED = { expectsWrites: true };

interface World {
  readonly engine: FoundationdbEngine;
  /** Another process on the same cluster. */
  readonly other: FoundationdbEngine;
  readonly database: MemoryDatabase;
  readonly clock: { ms: number };
  /** How often a version was asked for while `body` ran. */
  asked(body: () => Promise<unknown>): Promise<number>;
}

async function withProcesses(body: (world: World) => Promise<void>): Promise<void> {
  const database = memoryDatabase();
  const clock = { ms: 0 };
  const open = (seed: string) =>
    new FoundationdbEngine({
      database,
      host: fakeHost(seed),
      nowMs: () => clock.ms,
      stallLimits: { turnMs: 5, turnsMax: 4 },
    });
  const [engine, other] = [open("a"), open("b")];
  async function asked(act: () => Promise<unknown>): Promise<number> {
    const before = database.counts.version;
    await act();
    return database.counts.version - before;
  }
  try {
    await body({ engine, other, database, clock, asked });
  } finally {
    await engine.close();
    await other.close();
  }
}

function put(engine: FoundationdbEngine, key: string, value: string): Promise<void> {
  return engine.transact((tx) => Promise.resolve(tx.set(bytes(key), bytes(value))));
}

/** Adds a character to a text that it reads. */
function append(key: string, character: string): (tx: Transaction) => Promise<string> {
  return async (tx) => {
    const before = await tx.get(bytes(key));
    const after = new TextDecoder().decode(before) + character;
    tx.set(bytes(key), bytes(after));
    return after;
  };
}

Deno.test("a write soon after another of this process asks for no version", async () => {
  await withProcesses(async ({ engine, clock, asked }) => {
    await put(engine, "a", "1");
    assert.equal(await asked(() => engine.transact(append("a", "2"), EXPECTED)), 0);
    clock.ms += 99;
    assert.equal(await asked(() => engine.transact(append("a", "3"), EXPECTED)), 0);
    clock.ms += 100;
    assert.equal(await asked(() => engine.transact(append("a", "4"), EXPECTED)), 1);
    assert.equal(await asked(() => engine.transact(append("a", "5"))), 1, "unless it says so");
    assert.equal(await read(engine, "a"), "12345");
  });
});

Deno.test("the first write of a process asks for a version", async () => {
  await withProcesses(async ({ engine, asked }) => {
    assert.equal(await asked(() => engine.transact(append("a", "1"), EXPECTED)), 1);
  });
});

Deno.test("what another process wrote meanwhile is read by the run that counts", async () => {
  await withProcesses(async ({ engine, other }) => {
    await put(engine, "a", "1");
    await put(other, "a", "2");
    assert.equal(await engine.transact(append("a", "3"), EXPECTED), "23");
    assert.equal(await read(engine, "a"), "23");
    assert.deepEqual(await engine.measure(), { conflicts: 0 }, "nobody lost against anybody");
  });
});

Deno.test("a run that writes nothing, throws, or reads without guard is repeated at the newest", async () => {
  await withProcesses(async ({ engine, other }) => {
    await put(engine, "a", "old");
    await put(other, "a", "new");
    const seen: string[] = [];
    const look = async (get: Transaction["get"]) => {
      const value = new TextDecoder().decode(await get(bytes("a")));
      seen.push(value);
      return value;
    };
    assert.equal(await engine.transact((tx) => look(tx.get.bind(tx)), EXPECTED), "new");
    await assert.rejects(
      engine.transact(async (tx) => {
        tx.set(bytes("b"), bytes("never"));
        throw new Error(await look(tx.get.bind(tx)));
      }, EXPECTED),
      { message: "new" },
    );
    const unguarded = await engine.transact(async (tx) => {
      tx.set(bytes("b"), bytes("x"));
      return await look(tx.unguarded.get);
    }, EXPECTED);
    assert.equal(unguarded, "new");
    assert.deepEqual(seen, ["old", "new", "old", "new", "old", "new"]);
    assert.equal(await read(engine, "b"), "x");
  });
});

Deno.test("what says that it reads without guard runs once, at the newest version", async () => {
  await withProcesses(async ({ engine, other, asked }) => {
    await put(engine, "a", "old");
    await put(other, "a", "new");
    let runs = 0;
    const body = async (tx: Transaction) => {
      runs++;
      tx.set(bytes("b"), bytes("x"));
      return new TextDecoder().decode(await tx.unguarded.get(bytes("a")));
    };
    const options = { ...EXPECTED, readsUnguarded: true };
    const before = await asked(async () => {
      assert.equal(await engine.transact(body, options), "new");
    });
    assert.deepEqual([runs, before], [1, 1]);
  });
});

Deno.test("what a body wrote before it threw is not there", async () => {
  await withProcesses(async ({ engine }) => {
    await put(engine, "a", "1");
    const transacted = engine.transact((tx) => {
      tx.set(bytes("a"), bytes("2"));
      return Promise.reject(new Error("no"));
    }, EXPECTED);
    await assert.rejects(transacted, { message: "no" });
    assert.equal(await read(engine, "a"), "1");
  });
});

Deno.test("a version that the cluster has lost is no failure", async () => {
  await withProcesses(async ({ engine, database, clock }) => {
    await put(engine, "a", "1");
    let reads = 0;
    database.plan = (call) => call === "read" && reads++ === 0 ? { code: 1007 } : undefined;
    assert.equal(await engine.transact(append("a", "2"), EXPECTED), "12");
    let commits = 0;
    database.plan = (call) => call === "commit" && commits++ === 0 ? { code: 1007 } : undefined;
    assert.equal(await engine.transact(append("a", "3"), EXPECTED), "123");
    assert.equal(clock.ms, 0);
  });
});

// A second run would wait as long again.
Deno.test("a cluster that does not answer is told of after one run", async () => {
  for (const kind of ["read", "commit"] as const) {
    await withProcesses(async ({ engine, database }) => {
      await put(engine, "a", "1");
      database.plan = (call) => call === kind ? { hangs: true } : undefined;
      let runs = 0;
      const transacted = engine.transact((tx) => (runs++, append("a", "2")(tx)), EXPECTED);
      await assert.rejects(transacted, { name: "EngineUnavailable" });
      assert.equal(runs, 1);
    });
  }
});

for (const landed of [true, false]) {
  Deno.test(`a commit whose reply is lost counts once (landed: ${landed})`, async () => {
    await withProcesses(async ({ engine, database }) => {
      await put(engine, "a", "1");
      let commits = 0;
      database.plan = (call) =>
        call === "commit" && commits++ === 0 ? { code: 1021, landed } : undefined;
      assert.equal(await engine.transact(append("a", "2"), EXPECTED), "12");
      assert.equal(await read(engine, "a"), "12");
    });
  });
}

Deno.test("a large write asks for its version, behind those of others", async () => {
  await withProcesses(async ({ engine, asked, database }) => {
    await put(engine, "a", "1");
    const large = { expectsWrites: true, bytes: kvLimits.largeBytesMin + 1 };
    assert.equal(await asked(() => engine.transact(append("a", "2"), large)), 1);
    assert.equal(database.stoodBack, 1);
    const small = { expectsWrites: true, bytes: kvLimits.largeBytesMin };
    assert.equal(await asked(() => engine.transact(append("a", "3"), small)), 0);
    assert.equal(database.stoodBack, 1);
    assert.equal(await read(engine, "a"), "123");
  });
});

Deno.test("what nobody waits for asks for its version, behind those of others", async () => {
  await withProcesses(async ({ engine, asked, database }) => {
    await put(engine, "a", "1");
    const work = { expectsWrites: true, isBackground: true };
    assert.equal(await asked(() => engine.transact(append("a", "2"), work)), 1);
    assert.equal(database.stoodBack, 1);
    assert.equal(await read(engine, "a"), "12");
  });
});

for (const fault of [{ hangs: true }, { code: 1051 }] as const) {
  const name = `a version that the cluster puts off (${JSON.stringify(fault)})`;
  Deno.test(`${name} is asked for again, among others`, async () => {
    await withProcesses(async ({ engine, asked, database }) => {
      await put(engine, "a", "1");
      const first = database.counts.version;
      database.plan = (call, number) => call === "version" && number === first ? fault : undefined;
      const write = () => engine.transact(append("a", "2"), { isBackground: true });
      assert.equal(await asked(write), 2);
      assert.equal(database.stoodBack, 1);
      assert.equal(await read(engine, "a"), "12");
    });
  });
}

Deno.test("a cluster that does not answer is asked by one large write, not by all that wait", async () => {
  await withProcesses(async ({ engine, asked, database }) => {
    await put(engine, "a", "1");
    database.plan = (call) => call === "version" ? { hangs: true } : undefined;
    const large = { bytes: kvLimits.largeBytesMin + 1 };
    const writes = () =>
      Promise.allSettled(["a", "b", "c"].map((key) => engine.transact(append(key, "2"), large)));
    let outcomes: PromiseSettledResult<string>[] = [];
    assert.equal(await asked(async () => void (outcomes = await writes())), 2);
    assert.deepEqual(
      outcomes.map((outcome) => outcome.status === "rejected" && outcome.reason.name),
      Array(3).fill("EngineUnavailable"),
    );
    database.plan = () => undefined;
    assert.equal(await engine.transact(append("a", "3"), large), "13");
  });
});

Deno.test("at the close, large writes that wait are refused, and the others end", async () => {
  const database = memoryDatabase();
  const engine = new FoundationdbEngine({ database, host: fakeHost("a") });
  const large = { bytes: kvLimits.largeBytesMin + 1 };
  const { promise, resolve } = Promise.withResolvers<void>();
  const first = engine.transact(async (tx) => {
    await promise;
    tx.set(bytes("a"), bytes("1"));
  }, large);
  const second = engine.transact(append("b", "1"), large);
  await new Promise((resolve) => setTimeout(resolve, 10));
  const closed = engine.close();
  await assert.rejects(second, { name: "EngineClosed" });
  resolve();
  await first;
  await closed;
});

Deno.test("large writes go one by one, and small ones pass them", async () => {
  await withProcesses(async ({ engine }) => {
    const order: string[] = [];
    let running = 0;
    const large = { expectsWrites: true, bytes: kvLimits.largeBytesMin + 1 };
    const runLarge = async (name: string) => {
      await engine.transact(async (tx) => {
        assert.equal(++running, 1);
        await append(name, "1")(tx);
        running--;
      }, large);
      order.push(name);
    };
    const runSmall = async () => {
      await engine.transact(append("d", "1"), EXPECTED);
      order.push("small");
    };
    await Promise.all([runLarge("a"), runLarge("b"), runLarge("c"), runSmall()]);
    assert.deepEqual(order.filter((name) => name !== "small"), ["a", "b", "c"]);
    assert.ok(order.indexOf("small") < order.indexOf("b"));
  });
});
