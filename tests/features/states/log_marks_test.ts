/**
 * Cached states on a store that other processes write to: one read of the commit log says for many
 * of them whether they are current. `tests/contract/nodes_write_contract.ts` reads them while
 * another node writes.
 */

import assert from "node:assert/strict";
import { type StreamKey, streamKey } from "../../../src/domain/identifier.ts";
import { openLogMarks } from "../../../src/features/states/log_marks.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { FoundationdbEngine } from "../../../src/kv/foundationdb/engine.ts";
import { keys } from "../../../src/store/keys.ts";
import { logCommit, type LogEntry } from "../../../src/store/feed/commit_log.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { type MemoryDatabase, memoryDatabase } from "../../support/memory_foundationdb.ts";

const TENANT = 7;
const ONE = streamKey("order", "1");
const TWO = streamKey("order", "2");

interface World {
  readonly engine: Engine;
  readonly database: MemoryDatabase;
  readonly clock: { ms: number };
  /** What one call answers together with two others, so that the log is read for them. */
  stands(mark: Mark): Promise<boolean>;
  mark(stream: StreamKey): Promise<Mark>;
}

type Marks = ReturnType<typeof openLogMarks>;
type Mark = NonNullable<ReturnType<Marks["mark"]>>;

async function inWorld(body: (world: World) => Promise<void>): Promise<void> {
  const database = memoryDatabase();
  const engine = new FoundationdbEngine({ database, host: fakeHost() });
  const clock = { ms: 0 };
  const marks = openLogMarks(engine, () => clock.ms);
  await log(engine, ONE);
  async function mark(stream: StreamKey): Promise<Mark> {
    for (let tries = 0; tries < 100; tries++) {
      const mark = marks.mark(TENANT, stream);
      if (mark !== undefined) return mark;
      clock.ms += 1_000;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    throw new Error("no mark");
  }
  async function stands(mark: Mark): Promise<boolean> {
    const answers = await Promise.all([mark, mark, mark].map(marks.stands));
    assert.equal(new Set(answers).size, 1);
    return answers[0]!;
  }
  try {
    await body({ engine, database, clock, stands, mark });
  } finally {
    await engine.close();
  }
}

function log(engine: Engine, stream: StreamKey, kind: "erased" | "appended" = "appended") {
  const entry: LogEntry = kind === "erased"
    ? { kind, stream }
    : { kind, stream, first: 0, count: 1 };
  return engine.transact((tx) => Promise.resolve(logCommit(tx, TENANT, [entry])));
}

Deno.test("a mark stands until the log tells of its stream, whatever it tells of others", async () => {
  await inWorld(async ({ engine, mark, stands }) => {
    for (const kind of ["appended", "erased"] as const) {
      const mine = await mark(ONE);
      assert.equal(await stands(mine), true);
      await log(engine, TWO, kind);
      assert.equal(await stands(mine), true);
      await log(engine, ONE, kind);
      assert.equal(await stands(mine), false);
      assert.equal(await stands(mine), false, "it never stands again");
      assert.equal(await stands(await mark(ONE)), true, "a new one does");
    }
  });
});

Deno.test("one read of the log answers for all of a turn, and none while the store stays as it is", async () => {
  await inWorld(async ({ engine, database, mark, stands }) => {
    const mine = await mark(ONE);
    async function readsOfOne(): Promise<number> {
      const before = database.counts.read;
      assert.equal(await stands(mine), true);
      return database.counts.read - before;
    }
    assert.equal(await readsOfOne(), 1);
    await readsOfOne();
    assert.equal(await readsOfOne(), 0);
    await log(engine, TWO);
    assert.equal(await readsOfOne(), 1);
    await log(engine, ONE);
    assert.equal(await stands(mine), false);
  });
});

Deno.test("no mark stands once the log was cleared, nor after more news than are read", async () => {
  const ways: ((engine: Engine) => Promise<unknown>)[] = [
    (engine) => engine.transact((tx) => Promise.resolve(tx.clearRange(keys.commitLog(TENANT)))),
    async (engine) => {
      for (let n = 0; n < 64; n++) await log(engine, TWO);
    },
  ];
  for (const happen of ways) {
    await inWorld(async ({ engine, mark, stands }) => {
      const mine = await mark(ONE);
      await happen(engine);
      assert.equal(await stands(mine), false);
      await log(engine, TWO);
      assert.equal(await stands(await mark(ONE)), true, "a new one does");
    });
  }
});
