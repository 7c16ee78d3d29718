/** Lanes of deliveries and their marks. */

import assert from "node:assert/strict";
import type { Delivery, Lane } from "../../../src/domain/listener/delivery.ts";
import type { StreamKey } from "../../../src/domain/identifier.ts";
import { QUEUE_SHARDS } from "../../../src/domain/fairness/work_share.ts";
import type { Engine, RangeOptions, Transaction } from "../../../src/kv/engine.ts";
import {
  clearDelivery,
  countPending,
  encodeDelivery,
  laneOfTimer,
  laneShard,
  laneTimer,
  listLane,
  listMarkedLanes,
  listMarks,
  listPendingDeliveries,
  listTenantDeliveries,
  markLane,
  nextMarkedEndpoint,
  putDelivery,
  readDelivery,
  restLane,
} from "../../../src/store/listeners/deliveries.ts";
import { listDueTimers } from "../../../src/store/timers.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const NOW = 1_000_000;

function lane(tenant: number, listener: string, stream: string): Lane {
  return { tenant, listener, stream: stream as StreamKey };
}

function delivery(id: string, dueMs = 0): Delivery {
  const url = "https://example.com/";
  return { id, sinceMs: NOW, dueMs, url, tries: [], triesBefore: 0 };
}

async function put(engine: Engine, at: Lane, index: number, dueMs?: number): Promise<void> {
  await engine.transact((tx) => {
    putDelivery(tx, at, index, encodeDelivery(delivery(`${index}`, dueMs)));
    markLane(tx, at);
    return Promise.resolve();
  });
}

async function marks(engine: Engine): Promise<Lane[]> {
  const shards = Array.from({ length: QUEUE_SHARDS.lane }, (_, shard) => shard);
  const lists = await engine.snapshot((tx) =>
    Promise.all(shards.map((shard) => listMarks(tx, shard, 100)))
  );
  return lists.flat();
}

async function timers(engine: Engine) {
  const shards = Array.from({ length: QUEUE_SHARDS.timer }, (_, shard) => shard);
  const lists = await engine.snapshot((tx) =>
    Promise.all(shards.map((shard) => listDueTimers(tx, shard, { nowMs: 10 * NOW, limit: 100 })))
  );
  return lists.flat();
}

Deno.test("a lane gives its deliveries in the order of the stream, whenever they were put in", async () => {
  await withTemporaryEngine(async (engine) => {
    const own = lane(1, "hook", "order:a");
    for (const index of [300, 2, 17]) await put(engine, own, index);
    for (
      const other of [
        lane(1, "hook", "order:b"),
        lane(1, "hoo", "order:a"),
        lane(2, "hook", "order:a"),
      ]
    ) {
      await put(engine, other, 1);
    }
    const list = (limit: number) => engine.snapshot((tx) => listLane(tx, own, limit));
    assert.deepEqual((await list(10)).map(({ index }) => index), [2, 17, 300]);
    assert.deepEqual((await list(1)).map(({ index }) => index), [2]);
    await engine.transact((tx) => Promise.resolve(clearDelivery(tx, own, 2)));
    assert.deepEqual((await list(10)).map(({ index }) => index), [17, 300]);
    assert.equal(await engine.snapshot((tx) => readDelivery(tx, own, 2)), undefined);
    assert.deepEqual(await engine.snapshot((tx) => readDelivery(tx, own, 17)), delivery("17"));
  });
});

Deno.test("a mark stays while something is due, gives way to a timer, and goes with the last one", async () => {
  await withTemporaryEngine(async (engine) => {
    const own = lane(1, "hook", "order:a");
    const rest = (nowMs: number) => engine.transact((tx) => restLane(tx, own, nowMs));
    await put(engine, own, 1, NOW + 5);
    assert.equal(await rest(NOW + 5), true);
    assert.deepEqual(await marks(engine), [own]);
    assert.equal(await rest(NOW + 4), false);
    assert.deepEqual(await marks(engine), []);
    assert.deepEqual(await timers(engine), [laneTimer(own, NOW + 5)]);
    await engine.transact((tx) => Promise.resolve(markLane(tx, own)));
    await engine.transact((tx) => Promise.resolve(clearDelivery(tx, own, 1)));
    assert.equal(await rest(NOW), false);
    assert.deepEqual(await marks(engine), []);
  });
});

Deno.test("what is put in while a mark is taken away keeps its mark, whichever commits first", async () => {
  for (const isFirst of [true, false]) {
    await withTemporaryEngine(async (engine) => {
      const own = lane(1, "hook", "order:a");
      await engine.transact((tx) => Promise.resolve(markLane(tx, own)));
      let runs = 0;
      await engine.transact(async (tx: Transaction) => {
        runs++;
        if (isFirst && runs === 1) {
          await restLane(tx, own, NOW);
          await put(engine, own, 7);
          return;
        }
        await restLane(tx, own, NOW);
      });
      if (!isFirst) await put(engine, own, 7);
      assert.deepEqual(await marks(engine), [own]);
      assert.equal(runs, isFirst ? 2 : 1, "the conflict was seen");
    });
  }
});

Deno.test("marked lanes are found listener by listener, page by page", async () => {
  await withTemporaryEngine(async (engine) => {
    const all: Lane[] = [];
    for (const listener of ["a", "b"]) {
      for (let number = 0; number < 60; number++) {
        const each = lane(3, listener, `order:${number}`);
        all.push(each);
        await engine.transact((tx) => Promise.resolve(markLane(tx, each)));
      }
    }
    const found: Lane[] = [];
    for (let shard = 0; shard < QUEUE_SHARDS.lane; shard++) {
      let at = await engine.snapshot((tx) => nextMarkedEndpoint(tx, shard, undefined));
      while (at !== undefined) {
        const endpoint = at;
        let after: StreamKey | undefined;
        for (;;) {
          const page = await engine.snapshot((tx) =>
            listMarkedLanes(tx, shard, endpoint, { after, limit: 2 })
          );
          found.push(...page);
          if (page.length < 2) break;
          after = page.at(-1)!.stream;
        }
        at = await engine.snapshot((tx) => nextMarkedEndpoint(tx, shard, endpoint));
      }
    }
    const texts = (lanes: readonly Lane[]) => lanes.map((each) => JSON.stringify(each)).sort();
    assert.deepEqual(texts(found), texts(all));
    assert.ok(new Set(all.map(laneShard)).size > 10, "over the shards");
  });
});

Deno.test("what waits is listed by listener, and of an environment, from any place on", async () => {
  await withTemporaryEngine(async (engine) => {
    for (const listener of ["a", "b"]) {
      for (const stream of ["order:x", "order:y"]) {
        for (const index of [1, 2]) await put(engine, lane(1, listener, stream), index);
      }
    }
    const of = { tenant: 1, listener: "a" };
    const first = await engine.snapshot((tx) => listPendingDeliveries(tx, of, undefined, 3));
    assert.deepEqual(
      first.map(({ stream, index }) => [stream, index]),
      [["order:x", 1], ["order:x", 2], ["order:y", 1]],
    );
    const rest = await engine.snapshot((tx) => listPendingDeliveries(tx, of, first.at(-1), 3));
    assert.deepEqual(rest.map(({ stream, index }) => [stream, index]), [["order:y", 2]]);
    const all = await engine.snapshot((tx) => listTenantDeliveries(tx, 1, undefined, 100));
    assert.equal(all.length, 8);
    const later = await engine.snapshot((tx) => listTenantDeliveries(tx, 1, all[4], 100));
    assert.deepEqual(later, all.slice(5));
  });
});

Deno.test("what waits for one listener is counted by its keys, up to a limit", async () => {
  await withTemporaryEngine(async (engine) => {
    for (const listener of ["a", "b"]) {
      for (const index of [1, 2, 3]) await put(engine, lane(1, listener, "order:x"), index);
    }
    const reads: RangeOptions[] = [];
    const count = (countMax: number) =>
      engine.snapshot((tx) => {
        const getRange: typeof tx.getRange = (range, options = {}) => {
          reads.push(options);
          return tx.getRange(range, options);
        };
        return countPending({ getRange }, { tenant: 1, listener: "a" }, countMax);
      });
    assert.equal(await count(10), 3);
    assert.equal(await count(2), 2);
    assert.deepEqual(reads.map(({ keysOnly }) => keysOnly), [true, true]);
  });
});

Deno.test("the timer of a lane leads back to it", () => {
  const own = lane(5, "hook", "order:5b3e1a7c-9d24-4f6a-8b1e-000000000001:tag");
  assert.deepEqual(laneOfTimer(laneTimer(own, NOW)), own);
});
