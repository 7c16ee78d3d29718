/**
 * The commit log and its cursors, with a reader as a real one would be. Failures that other
 * systems had are tested by name: commits that become visible out of order, cursors ahead of
 * their effects, effects done twice.
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { type StreamKey, streamKey } from "../../src/domain/stream_key.ts";
import { commitLogShard } from "../../src/domain/fairness/work_share.ts";
import type { Bytes, Engine } from "../../src/kv/engine.ts";
import { logCommit, readCommits, readShards, removeCommits } from "../../src/store/commit_log.ts";
import { LOG_SHARDS, readLog, readStep, registerReader, timesSeen } from "../support/log_reader.ts";
import { eventsOf, reactiveSpec, setOff, setOffAll, write } from "../support/reactive_spec.ts";
import { uuid, withService } from "../support/service_fixture.ts";
import { withTemporaryEngine } from "../support/temporary_engine.ts";
import { faultyEngine } from "../support/faulty_engine.ts";

const TENANT = 9;

function shardOfStream(stream: StreamKey, tenant = TENANT): number {
  return commitLogShard(`${tenant}/${stream}`);
}

function log(engine: Engine, stream: StreamKey, first: number, count = 1): Promise<void> {
  return engine.transact((tx) => Promise.resolve(logCommit(tx, TENANT, { stream, first, count })));
}

Deno.test("readCommits() gives commits in their order, from any position on", async () => {
  await withTemporaryEngine(async (engine) => {
    const stream = streamKey("order", "a");
    for (let n = 0; n < 300; n++) await log(engine, stream, n);
    const shard = shardOfStream(stream);
    let position: Bytes | undefined;
    const firsts: number[] = [];
    for (;;) {
      const page = await engine.snapshot((tx) =>
        readCommits(tx, TENANT, { shard, position, limit: 7 })
      );
      if (page.length === 0) break;
      firsts.push(...page.map(({ first }) => first));
      position = page.at(-1)!.position;
    }
    assert.deepEqual(firsts, Array.from({ length: 300 }, (_, n) => n));
  });
});

Deno.test("all streams of one commit are in the log, each in its shard", async () => {
  await withTemporaryEngine(async (engine) => {
    const streams = Array.from({ length: 200 }, (_, n) => streamKey("order", uuid(n)));
    await engine.transact((tx) => {
      for (const stream of streams) logCommit(tx, TENANT, { stream, first: 5, count: 2 });
      return Promise.resolve();
    });
    const lists = await engine.snapshot((tx) =>
      Promise.all(
        LOG_SHARDS.map((shard) =>
          readCommits(tx, TENANT, { shard, position: undefined, limit: 1_000 })
        ),
      )
    );
    assert.ok(lists.every((list) => list.length > 0));
    const found = lists.flat().map(({ stream }) => stream);
    assert.deepEqual(found.toSorted(), streams.toSorted());
    const [one] = lists.flat();
    assert.deepEqual([one!.first, one!.count], [5, 2]);
  });
});

Deno.test("a reader never finds anything before a position it has seen", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: 5 }), { maxLength: 30 }), async (pauses) => {
      await withTemporaryEngine(async (engine) => {
        const stream = streamKey("order", "a");
        const shard = shardOfStream(stream);
        const writers = pauses.map(async (pause, n) => {
          await engine.transact(async (tx) => {
            // Begins early, commits late: other systems number by the begin.
            for (let turn = 0; turn < pause; turn++) await new Promise((r) => setTimeout(r, 0));
            logCommit(tx, TENANT, { stream, first: n, count: 1 });
          });
        });
        let position: Bytes | undefined;
        const seen: number[] = [];
        const read = async () => {
          const page = await engine.snapshot((tx) =>
            readCommits(tx, TENANT, { shard, position, limit: 3 })
          );
          seen.push(...page.map(({ first }) => first));
          position = page.at(-1)?.position ?? position;
          return page.length;
        };
        const writing = Promise.all(writers);
        let isOver = false;
        writing.then(() => isOver = true);
        while (!isOver) {
          await read();
          await new Promise((r) => setTimeout(r, 0));
        }
        while (await read() > 0);
        assert.deepEqual(seen.toSorted((a, b) => a - b), pauses.map((_, n) => n));
      });
    }),
    { numRuns: 20 },
  );
});

for (const landed of [true, false]) {
  Deno.test(`cursor and effect commit together when a reply is lost (landed: ${landed})`, async () => {
    await withTemporaryEngine(async (inner) => {
      const stream = streamKey("order", "a");
      for (let n = 0; n < 10; n++) await log(inner, stream, n);
      const engine = faultyEngine(inner, () => ({ kind: "lose_reply", landed }));
      // Every commit of the reader loses its reply; those that did not land never do.
      const shard = shardOfStream(stream);
      if (!landed) {
        await assert.rejects(readStep(engine, TENANT, shard, 3), { name: "EngineUnavailable" });
        assert.equal(await timesSeen(inner, TENANT, stream, 0), 0);
        assert.equal(await readStep(inner, TENANT, shard, 100), 10);
      } else while (await readStep(engine, TENANT, shard, 3) > 0);
      for (let n = 0; n < 10; n++) assert.equal(await timesSeen(inner, TENANT, stream, n), 1);
    });
  });
}

Deno.test("two readers under one name see each commit once between them", async () => {
  await withTemporaryEngine(async (engine) => {
    const stream = streamKey("order", "a");
    for (let n = 0; n < 60; n++) await log(engine, stream, n);
    const shard = shardOfStream(stream);
    const readers = [1, 2, 3].map(async () => {
      while (await readStep(engine, TENANT, shard, 4) > 0);
    });
    await Promise.all(readers);
    for (let n = 0; n < 60; n++) assert.equal(await timesSeen(engine, TENANT, stream, n), 1);
  });
});

Deno.test("removeCommits() removes what it is given, and nothing else", async () => {
  await withTemporaryEngine(async (engine) => {
    const stream = streamKey("order", "a");
    for (let n = 0; n < 10; n++) await log(engine, stream, n);
    const shard = shardOfStream(stream);
    const read = () =>
      engine.snapshot((tx) => readCommits(tx, TENANT, { shard, position: undefined, limit: 100 }));
    const some = (await read()).slice(0, 4);
    await engine.transact((tx) => Promise.resolve(removeCommits(tx, TENANT, some)));
    assert.deepEqual((await read()).map(({ first }) => first), [4, 5, 6, 7, 8, 9]);
  });
});

Deno.test("readShards() gives the commits of neighbouring shards as each has them", async () => {
  await withTemporaryEngine(async (engine) => {
    for (let n = 0; n < 60; n++) await log(engine, streamKey("order", `s${n}`), n);
    for (const [shard, end] of [[0, 16], [0, 1], [5, 9], [15, 16], [3, 3]] as const) {
      const shards = LOG_SHARDS.filter((each) => each >= shard && each < end);
      const [one, all] = await engine.snapshot(async (tx) => [
        await readShards(tx, TENANT, { shard, end }, 1_000),
        await Promise.all(
          shards.map((each) =>
            readCommits(tx, TENANT, { shard: each, position: undefined, limit: 1_000 })
          ),
        ),
      ]);
      assert.deepEqual(one, all.flat());
      assert.ok(one.every((commit) => commit.shard === shardOfStream(commit.stream)));
    }
    const some = await engine.snapshot((tx) => readShards(tx, TENANT, { shard: 0, end: 16 }, 7));
    assert.equal(some.length, 7);
  });
});

Deno.test("a reader sees every event of clients and of implications, once it is registered", async () => {
  await withService(async ({ service, engine, tenants: { test } }) => {
    await write(service, test, setOff(uuid(9), "was_paid"));
    await registerReader(engine, test.number);
    const events = [1, 2, 3].map(() => ({ type: "was_placed", data: {} }));
    await Promise.all([1, 2].map((n) => write(service, test, setOffAll(uuid(n), events))));
    await readLog(engine, test.number, 2);
    for (const n of [1, 2]) {
      for (const type of ["order", "ledger"]) {
        const { length } = await eventsOf(service, test, type, uuid(n));
        assert.equal(length, 3);
        for (let index = 0; index < length; index++) {
          const stream = streamKey(type, uuid(n));
          assert.equal(
            await timesSeen(engine, test.number, stream, index),
            1,
            `${stream} ${index}`,
          );
        }
      }
    }
    assert.equal(await timesSeen(engine, test.number, streamKey("order", uuid(9)), 0), 0);
  }, { spec: reactiveSpec });
});
