/**
 * The checkpoint and the effect it stands for diverge. A process dies between the two, a later
 * event is acknowledged before an earlier one, or a page ends amid events that share one
 * position. An event is lost if the checkpoint was ahead, and handled twice if it was behind.
 *
 * Published by: KurrentDB, librdkafka, prooph, sarama-cluster, Debezium, YugabyteDB, Eventuous.
 */

import assert from "node:assert/strict";
import { streamKey } from "../../src/domain/identifier.ts";
import { wrapEngine } from "../../src/kv/calls.ts";
import type { Bytes, Engine, Transaction } from "../../src/kv/engine.ts";
import { logCommit } from "../../src/store/feed/commit_log.ts";
import { faultyEngine } from "../support/faulty_engine.ts";
import { heldEngine } from "../support/held_engine.ts";
import {
  idsOf,
  moveCursor,
  nextEntries,
  readCursor,
  readLog,
  readStep,
  timesSeenOf,
} from "../support/log_reader.ts";
import { poisonedEngine } from "../support/poisoned_engine.ts";
import { setOff, write } from "../support/reactive_spec.ts";
import { ACTOR, uuid, valueOf } from "../support/service_fixture.ts";
import { withTemporaryEngine } from "../support/temporary_engine.ts";
import { countNotes, withShop, workOn } from "./shop.ts";

const TENANT = 9;

/** Logs six commits. */
async function logSix(engine: Engine): Promise<readonly string[]> {
  const ids = idsOf(6);
  for (const id of ids) {
    const entry = { kind: "appended", stream: streamKey("order", id), first: 0, count: 1 } as const;
    await engine.transact((tx) => Promise.resolve(logCommit(tx, TENANT, [entry])));
  }
  return ids;
}

function textKey(text: string): Bytes {
  return new TextEncoder().encode(text);
}

/**
 * The control: handles six events, each with two transactions, one for the effect and one for
 * the checkpoint. It dies before transaction number `diesAt` and is started again. Returns how
 * often each event was handled.
 */
async function handleInTwo(
  engine: Engine,
  first: "checkpoint" | "effect",
  diesAt: number,
): Promise<number[]> {
  const handled = Array.from({ length: 6 }, () => 0);
  const place = textKey(`checkpoint ${first} ${diesAt}`);
  let transactions = 0;
  const step = (body: (tx: Transaction) => void) => {
    if (transactions++ === diesAt) throw new Error("dead");
    return engine.transact((tx) => Promise.resolve(body(tx)));
  };
  async function run(): Promise<void> {
    for (;;) {
      const checkpoint = await engine.snapshot((tx) => tx.get(place));
      const number = checkpoint === undefined ? 0 : checkpoint[0]!;
      if (number === handled.length) return;
      const move = () => step((tx) => tx.set(place, Uint8Array.of(number + 1)));
      const handle = async () => {
        await step((tx) => tx.add(textKey("effect"), 1n));
        handled[number]!++;
      };
      await (first === "checkpoint" ? move() : handle());
      await (first === "checkpoint" ? handle() : move());
    }
  }
  await run().catch(() => run());
  return handled;
}

// confluentinc/librdkafka#1122: with automatic commits the offset is stored before the
// application gets the message. kurrent-io/KurrentDB#1301: a checkpoint covered what had been
// sent, not what was handled, and after a restart reading began there.
// prooph/proophessor-do-symfony#17: killed between the read model and its position, a
// projection handled events again.
Deno.test("a reader that dies at any moment has handled each event once (librdkafka, KurrentDB, prooph)", async () => {
  await withTemporaryEngine(async (engine) => {
    assert.deepEqual(await handleInTwo(engine, "checkpoint", 5), [1, 1, 0, 1, 1, 1]);
    assert.deepEqual(await handleInTwo(engine, "effect", 5), [1, 1, 2, 1, 1, 1]);
  });
  for (const landed of [true, false]) {
    for (const diesAt of [0, 1, 2]) {
      await withTemporaryEngine(async (engine) => {
        const ids = await logSix(engine);
        const plan = (commit: number) =>
          commit === diesAt ? { kind: "unavailable", landed } as const : undefined;
        const dying = faultyEngine(engine, plan);
        const reading = async () => {
          while (await readStep(dying, TENANT, 2) > 0);
        };
        await assert.rejects(reading(), { name: "EngineUnavailable" });
        await readLog(engine, TENANT, 2);
        assert.deepEqual(await timesSeenOf(engine, TENANT, ids), [1, 1, 1, 1, 1, 1]);
      });
    }
  }
});

// Eventuous/eventuous#25: when a handler threw, the checkpoint still moved past its event.
Deno.test("a handler that throws leaves the cursor where it was (Eventuous)", async () => {
  await withTemporaryEngine(async (engine) => {
    const ids = await logSix(engine);
    await readStep(engine, TENANT, 2);
    const throwing = engine.transact(async (tx) => {
      const { end } = await nextEntries(tx, TENANT, await readCursor(tx, TENANT), 1);
      moveCursor(tx, TENANT, end);
      throw new Error("a bug in the handler");
    });
    await assert.rejects(throwing, { message: "a bug in the handler" });
    await readLog(engine, TENANT);
    assert.deepEqual(await timesSeenOf(engine, TENANT, ids), [1, 1, 1, 1, 1, 1]);
  });
});

// yugabyte/yugabyte-db#33126: acknowledgements arrived in any order, and the last one to arrive
// decided how far everything was.
Deno.test("of two readers the slower one moves nothing back and repeats nothing (YugabyteDB)", async () => {
  for (const isGuarded of [false, true]) {
    await withTemporaryEngine(async (inner) => {
      const ids = await logSix(inner);
      const engine = isGuarded ? inner : unguarded(inner);
      const slow = heldEngine(engine);
      const commit = slow.hold();
      const reading = readStep(slow, TENANT, 2);
      await commit.reached;
      assert.equal(await readStep(engine, TENANT, 4), 4);
      const ahead = await inner.snapshot((tx) => readCursor(tx, TENANT));
      commit.release();
      await reading;
      const after = await inner.snapshot((tx) => readCursor(tx, TENANT));
      await readLog(engine, TENANT);
      const seen = await timesSeenOf(inner, TENANT, ids);
      if (isGuarded) {
        assert.ok(after.place > ahead.place, "it went on behind the quicker one");
        assert.deepEqual(seen, [1, 1, 1, 1, 1, 1]);
      } else {
        assert.ok(after.place < ahead.place, "without a guard it goes back");
        assert.deepEqual(seen, [2, 2, 2, 2, 1, 1]);
      }
    });
  }
});

/** Reads guard nothing: the cursor is moved whatever its value is by then. */
function unguarded(engine: Engine): Engine {
  return wrapEngine(engine, {
    transact: (body) =>
      engine.transact((tx) =>
        body({
          unguarded: tx.unguarded,
          get: (key) => tx.unguarded.get(key),
          getRange: (range, options) => tx.unguarded.getRange(range, options),
          readVersion: () => tx.readVersion(),
          set: (key, value) => tx.set(key, value),
          clear: (key) => tx.clear(key),
          clearRange: (range) => tx.clearRange(range),
          add: (key, delta) => tx.add(key, delta),
          setStamped: (prefix, suffix, value) => tx.setStamped(prefix, suffix, value),
        })
      ),
  });
}

// debezium/debezium#7531: events of one transaction had one position; after a restart amid them
// the rest counted as done.
Deno.test("a page that ends amid one commit loses none of its events (Debezium)", async () => {
  await withShop(async (shop) => {
    const { number } = shop.tenant;
    const { service } = shop.start();
    const ids = idsOf(4);
    const events = [{ type: "was_paid", data: {} }];
    valueOf(
      await service.data.writeEvents(shop.tenant, {
        form: "atomic",
        targets: ids.map((id) => ({ aggregateType: "order", id, events })),
        metadata: { actor: ACTOR },
        requestId: "request-1",
      }),
    );
    const { entries } = await shop.engine.snapshot(async (tx) =>
      nextEntries(tx, number, await readCursor(tx, number), 10)
    );
    assert.equal(entries.length, 4, "all of them are in one record");
    for (let restarts = 0; restarts < 4; restarts++) {
      await readStep(shop.engine, number, 1);
      await shop.restart();
    }
    assert.deepEqual(await timesSeenOf(shop.engine, number, ids), [1, 1, 1, 1]);
  });
});

// bsm/sarama-cluster#148: marking the second message as done also marked the first one, which
// was still being handled. kurrent-io/KurrentDB#1301: retries were kept only in memory, and
// after a restart they were behind the checkpoint.
Deno.test("what failed before others were done is done after a restart (sarama-cluster, KurrentDB)", async () => {
  await withShop(async (shop) => {
    const { tenant } = shop;
    let poison: string | undefined = `ledger:${uuid(1)}`;
    const { service } = shop.start((engine) => poisonedEngine(engine, () => poison));
    await write(service, tenant, setOff(uuid(1), "was_placed"));
    for (const n of [2, 3]) await write(service, tenant, setOff(uuid(n), "was_placed"));
    assert.deepEqual(await countNotes(shop.start(), tenant, [1, 2, 3]), [0, 1, 1]);
    poison = undefined;
    await shop.restart();
    const next = shop.start();
    shop.pass(60_000);
    await workOn(next);
    assert.deepEqual(await countNotes(next, tenant, [1, 2, 3]), [1, 1, 1]);
  });
});
