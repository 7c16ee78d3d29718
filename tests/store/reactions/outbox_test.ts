/** The outbox: entries in the order of their events, taken out once, large ones split. */

import assert from "node:assert/strict";
import type {
  EmitEntry,
  OutboxPlace,
  OutboxWork,
  WaitingEntry,
} from "../../../src/domain/reaction/outbox_entry.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import { QUEUE_SHARDS } from "../../../src/domain/fairness/work_share.ts";
import type { Bytes, Engine } from "../../../src/kv/engine.ts";
import { keys } from "../../../src/store/keys.ts";
import {
  clearEntry,
  countOutbox,
  hasEntry,
  listOutbox,
  outboxShard,
  parkEntry,
  putEntry,
  replaceEntry,
  signalOutbox,
} from "../../../src/store/reactions/outbox.ts";
import { countParked } from "../../../src/store/reactions/parked_work.ts";
import { encodeEntry } from "../../../src/store/reactions/entry_bytes.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const TENANT = 3;

function placeOf(id: string, index = 0, number = 0): OutboxPlace {
  return { tenant: TENANT, stream: streamKey("order", id), index, number };
}

function waitingEntry(text = "", tries = 0): WaitingEntry {
  const entry: EmitEntry = {
    kind: "emit",
    emission: {
      key: streamKey("ledger", "global"),
      aggregateType: "ledger",
      id: "global",
      eventType: "was_noted",
      data: { text },
    },
    actor: { type: "user", id: "global" },
    eventType: "was_placed",
    depth: 1,
    requestId: "request-1",
  };
  return { entry, sinceMs: 1_000, waitMs: 1_000, tries };
}

async function put(engine: Engine, place: OutboxPlace, waiting = waitingEntry()) {
  const value = encodeEntry(waiting);
  await engine.transact((tx) => Promise.resolve(putEntry(tx, place, value)));
}

/** All entries of one shard, read in pages of `limit`. */
async function listAll(engine: Engine, shard: number, limit: number): Promise<OutboxWork[]> {
  const all: OutboxWork[] = [];
  let start: Bytes | undefined;
  do {
    const page = await engine.snapshot((tx) => listOutbox(tx, shard, { start, limit }));
    all.push(...page.works);
    start = page.next;
  } while (start !== undefined);
  return all;
}

/** Everything under the tenant: parts of large values. */
function tenantKeys(engine: Engine) {
  return engine.snapshot((tx) => tx.getRange(keys.tenant(TENANT)));
}

Deno.test("listOutbox() gives what was put in, in the order of events and their actions", async () => {
  await withTemporaryEngine(async (engine) => {
    const places = [[10, 0], [2, 1], [2, 0], [300, 0], [2, 11]] as const;
    for (const [index, number] of places) await put(engine, placeOf("a", index, number));
    for (const limit of [1, 2, 5, 100]) {
      const works = await listAll(engine, outboxShard(placeOf("a")), limit);
      const found = works.map(({ place }) => [place.index, place.number]);
      assert.deepEqual(found, [[2, 0], [2, 1], [2, 11], [10, 0], [300, 0]]);
    }
    const { works: [work] } = await engine.snapshot((tx) =>
      listOutbox(tx, outboxShard(placeOf("a")), { limit: 1 })
    );
    const { bytes, place, ...waiting } = work!;
    assert.deepEqual(waiting, waitingEntry());
    assert.deepEqual(place, placeOf("a", 2, 0));
    assert.equal(bytes, encodeEntry(waitingEntry()).length);
  });
});

Deno.test("outboxShard() is the same for all events of a stream, and spreads streams", () => {
  assert.equal(outboxShard(placeOf("a", 1, 2)), outboxShard(placeOf("a", 7, 0)));
  const shards = new Set(Array.from({ length: 500 }, (_, n) => outboxShard(placeOf(`${n}`))));
  assert.equal(shards.size, QUEUE_SHARDS.outbox);
});

Deno.test("clearEntry() leaves nothing of a small entry or of one in pieces", async () => {
  await withTemporaryEngine(async (engine) => {
    for (const text of ["", "x".repeat(250_000)]) {
      const place = placeOf("a");
      await put(engine, place, waitingEntry(text));
      assert.equal((await tenantKeys(engine)).length, text === "" ? 0 : 3);
      const [work] = await listAll(engine, outboxShard(place), 10);
      assert.deepEqual((work!.entry as EmitEntry).emission.data, { text });
      assert.ok(await engine.snapshot((tx) => hasEntry(tx, place)));
      await engine.transact((tx) => Promise.resolve(clearEntry(tx, work!)));
      assert.equal(await engine.snapshot((tx) => hasEntry(tx, place)), false);
      assert.equal((await tenantKeys(engine)).length, 0);
    }
  });
});

Deno.test("replaceEntry() keeps the place and changes the time, also in pieces", async () => {
  await withTemporaryEngine(async (engine) => {
    const place = placeOf("a");
    const before = waitingEntry("x".repeat(150_000));
    await put(engine, place, before);
    const [work] = await listAll(engine, outboxShard(place), 10);
    const after = { ...before, sinceMs: 9_000, waitMs: 77, tries: 1 };
    await engine.transact((tx) => Promise.resolve(replaceEntry(tx, work!, after)));
    const [{ place: _, bytes: __, ...found } = work!, ...more] = await listAll(
      engine,
      outboxShard(place),
      10,
    );
    assert.deepEqual([found, more], [after, []]);
  });
});

Deno.test("parkEntry() takes an entry out of the outbox and keeps it whole", async () => {
  await withTemporaryEngine(async (engine) => {
    const place = placeOf("a");
    await put(engine, place, waitingEntry("x".repeat(150_000)));
    const [work] = await listAll(engine, outboxShard(place), 10);
    await engine.transact((tx) => Promise.resolve(parkEntry(tx, work!)));
    const counts = await engine.snapshot(async (tx) => [
      await countOutbox(tx, outboxShard(place), 100),
      await countParked(tx, 100),
    ]);
    assert.deepEqual(counts, [0, 1]);
    assert.equal((await tenantKeys(engine)).length, 2, "the pieces are there");
  });
});

Deno.test("countOutbox() counts its shard alone, and no further than it is asked to", async () => {
  await withTemporaryEngine(async (engine) => {
    for (let n = 0; n < 50; n++) await put(engine, placeOf("a", n));
    const full = outboxShard(placeOf("a"));
    for (let shard = 0; shard < QUEUE_SHARDS.outbox; shard++) {
      const count = await engine.snapshot((tx) => countOutbox(tx, shard, 1_000));
      assert.equal(count, shard === full ? 50 : 0);
    }
    assert.equal(await engine.snapshot((tx) => countOutbox(tx, full, 7)), 7);
  });
});

Deno.test("countOutbox() and countParked() end early where entries are large", async () => {
  await withTemporaryEngine(async (engine) => {
    const shard = outboxShard(placeOf("a"));
    for (let n = 0; n < 30; n++) {
      await put(engine, placeOf("a", n), waitingEntry("x".repeat(90_000)));
    }
    const waiting = await engine.snapshot((tx) => countOutbox(tx, shard, 1_000));
    assert.ok(waiting > 1 && waiting < 30, `${waiting}`);
    for (const work of await listAll(engine, shard, 10)) {
      await engine.transact((tx) => Promise.resolve(parkEntry(tx, work)));
    }
    const parked = await engine.snapshot((tx) => countParked(tx, 1_000));
    assert.ok(parked > 1 && parked < 30, `${parked}`);
  });
});

Deno.test("a page of large entries ends early, and the next one goes on behind it", async () => {
  await withTemporaryEngine(async (engine) => {
    for (let n = 0; n < 30; n++) {
      await put(engine, placeOf("a", n), waitingEntry("x".repeat(90_000)));
    }
    const shard = outboxShard(placeOf("a"));
    const page = await engine.snapshot((tx) => listOutbox(tx, shard, { limit: 100 }));
    assert.ok(page.works.length < 30);
    assert.ok(page.next !== undefined);
    const all = await listAll(engine, shard, 100);
    assert.deepEqual(all.map(({ place }) => place.index), Array.from({ length: 30 }, (_, n) => n));
    // Each is larger than a page may be, so it is alone on its page.
    const alone = await engine.snapshot((tx) => listOutbox(tx, shard, { limit: 100, bytesMax: 1 }));
    assert.equal(alone.works.length, 1);
    assert.ok(alone.next !== undefined);
  });
});

Deno.test("signalOutbox() changes the key that workers watch, without a conflict", async () => {
  await withTemporaryEngine(async (engine) => {
    const watch = engine.watch(keys.outboxSignal());
    await Promise.all(
      [1, 2, 3].map(() => engine.transact((tx) => Promise.resolve(signalOutbox(tx)))),
    );
    assert.equal(await watch.changed, true);
  });
});

Deno.test("hasEntry() guards: of two that take one entry, one finds it gone", async () => {
  await withTemporaryEngine(async (engine) => {
    const place = placeOf("a");
    await put(engine, place);
    const [work] = await listAll(engine, outboxShard(place), 1);
    const taken = await Promise.all([1, 2, 3].map(() =>
      engine.transact(async (tx) => {
        if (!await hasEntry(tx, place)) return 0;
        clearEntry(tx, work!);
        return 1;
      })
    ));
    assert.deepEqual(taken.toSorted(), [0, 0, 1]);
  });
});
