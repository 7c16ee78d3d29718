/**
 * `update()`: each decision is stored once, on the state that it was made from. First step by step
 * over a script, then with 50 writers on a real server that is killed again and again, while
 * requests and answers are lost at random. `UPDATE_EFFECTS` and `UPDATE_SEED` change the run.
 */

import assert from "node:assert/strict";
import { type AnyTypes, createClient } from "@daybook/client";
import { createRandom } from "../../crash/random.ts";
import { type ServerProcess, startServer } from "../../support/server_process.ts";
import { ACTOR, operate, type Shop } from "../shop_server.ts";
import { CLIENT_URL, faultyNetwork } from "./faulty_network.ts";
import { answers, refuses, type ScriptedWorld, scriptedWorld } from "./scripted_world.ts";

function orderOf(world: ScriptedWorld) {
  return createClient<Shop>({ url: "http://shop.test", actor: ACTOR, world }).order("main");
}

function state(length: number) {
  return answers(200, { ok: true, data: { paid: length }, metadata: { length } });
}

const CONFLICT = answers(409, {
  ok: false,
  error: "Concurrent write detected.",
  error_type: "occ_conflict",
  current_length: 9,
  expected_length: 1,
});
const WRITTEN = answers(201, { ok: true, stream_ids: ["a"], count: 1 });

Deno.test("update() writes what was decided, guarded by the length that was read", async () => {
  const world = scriptedWorld([state(4), WRITTEN]);
  const answer = await orderOf(world).update(({ paid }, { length }) => {
    assert.deepEqual([paid, length], [4, 4]);
    return [{ type: "was_paid", data: { amount: 7 } }];
  });
  assert.deepEqual(answer, { ok: true, stream_ids: ["a"], count: 1 });
  assert.deepEqual(world.sent.map(({ method, url }) => [method, url]), [
    ["GET", "http://shop.test/order/main"],
    ["POST", "http://shop.test/order/main"],
  ]);
  assert.deepEqual(world.sent[1]!.body, {
    events: [{ type: "was_paid", data: { amount: 7 } }],
    metadata: { actor: ACTOR, previous_length: 4 },
  });
});

Deno.test("update() reads and decides again after a conflict, with a new key", async () => {
  const world = scriptedWorld([state(1), CONFLICT, state(2), CONFLICT, state(3), WRITTEN]);
  const seen: number[] = [];
  await orderOf(world).update((_, { length }) => {
    seen.push(length);
    return { type: "was_paid", data: { amount: length } };
  });
  assert.deepEqual(seen, [1, 2, 3]);
  const writes = world.sent.filter(({ method }) => method === "POST");
  assert.deepEqual(writes.map(({ headers }) => headers["x-idempotency-key"]), [
    "key-1",
    "key-2",
    "key-3",
  ]);
});

Deno.test("update() keeps decision and key when an answer is lost", async () => {
  const world = scriptedWorld([state(1), refuses(), refuses(), WRITTEN]);
  let decisions = 0;
  await orderOf(world).update(() => {
    decisions++;
    return { type: "was_paid", data: { amount: 1 } };
  });
  assert.equal(decisions, 1);
  const writes = world.sent.filter(({ method }) => method === "POST");
  assert.deepEqual(writes.map(({ headers }) => headers["x-idempotency-key"]), [
    "key-1",
    "key-1",
    "key-1",
  ]);
});

Deno.test("update() decides from {} and length 0 before the first event", async () => {
  const missing = { ok: false, error: "Aggregate not found", error_type: "not_found" };
  const world = scriptedWorld([answers(404, missing), WRITTEN]);
  await orderOf(world).update((order, { length }) => {
    assert.deepEqual([order, length], [{}, 0]);
    return { type: "was_placed", data: { customer: "Ada" } };
  });
  assert.equal(
    (world.sent[1]!.body as { metadata: { previous_length: number } }).metadata.previous_length,
    0,
  );
});

Deno.test("update() writes nothing if nothing is decided", async () => {
  for (const nothing of [undefined, []]) {
    const world = scriptedWorld([state(1)]);
    const answer = await orderOf(world).update(() => nothing);
    assert.deepEqual(answer, { ok: true, stream_ids: [], count: 0 });
    assert.equal(world.sent.length, 1);
  }
});

Deno.test("update() gives the conflict up after its retries, and refusals at once", async () => {
  const world = scriptedWorld([state(1), CONFLICT, state(2), CONFLICT, state(3), CONFLICT]);
  const decide = () => ({ type: "was_paid", data: { amount: 1 } }) as const;
  const conflict = await orderOf(world).update(decide, { retries: 2 });
  assert.equal(!conflict.ok && conflict.error_type, "occ_conflict");
  assert.equal(world.sent.length, 6);
  const unknown = answers(404, {
    ok: false,
    error: "Aggregate type 'x' not found in spec",
    error_type: "not_found",
  });
  const refused = await orderOf(scriptedWorld([unknown])).update(decide);
  assert.equal(!refused.ok && refused.error_type, "not_found");
});

Deno.test("update() passes on what the decision throws", async () => {
  const world = scriptedWorld([state(1)]);
  const update = orderOf(world).update(() => {
    throw new RangeError("sold out");
  });
  await assert.rejects(update, new RangeError("sold out"));
});

const COUNTERS = Array.from({ length: 8 }, (_, n) => `C0VNTER0${n}`);
const SPEC = {
  agent_types: ["user"],
  aggregate_types: {
    counter: {
      events: {
        was_counted: {
          schema: true,
          handler: [{ increment: { target: "count", by: 1 } }],
        },
      },
    },
  },
};
const WRITERS = 50;
const EFFECTS = Number(Deno.env.get("UPDATE_EFFECTS") ?? 1_000);
const SEED = Number(Deno.env.get("UPDATE_SEED") ?? Date.now() % 1_000_000);
const KILLS = Math.max(3, Math.round(EFFECTS / 4_000));

Deno.test(`update(): each of ${EFFECTS} effects is there once, with 50 writers, lost answers and kills (UPDATE_SEED=${SEED})`, async () => {
  const random = createRandom(SEED).next;
  let server: ServerProcess = await startServer();
  const { dataDir } = server;
  try {
    await operate(server, "spec", { environment: "test", spec: SPEC });
    const network = faultyNetwork(() => server, { random, share: 0.2 });
    const db = createClient<AnyTypes>({
      url: CLIENT_URL,
      key: server.credentials.keys.test.write,
      actor: ACTOR,
      fetch: network.fetch,
      timeoutMs: 10_000,
      retries: Infinity,
    });
    let next = 0;
    let done = 0;
    let decisions = 0;
    const write = async () => {
      for (let effect = next++; effect < EFFECTS; effect = next++) {
        const counter = db.counter!(COUNTERS[Math.floor(random() * COUNTERS.length)]!);
        const answer = await counter.update(({ count = 0 }, { length }) => {
          decisions++;
          return { type: "was_counted", data: { effect, count, length } };
        }, { retries: Infinity });
        assert.ok(answer.ok);
        done++;
      }
    };
    const kill = async () => {
      for (let kills = 1; kills <= KILLS; kills++) {
        while (done < EFFECTS * kills / (KILLS + 1)) {
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        await server.kill();
        server = await startServer({ dataDir });
      }
    };
    await Promise.all([kill(), ...Array.from({ length: WRITERS }, write)]);

    const seen = new Set<number>();
    let stored = 0;
    for (const id of COUNTERS) {
      let length = 0;
      for await (const { event } of db.counter!(id).events({ count: 5_000 })) {
        // Each decision was made from the state just before its event.
        assert.deepEqual([event.data.count, event.data.length], [length, length]);
        seen.add(event.data.effect);
        length++;
      }
      stored += length;
    }
    assert.equal(stored, EFFECTS);
    assert.equal(seen.size, EFFECTS);
    assert.ok(network.lost.requests > 0 && network.lost.answers > 0);
    assert.ok(decisions > EFFECTS, "no two writers met");
    console.log(
      `${EFFECTS} effects, ${decisions} decisions, ${KILLS} kills, ` +
        `${network.lost.requests} requests and ${network.lost.answers} answers lost`,
    );
  } finally {
    await server.remove();
    await Deno.remove(dataDir, { recursive: true }).catch(() => {});
  }
});
