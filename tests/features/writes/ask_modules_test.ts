/**
 * Implications computed by modules, from the triggering write to the implied events. See
 * docs/reference/reactions.md and docs/reference/modules.md.
 */

import assert from "node:assert/strict";
import type { JsonValue } from "../../../src/domain/json.ts";
import type { StoredEvent } from "../../../src/domain/event.ts";
import type { ErrorRecord } from "../../../src/domain/error_record.ts";
import { eventsOf } from "../../support/reactive_spec.ts";
import { refusalOf, valueOf } from "../../support/service_fixture.ts";
import { assemble, framed } from "../../support/wasm/build_module.ts";
import { answering, type ModuleWorld, withModules } from "../../support/wasm/module_world.ts";

type Bytes = Uint8Array<ArrayBuffer>;

function note(data: JsonValue) {
  return { emit: { key: "audit:global", event_type: "was_noted", data } };
}

function implying(...implications: JsonValue[]) {
  return { was_shown: { handler: [], implications } };
}

/** Writes one `was_shown` with these blobs and shows what it implied. */
async function setOff(
  blobs: Record<string, Bytes>,
  implications: JsonValue[],
  look: (seen: {
    readonly world: ModuleWorld;
    readonly impliedCount: number;
    readonly notes: readonly StoredEvent[];
    readonly errors: readonly ErrorRecord[];
  }) => void | Promise<void>,
): Promise<void> {
  await withModules(blobs, implying(...implications), async (world) => {
    const { impliedCount } = valueOf(await world.write("a", ["was_shown"]));
    const notes = await eventsOf(world.service, world.tenant, "audit", "global");
    const errors = valueOf(await world.service.data.listErrors(world.tenant, {})).data;
    await look({ world, impliedCount, notes, errors });
  });
}

Deno.test("a module's actions become events, with the actor and the trigger of an implied event", async () => {
  const actions = [note({ n: 1 }), {
    emit: { aggregate_type: "audit", id: "global", event_type: "was_noted" },
  }];
  const blobs = { notes: await answering({ actions }) };
  await setOff(blobs, [{ wasm: "notes" }], ({ impliedCount, notes, errors }) => {
    assert.equal(impliedCount, 2);
    assert.deepEqual(notes.map(({ data }) => data), [{ n: 1 }, {}]);
    const { metadata: { actor, implied_by } } = notes[0]!;
    assert.deepEqual(actor, { type: "user", id: "global" });
    const trigger = { key: "show:a", event_type: "was_shown", stream_id: "000000000000", depth: 1 };
    assert.deepEqual(implied_by, trigger);
    assert.deepEqual(errors, []);
  });
});

Deno.test("the long form names another entrypoint", async () => {
  const blobs = { notes: await answering({ actions: [note({})] }, "imply") };
  const wasm = { blob_name: "notes:v1", entrypoint: "imply", mode: "emit" };
  await setOff(blobs, [{ wasm }], ({ notes }) => assert.equal(notes.length, 1));
});

Deno.test("modules in transform mode feed the steps behind them, each on top of those before", async () => {
  const blobs = {
    first: await answering({ context: { level: "gold", only: 1 } }),
    second: await answering({ context: { level: "silver", __proto__: 2, more: [3] } }),
  };
  const emit = { aggregate_type: "audit", id: "global", event_type: "was_noted" };
  const pipeline: JsonValue = [
    { wasm: { blob_name: "first", mode: "transform" } },
    { emit: { ...emit, data: { after: 1, seen: "$context" } } },
    { wasm: { blob_name: "second", mode: "transform" } },
    { emit: { ...emit, data: { after: 2, seen: "$context", type: "$.type" } } },
  ];
  await setOff(blobs, [{ pipeline }], ({ notes }) => {
    assert.deepEqual(notes.map(({ data }) => data), [
      { after: 1, seen: { level: "gold", only: 1 } },
      { after: 2, seen: { level: "silver", only: 1, more: [3] }, type: "was_shown" },
    ]);
  });
});

/** Returns its raw input as the context, so that a test can see what it was given. */
const ECHO = `(module
  (memory (export "memory") 2)
  (data (i32.const 0) "{\\"context\\":")
  (func (export "malloc") (param i32) (result i32) (i32.const 11))
  (func (export "compute_implications") (param $pointer i32) (param $length i32) (result i64)
    (i32.store8 (i32.add (local.get $pointer) (local.get $length)) (i32.const 125))
    (i64.extend_i32_u (i32.add (local.get $length) (i32.const 12)))))`;

Deno.test("a module is given the event as it is stored, and the context of its pipeline", async () => {
  const blobs = {
    level: await answering({ context: { level: "gold" } }),
    echo: await assemble(ECHO),
  };
  const pipeline: JsonValue = [
    { wasm: { blob_name: "level", mode: "transform" } },
    { wasm: { blob_name: "echo", mode: "transform" } },
    {
      emit: {
        aggregate_type: "audit",
        id: "global",
        event_type: "was_noted",
        data: { event: "$context.event", context: "$context.context" },
      },
    },
  ];
  await setOff(blobs, [{ pipeline }], async ({ world, notes, errors }) => {
    assert.deepEqual(errors, []);
    const [stored] = await eventsOf(world.service, world.tenant, "show", "a");
    assert.deepEqual(notes[0]!.data, { event: stored, context: { level: "gold" } });
  });
});

Deno.test("what a module has emitted and what follows from it is implied to depth 8", async () => {
  const again = { emit: { key: "show:a", event_type: "was_shown" } };
  const blobs = { again: await answering({ actions: [again] }) };
  await setOff(blobs, [{ wasm: "again" }], async ({ world }) => {
    for (let round = 0; await world.service.background.drainOutbox(100) > 0; round++) {
      assert(round < 50, "the chain ends");
    }
    const events = await eventsOf(world.service, world.tenant, "show", "a");
    assert.deepEqual(
      events.map(({ metadata }) => metadata.implied_by?.depth ?? 0),
      [0, 1, 2, 3, 4, 5, 6, 7, 8],
    );
    const errors = valueOf(await world.service.data.listErrors(world.tenant, {})).data;
    const kinds = errors.map(({ error_type }) => error_type);
    assert.deepEqual(kinds, ["implication_depth_exceeded"]);
  });
});

Deno.test("more actions than one write may imply refuse it, and nothing is written", async () => {
  const actions = Array.from({ length: 1_001 }, () => note({}));
  const blobs = { notes: await answering({ actions }) };
  // With more actions a call may be too slow: there is an error record, and the write is taken.
  const calls = Array.from({ length: 10 }, () => ({ wasm: "notes" }));
  await withModules(blobs, implying(...calls), async (world) => {
    const refusal = refusalOf(await world.write("a", ["was_shown"]));
    assert(refusal.kind === "payload_too_large");
    assert.equal(refusal.limit, 10_000);
    assert.deepEqual(await eventsOf(world.service, world.tenant, "show", "a"), []);
  });
});

const NO_ACTIONS: readonly (readonly [what: string, file: () => Promise<Bytes>, cause: string])[] =
  [
    ["traps", () => entrypoint("unreachable"), "wasm_trap"],
    ["loops", () => entrypoint("(loop $a (br $a)) (i64.const 0)"), "wasm_timeout"],
    ["returns a state", () => answering({ state: {} }), "invalid_output"],
    ["refuses", () => answering({ error: { type: "no", message: "Not me" } }), "handler_error"],
  ];

function entrypoint(body: string): Promise<Bytes> {
  return framed(`(func (export "compute_implications") (param i32 i32) (result i64) ${body})`);
}

for (const [what, file, cause] of NO_ACTIONS) {
  Deno.test(`a module that ${what} leaves an error record, and its trigger and the others as they are`, async () => {
    const blobs = { bad: await file(), notes: await answering({ actions: [note({})] }) };
    const implications = [{ wasm: "bad" }, { wasm: "notes" }];
    await setOff(blobs, implications, async ({ world, impliedCount, notes, errors }) => {
      assert.equal((await eventsOf(world.service, world.tenant, "show", "a")).length, 1);
      assert.deepEqual([impliedCount, notes.length], [1, 1]);
      const [{ error_type, context }, ...more] = errors as [ErrorRecord];
      assert.deepEqual(more, []);
      assert.equal(error_type, "implication_failed");
      assert.equal(context.cause, cause);
      assert.deepEqual([context.blob, context.version], ["bad", 1]);
      assert.equal(context.path, "aggregate_types.show.events.was_shown.implications[0]");
      assert.equal(context.event_key, "show:a");
    });
  });
}

Deno.test("an action that names no stream, type or event fails its entry, and tells which it was", async () => {
  const wrong: JsonValue[] = [
    { key: "audit:not an id", event_type: "was_noted" },
    { key: "Audit:global", event_type: "was_noted" },
    { key: "audit:global", event_type: "was-noted" },
    { key: "audit:global", event_type: "was_noted", data: { text: "a".repeat(102_400) } },
  ];
  for (const emit of wrong) {
    const blobs = { notes: await answering({ actions: [note({}), { emit }] }) };
    await setOff(blobs, [{ wasm: "notes" }], ({ impliedCount, notes, errors }) => {
      assert.deepEqual([impliedCount, notes.length], [0, 0], "all of an entry, or nothing");
      assert.match(errors[0]!.message, /^wasm: actions\[1\]\.emit\./);
    });
  }
});
