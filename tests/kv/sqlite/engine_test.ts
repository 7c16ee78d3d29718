/** What the embedded engine promises beyond the contract: one owner, durability, time limits. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Engine, EngineLimitExceeded, EngineUnavailable } from "../../../src/kv/engine.ts";
import { openSqliteEngine, type SqliteEngineOptions } from "../../../src/kv/sqlite/engine.ts";
import { StoreInUse } from "../../../src/kv/sqlite/lock.ts";
import {
  bytes,
  content,
  everything,
  put,
  range,
  read,
  text,
  write,
} from "../../contract/engine_fixture.ts";

async function withFolder(body: (path: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "daybook_" });
  try {
    await body(join(directory, "store.sqlite"));
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

async function withEngine(
  options: Omit<SqliteEngineOptions, "path">,
  body: (engine: Engine, path: string) => Promise<void>,
): Promise<void> {
  await withFolder(async (path) => {
    const engine = openSqliteEngine({ path, ...options });
    try {
      await body(engine, path);
    } finally {
      await engine.close();
    }
  });
}

Deno.test("openSqliteEngine() refuses a second owner and says what to do", async () => {
  await withEngine({}, async (engine, path) => {
    assert.throws(() => openSqliteEngine({ path }), (error) => {
      assert.ok(error instanceof StoreInUse);
      assert.ok(error.message.includes(path));
      assert.match(error.message, /Stop that process/);
      return true;
    });
    await write(engine, "a=1");
    await engine.close();
    const next = openSqliteEngine({ path });
    assert.equal(await read(next, "a"), "1");
    await next.close();
  });
});

Deno.test("openSqliteEngine() refuses a store of another format and gives the lock up", async () => {
  await withFolder(async (path) => {
    await openSqliteEngine({ path }).close();
    setFormat(path, 99);
    assert.throws(() => openSqliteEngine({ path }), /format 99; this build reads up to 7/);
    setFormat(path, 0);
    assert.throws(() => openSqliteEngine({ path }), /format 0, which no release has written/);
    for (const format of [2, 3, 4]) {
      setFormat(path, format, "ALTER TABLE store DROP COLUMN redo");
      await openSqliteEngine({ path }).close();
    }
  });
});

function setFormat(path: string, format: number, change = ""): void {
  const db = new DatabaseSync(path);
  db.exec(`UPDATE store SET format = ${format}; ${change}`);
  db.close();
}

Deno.test("what was acknowledged before a kill -9 is there afterwards", async () => {
  await withFolder(async (path) => {
    for (let round = 0; round < 2; round++) {
      const acknowledged = await writeAndKill(path);
      const engine = openSqliteEngine({ path });
      const pairs = await engine.snapshot((tx) => tx.getRange(range("log", "loh")));
      const landed = new Set(pairs.map(({ value }) => text(value)));
      assert.ok(acknowledged.length > 50, `only ${acknowledged.length} writes`);
      for (const number of acknowledged) {
        assert.ok(landed.has(number), `write ${number} is lost`);
        assert.ok(await engine.snapshot((tx) => tx.get(bytes(`k${number}`))) !== undefined);
      }
      await engine.close();
    }
  });
});

/** Numbers that a child process had acknowledged when it was killed in the middle of its work. */
async function writeAndKill(path: string): Promise<string[]> {
  const script = new URL("./writing_process.ts", import.meta.url).pathname;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", "--no-check", script, path],
    stdout: "piped",
  }).spawn();
  let output = "";
  let isKilled = false;
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    output += decoder.decode(chunk);
    if (isKilled || output.length < 2000) continue;
    assert.throws(() => openSqliteEngine({ path }), StoreInUse);
    child.kill("SIGKILL");
    isKilled = true;
  }
  await child.status;
  return output.slice(0, output.lastIndexOf("\n")).split("\n");
}

Deno.test("on a full disk a commit fails whole, reads go on, and room brings it back", async () => {
  const value = new Uint8Array(50_000).fill(7);
  function fill(engine: Engine, prefix: string): Promise<void> {
    return engine.transact((tx) => {
      for (let i = 0; i < 20; i++) tx.set(bytes(`${prefix}${i}`), value);
      return Promise.resolve();
    });
  }
  await withEngine({ pagesMax: 400 }, async (engine) => {
    await write(engine, "a=1");
    await fill(engine, "first");
    const outcomes = await Promise.allSettled(["x", "y", "z"].map((name) => fill(engine, name)));
    for (const outcome of outcomes) {
      assert.ok(outcome.status === "rejected" && outcome.reason instanceof EngineUnavailable);
    }
    assert.equal(await read(engine, "a"), "1");
    assert.equal(await read(engine, "x0"), undefined);
    await engine.transact((tx) => (tx.clearRange(range("first", "firsu")), Promise.resolve()));
    await fill(engine, "x");
    assert.equal((await engine.snapshot((tx) => tx.getRange(everything))).length, 21);
  });
});

Deno.test("a failed commit leaves no conflict and no version behind", async () => {
  await withEngine({ pagesMax: 60 }, async (engine) => {
    await write(engine, "a=1");
    const before = await engine.snapshot((tx) => tx.readVersion());
    await assert.rejects(
      engine.transact((tx) => {
        put(tx, "a=2");
        for (let i = 0; i < 50; i++) tx.set(bytes(`b${i}`), new Uint8Array(50_000));
        return Promise.resolve();
      }),
      EngineUnavailable,
    );
    assert.equal(await engine.snapshot((tx) => tx.readVersion()), before);
    let runs = 0;
    await engine.transact(async (tx) => {
      runs++;
      assert.equal(text(await tx.get(bytes("a"))), "1");
      put(tx, "a=3");
    });
    assert.equal(runs, 1);
    assert.equal(await content(engine), "a=3");
  });
});

Deno.test("a snapshot fails after five seconds; a transaction is run again, three times", async () => {
  let nowMs = 0;
  await withEngine({ nowMs: () => nowMs }, async (engine) => {
    await write(engine, "a=1");
    await assert.rejects(
      engine.snapshot(async (tx) => {
        await tx.get(bytes("a"));
        nowMs += 5000;
        await tx.get(bytes("a"));
        nowMs += 1;
        await tx.get(bytes("a"));
      }),
      (error) => error instanceof EngineLimitExceeded && /older than 5 seconds/.test(error.message),
    );
    let runs = 0;
    await engine.transact(async (tx) => {
      await tx.get(bytes("a"));
      if (++runs < 3) nowMs += 6000;
      put(tx, `a=${await tx.get(bytes("b"))}`);
    });
    assert.equal(runs, 3);
    runs = 0;
    const tooSlow = engine.transact(async (tx) => {
      runs++;
      await tx.get(bytes("a"));
      nowMs += 6000;
      put(tx, "a=late");
    });
    await assert.rejects(tooSlow, EngineLimitExceeded);
    assert.equal(runs, 3);
    assert.equal(await read(engine, "a"), "undefined");
  });
});

Deno.test("a transaction that always loses gives up after ten seconds", async () => {
  let nowMs = 0;
  await withEngine({ nowMs: () => nowMs }, async (engine) => {
    await assert.rejects(
      engine.transact(async (tx) => {
        await tx.get(bytes("a"));
        nowMs += 1000;
        await write(engine, `a=${nowMs}`);
        put(tx, "b=1");
      }),
      (error) => error instanceof EngineUnavailable && /lost against others/.test(error.message),
    );
    assert.equal(nowMs, 11_000);
    assert.equal(await read(engine, "b"), undefined);
  });
});

Deno.test("measure() tells the sizes of both files and how many commits have lost", async () => {
  await withEngine({}, async (engine) => {
    await write(engine, "a=1");
    const before = await engine.measure();
    assert.equal(before.conflicts, 0);
    let runs = 0;
    await engine.transact(async (tx) => {
      await tx.get(bytes("a"));
      if (++runs <= 2) await write(engine, `a=${runs}`);
      put(tx, `b=${"x".repeat(90_000)}`);
    });
    const after = await engine.measure();
    assert.equal(after.conflicts, 2);
    assert.ok(after.bytes!.log! >= before.bytes!.log! + 90_000);
    assert.ok(after.bytes!.database! > 0);
  });
});

Deno.test("of more than 32 old versions the oldest is given up", async () => {
  await withEngine({}, async (engine) => {
    const open = Promise.withResolvers<void>();
    const held: Promise<string>[] = [];
    for (let i = 0; i < 34; i++) {
      await write(engine, `n=${i}`);
      const joined = Promise.withResolvers<void>();
      held.push(engine.snapshot(async (tx) => {
        await tx.get(bytes("n"));
        joined.resolve();
        await open.promise;
        return text(await tx.get(bytes("n")))!;
      }));
      await joined.promise;
    }
    await write(engine, "n=last");
    open.resolve();
    const outcomes = await Promise.allSettled(held);
    const given = outcomes.map((one) => one.status === "fulfilled" ? one.value : "given up");
    const expected = Array.from({ length: 34 }, (_, i) => i < 2 ? "given up" : String(i));
    assert.deepEqual(given, expected);
  });
});

Deno.test("the log stays short under load and beside readers of old versions", async () => {
  await withEngine({}, async (engine, path) => {
    let isOver = false;
    async function readOldVersions(): Promise<void> {
      while (!isOver) {
        const reading = engine.snapshot(async (tx) => {
          await tx.get(bytes("k1"));
          await new Promise((resolve) => setTimeout(resolve, 3));
          await tx.get(bytes("k2"));
        });
        // When the WAL must be ended, old versions are given up.
        await reading.catch((error) => assert.equal(error.name, "EngineUnavailable"));
      }
    }
    const reading = readOldVersions();
    // 160 MB in all, of which the WAL may hold only a part. Equal bytes would not be written.
    for (let round = 0; round < 100; round++) {
      const value = new Uint8Array(4000).fill(round);
      await Promise.all(Array.from({ length: 20 }, (_, i) =>
        engine.transact((tx) => {
          for (let j = 0; j < 20; j++) tx.set(bytes(`k${i * 20 + j}`), value);
          return Promise.resolve();
        })));
    }
    isOver = true;
    await reading;
    const logBytes = (await Deno.stat(`${path}-wal`)).size;
    assert.ok(logBytes < 100_000_000, `the log has ${logBytes} bytes`);
  });
});

Deno.test("getRange() is the same whatever it takes to read it: limits, directions, own writes", async () => {
  await withEngine({}, async (engine) => {
    const stored = Array.from({ length: 150 }, (_, i) => String(i).padStart(3, "0"));
    await engine.transact((tx) =>
      Promise.resolve(put(tx, stored.map((key) => `${key}=1`).join(" ")))
    );
    const all = range("0", "9");
    await engine.transact(async (tx) => {
      const model = new Set(stored);
      for (let step = 0; step < 150; step++) {
        const limit = 1 + step;
        const from = stored[(step * 37) % 150]!;
        const part = { ...all, begin: bytes(from) };
        for (const reverse of [false, true]) {
          const found = await tx.getRange(part, { limit, reverse });
          const keys = [...model].filter((key) => key >= from).sort();
          if (reverse) keys.reverse();
          assert.deepEqual(found.map(({ key }) => text(key)), keys.slice(0, limit));
        }
        // Between the reads one key is removed, and every second time another one is added.
        tx.clear(bytes(from));
        model.delete(from);
        if (step % 2 === 0) continue;
        tx.set(bytes(`${from}.`), bytes("2"));
        model.add(`${from}.`);
      }
    });
  });
});
