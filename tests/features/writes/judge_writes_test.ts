/**
 * A handler judges a write against the current state and may refuse it. Whatever races, each
 * stored event was accepted on the state that it follows. No two turns overlap on a stream, and
 * nobody waits forever. See docs/reference/handlers.md and docs/reference/modules.md.
 */

import assert from "node:assert/strict";
import type { Engine } from "../../../src/kv/engine.ts";
import { createService } from "../../../src/features/service.ts";
import { type Fault, faultyEngine } from "../../support/faulty_engine.ts";
import { refusalOf, valueOf } from "../../support/service_fixture.ts";
import {
  digest,
  LOOPS,
  misbehaving,
  type ModuleWorld,
  moduleWorld,
  seats,
  showWrite,
  TRAPS,
  withModules,
} from "../../support/wasm/module_world.ts";
import fc from "fast-check";
import { createJudge, openStreamTurns } from "../../../src/features/writes/judge_writes.ts";
import { accept, type Outcome } from "../../../src/domain/refusal.ts";
import type { Written } from "../../../src/domain/write/write.ts";
import type { SceneParts } from "../../../src/features/writes/judge_scene.ts";
import type { PreparedWrite } from "../../../src/features/writes/prepared_write.ts";

const SEATS = { was_booked: { wasm: "seats" } };
const SOLD_OUT = {
  type: "sold_out",
  message: "All seats are taken",
  code: "S1",
  context: { seats: 3 },
};

async function withSeats(body: (world: ModuleWorld) => Promise<void>): Promise<void> {
  await withModules({ seats: await seats() }, SEATS, body);
}

async function lengthOf({ service, tenant }: ModuleWorld, id: string): Promise<number> {
  return valueOf(await service.data.readLength(tenant, "show", id));
}

Deno.test("a handler's error refuses the write with its own object, and nothing is written", async () => {
  await withSeats(async (world) => {
    for (let seat = 0; seat < 3; seat++) valueOf(await world.write("a", ["was_booked"]));
    const refusal = refusalOf(await world.write("a", ["was_booked"]));
    assert.deepEqual(refusal, { kind: "handler_error", error: SOLD_OUT });
    assert.equal(await lengthOf(world, "a"), 3);
    assert.deepEqual(await world.stateOf("a"), { n: "aaa" });
    assert.deepEqual(await world.stateOf("a", true), { n: "aaa" });
  });
});

Deno.test("of forty writes at once to one aggregate just as many are taken as its handler allows", async () => {
  await withSeats(async (world) => {
    const writes = Array.from({ length: 40 }, () => world.write("a", ["was_booked"]));
    const outcomes = await Promise.all(writes);
    assert.equal(outcomes.filter(({ ok }) => ok).length, 3);
    for (const outcome of outcomes) {
      if (!outcome.ok) {
        assert.deepEqual(outcome.refusal, { kind: "handler_error", error: SOLD_OUT });
      }
    }
    assert.equal(await lengthOf(world, "a"), 3);
  });
});

Deno.test("one refused event of a batch refuses all of it, and says which it was", async () => {
  await withSeats(async (world) => {
    const types = Array.from({ length: 5 }, () => "was_booked");
    const refusal = refusalOf(await world.write("a", types));
    assert.deepEqual(refusal, { kind: "handler_error", error: SOLD_OUT, eventIndex: 3 });
    assert.equal(await lengthOf(world, "a"), 0);
    valueOf(await world.write("a", types.slice(0, 3)));
    assert.deepEqual(await world.stateOf("a"), { n: "aaa" });
  });
});

Deno.test("an atomic write is judged on each of its aggregates, and written to all or none", async () => {
  await withSeats(async (world) => {
    const { service, tenant } = world;
    valueOf(await world.write("b", ["was_booked", "was_booked"]));
    const both = ["a", "b"].flatMap((id) => showWrite(id, ["was_booked", "was_booked"]).targets);
    const atomic = { ...showWrite("a", ["was_booked"]), form: "atomic" as const, targets: both };
    const refusal = refusalOf(await service.data.writeEvents(tenant, atomic));
    const place = { targetIndex: 1, eventIndex: 1 };
    assert.deepEqual(refusal, { kind: "handler_error", error: SOLD_OUT, ...place });
    assert.deepEqual([await lengthOf(world, "a"), await lengthOf(world, "b")], [0, 2]);
    const one = ["a", "b"].flatMap((id) => showWrite(id, ["was_booked"]).targets);
    valueOf(await service.data.writeEvents(tenant, { ...atomic, targets: one }));
    assert.deepEqual([await lengthOf(world, "a"), await lengthOf(world, "b")], [1, 3]);
  });
});

Deno.test("atomic writes and single ones to the same aggregates all come to an answer", async () => {
  await withSeats(async ({ service, tenant, write, stateOf }) => {
    const atomic = (ids: string[]) => ({
      ...showWrite("a", ["was_booked"]),
      form: "atomic" as const,
      targets: ids.flatMap((id) => showWrite(id, ["was_booked"]).targets),
    });
    const outcomes = await Promise.all(
      Array.from({ length: 24 }, (_, index) => {
        if (index % 3 === 0) return service.data.writeEvents(tenant, atomic(["a", "b"]));
        if (index % 3 === 1) return service.data.writeEvents(tenant, atomic(["b", "a"]));
        return write("a", ["was_booked"]);
      }),
    );
    const kinds = new Set(outcomes.map((each) => each.ok ? "ok" : each.refusal.kind));
    assert.deepEqual([...kinds].sort(), ["handler_error", "ok"]);
    assert.deepEqual(await stateOf("a", true), { n: "aaa" });
  });
});

Deno.test("a conflict is told before what a handler says", async () => {
  await withSeats(async ({ write }) => {
    valueOf(await write("a", ["was_booked", "was_booked", "was_booked"]));
    const guarded = { metadata: { actor: { type: "user", id: "global" }, previous_length: 1 } };
    const refusal = refusalOf(await write("a", ["was_booked"], guarded));
    assert.deepEqual(refusal, { kind: "occ_conflict", length: 3, expected: 1 });
  });
});

Deno.test("a recorded key is answered again where its handler would refuse by now", async () => {
  await withSeats(async (world) => {
    const idempotency = { key: "one", bodyHash: "ab".repeat(32) };
    const first = valueOf(await world.write("a", ["was_booked"], { idempotency }));
    valueOf(await world.write("a", ["was_booked", "was_booked"]));
    const again = valueOf(await world.write("a", ["was_booked"], { idempotency }));
    assert.deepEqual(again.targets, first.targets);
    assert.equal(again.replayed, true);
    assert.equal(await lengthOf(world, "a"), 3);
  });
});

Deno.test("a module that does not do what it must refuses the write, each failure by its kind", async () => {
  const blobs = {
    traps: await misbehaving(TRAPS),
    loops: await misbehaving(LOOPS),
    lies: await misbehaving("(i64.const 0)"),
  };
  const events = {
    was_trapped: { wasm: "traps" },
    was_looped: { wasm: { blob_name: "loops", timeout_ms: 20 } },
    was_lied: { wasm: "lies" },
  };
  await withModules(blobs, events, async (world) => {
    for (
      const [type, kind] of [
        ["was_trapped", "wasm_trap"],
        ["was_looped", "wasm_timeout"],
        ["was_lied", "invalid_output"],
      ] as const
    ) {
      const refusal = refusalOf(await world.write("a", [type]));
      assert(refusal.kind === "module_failed");
      assert.equal(refusal.failure, kind);
      const { event_key, event_type, version } = refusal.context;
      assert.deepEqual([event_key, event_type, version], ["show:a", type, 1]);
    }
    assert.equal(await lengthOf(world, "a"), 0);
  });
});

Deno.test("events of a type beside those of modules are folded in between, in their order", async () => {
  const events = {
    was_digested: { wasm: "digest" },
    was_marked: { set: { target: "mark", value: "$.type" } },
    was_ignored: [],
  };
  await withModules({ digest: await digest() }, events, async (world) => {
    const types = ["was_digested", "was_marked", "was_ignored", "was_digested", "was_marked"];
    valueOf(await world.write("a", types));
    for (const type of types) valueOf(await world.write("b", [type]));
    const one = await world.stateOf("a") as { mark: string; digest: string };
    assert.equal(one.mark, "was_marked");
    // The module returns a new state, so the first mark is gone and then set again.
    assert.deepEqual(Object.keys(one), ["digest", "mark"]);
    assert.deepEqual(await world.stateOf("a", true), one);
    // Each event of the other aggregate has another key, so the digest differs.
    assert.notEqual((await world.stateOf("b") as typeof one).digest, one.digest);
  });
});

for (const kind of ["lose_reply", "unavailable"] as const) {
  for (const landed of [false, true]) {
    Deno.test(`a judged write lands at most once (${kind}, landed: ${landed})`, async () => {
      let fault: Fault | undefined;
      function wrap(engine: Engine): Engine {
        return faultyEngine(engine, () => {
          const now = fault;
          fault = undefined;
          return now;
        });
      }
      await withModules({ seats: await seats() }, SEATS, async (world) => {
        fault = { kind, landed };
        const isHeard = await world.write("a", ["was_booked"]).then(valueOf).then(
          () => true,
          () => false,
        );
        assert.equal(isHeard, kind === "lose_reply");
        const landedOnce = isHeard || landed ? 1 : 0;
        assert.equal(await lengthOf(world, "a"), landedOnce);
        valueOf(await world.write("a", ["was_booked"]));
        assert.deepEqual(await world.stateOf("a"), { n: "a".repeat(landedOnce + 1) });
        assert.deepEqual(await world.stateOf("a", true), { n: "a".repeat(landedOnce + 1) });
      }, { wrap });
    });
  }
}

Deno.test("who was refused because of a write that then failed is judged again", async () => {
  let fault: Fault | undefined;
  function wrap(engine: Engine): Engine {
    return faultyEngine(engine, () => {
      const now = fault;
      fault = undefined;
      return now;
    });
  }
  await withModules({ seats: await seats() }, SEATS, async (world) => {
    valueOf(await world.write("a", ["was_booked", "was_booked"]));
    fault = { kind: "unavailable", landed: false };
    const both = [world.write("a", ["was_booked"]), world.write("a", ["was_booked"])];
    const [first, second] = await Promise.allSettled(both);
    assert.equal(first!.status, "rejected");
    assert(second!.status === "fulfilled");
    valueOf(second!.value);
    assert.deepEqual(await world.stateOf("a", true), { n: "aaa" });
  }, { wrap });
});

Deno.test("two nodes that write to one aggregate at once take no more than its handler allows", async () => {
  await withSeats(async (world) => {
    const other = createService(world.engine, world.host, world.access);
    const second = moduleWorld(other, world);
    try {
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, index) => {
          return (index % 2 === 0 ? world : second).write("a", ["was_booked"]);
        }),
      );
      assert.equal(outcomes.filter(({ ok }) => ok).length, 3);
      assert.deepEqual(await second.stateOf("a", true), { n: "aaa" });
    } finally {
      await other.close();
    }
  });
});

Deno.test("whatever turns are asked for, none overlaps on a name, and all come", async () => {
  const names = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d"), { minLength: 1 });
  const wish = fc.record({ names, waits: fc.nat(3), fails: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(wish, { maxLength: 20 }), async (wishes) => {
      const turns = openStreamTurns();
      const held = new Set<string>();
      let done = 0;
      const results = await Promise.allSettled(
        wishes.map(({ names, waits, fails }) =>
          turns.take(names, async () => {
            for (const name of names) {
              assert(!held.has(name), `${name} is held twice`);
              held.add(name);
            }
            for (let wait = 0; wait < waits; wait++) await Promise.resolve();
            for (const name of names) held.delete(name);
            done++;
            if (fails) throw new Error("of the body");
          })
        ),
      );
      assert.equal(done, wishes.length);
      assert.deepEqual(
        results.map(({ status }) => status === "rejected"),
        wishes.map(({ fails }) => fails),
      );
    }),
  );
});

/** Judges writes by a module that returns states of so many characters. */
function judgeLong(characters: number) {
  const state = "x".repeat(characters);
  const counts = { reads: 0, held: 0, heldMost: 0, submitted: 0, submittedMost: 0 };
  const turn = () => new Promise((resolve) => setTimeout(resolve, 1));
  const head = { length: 1, bytes: 1, generation: 0, tip: undefined };
  const parts = {
    host: { monotonicMs: () => 0 },
    reader: {
      readFolded: () => (counts.reads++, Promise.resolve(accept({ head, stateJson: state }))),
      keepState() {},
    },
    modules: {
      async fold() {
        counts.heldMost = Math.max(counts.heldMost, ++counts.held);
        await turn();
        return accept(state);
      },
    },
  };
  async function submit(_tenant: number, { targets }: PreparedWrite): Promise<Outcome<Written>> {
    counts.submittedMost = Math.max(counts.submittedMost, ++counts.submitted);
    await turn();
    counts.submitted--;
    counts.held -= targets.length;
    return accept({ targets: [], replayed: false } as never);
  }
  const judge = createJudge(parts as unknown as SceneParts, submit as never);
  const judgedAs = {
    foldHash: "one",
    wasmHandlers: new Map([["was_done", {}]]),
    handlers: new Map(),
  };
  const raw = '{"key":"show:a","type":"was_done","data":{},"metadata":{"timestamp":1}}';
  const events = [{ type: "was_done", raw, bytes: raw.length }];
  const write = (ids: readonly string[]) => {
    const targets = ids.map((id) => ({ key: `show:${id}`, judgedAs, events, expected: "any" }));
    return judge(1, { form: "single", targets } as never);
  };
  return { counts, write };
}

const MI = 1024 * 1024;

Deno.test("few writes to one aggregate are judged before they are written if its states are long", async () => {
  for (const [characters, most] of [[MI, 3], [8, 20]] as const) {
    const { counts, write } = judgeLong(characters);
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => write(["a"])));
    for (const outcome of outcomes) valueOf(outcome);
    assert.ok(counts.submittedMost <= most, `${counts.submittedMost} at once`);
    assert.ok(counts.submittedMost > 1 || characters === MI, "short ones are written together");
  }
});

Deno.test("writes to aggregates with long states wait for the room that their states take", async () => {
  const { counts, write } = judgeLong(8 * MI);
  const ids = Array.from({ length: 40 }, (_, number) => `${number}`);
  const first = ids.slice(0, 8).map((id) => write([id]));
  for (const outcome of await Promise.all(first)) valueOf(outcome);
  counts.heldMost = 0;
  for (const outcome of await Promise.all(ids.map((id) => write([id])))) valueOf(outcome);
  assert.equal(counts.heldMost, 1, "a quarter of the room is for one at a time");
});

Deno.test("before anything is known of its states, eight groups of an environment are judged at once", async () => {
  const { counts, write } = judgeLong(8 * MI);
  const ids = Array.from({ length: 40 }, (_, number) => `${number}`);
  for (const outcome of await Promise.all(ids.map((id) => write([id])))) valueOf(outcome);
  assert.ok(counts.heldMost <= 8, `${counts.heldMost} at once`);
});

Deno.test("a write to many aggregates whose states are too long together is refused", async () => {
  const { counts, write } = judgeLong(8 * MI);
  const ids = Array.from({ length: 16 }, (_, number) => `${number}`);
  valueOf(await write(ids.slice(0, 4)));
  counts.reads = 0;
  assert.equal(refusalOf(await write(ids)).kind, "fold_budget_exceeded");
  assert.equal(counts.reads, 5);
});
