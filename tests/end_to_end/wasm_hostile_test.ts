/**
 * Misbehaving modules through HTTP: what is refused at upload and at deploy. For everything
 * else: the status, the `error_type` and the record of a write, a read and an implication.
 */

import assert from "node:assert/strict";
import type { JsonObject } from "../../src/domain/json.ts";
import { assemble, returning } from "../support/wasm/build_module.ts";
import { HOSTILE_MODULES, type HostileModule } from "../support/wasm/hostile_modules.ts";
import { type Answer, withWorld, type World } from "./world.ts";

const ACTOR = { type: "user", id: "global" };
const WRITE = { body: { data: {}, metadata: { actor: ACTOR } } };
const FINE = returning('{"state":{"fine":true}}');
const MALLOC = `(func (export "malloc") (param i32) (result i32) (i32.const 4096))`;
const TIMEOUT_MS = 1_000;
const MEMORY = `(memory (export "memory") 1)`;

/** One module for each kind of failure; the others differ only in where they fail. */
const ONE_OF_EACH = [
  "loops for ever",
  "traps",
  "says that its output lies behind its memory",
  "returns what is not UTF-8",
];

Deno.test("a module that misbehaves makes its write a 500 of its own type, and nothing is stored", async (t) => {
  await withWorld(async (world) => {
    for (const [index, { source }] of HOSTILE_MODULES.entries()) {
      await upload(world, `hostile${index}`, source);
    }
    await upload(world, "fine", `(module ${MEMORY} ${MALLOC} ${FINE})`);
    await deploy(world, {
      ...Object.fromEntries(HOSTILE_MODULES.map(({ timeoutMs = TIMEOUT_MS }, index) => [
        `was_hit_${index}`,
        handledBy({ blob_name: `hostile${index}`, timeout_ms: timeoutMs }),
      ])),
      was_fine: handledBy("fine"),
    });
    for (const [index, hostile] of HOSTILE_MODULES.entries()) {
      await t.step(`a module that ${hostile.name} is ${hostile.kind}`, async () => {
        const answer = await world.send("POST", `/thing/${idOf(index)}/was_hit_${index}`, WRITE);
        assertFailed(answer, hostile);
        await assertRecorded(world, answer, hostile, `hostile${index}`);
        assert.equal((await world.send("GET", `/thing/${idOf(index)}`)).status, 404);
        const fine = await world.send("POST", `/thing/${idOf(index)}/was_fine`, WRITE);
        assert.equal(fine.status, 201, fine.text);
        const read = await world.send("GET", `/thing/${idOf(index)}`);
        assert.deepEqual(read.body.data, { fine: true });
      });
    }
  }, { spec: null });
});

Deno.test("a stored event whose module has since become hostile makes its reads a 500 of its type", async (t) => {
  await withWorld(async (world) => {
    for (const name of ONE_OF_EACH) {
      const blob = `blob${ONE_OF_EACH.indexOf(name)}`;
      const hostile = HOSTILE_MODULES.find((each) => each.name === name)!;
      const { source, timeoutMs = TIMEOUT_MS } = hostile;
      await t.step(`a module that ${name}`, async () => {
        await upload(world, blob, `(module ${MEMORY} ${MALLOC} ${FINE})`);
        const type = `thing_${ONE_OF_EACH.indexOf(name)}`;
        const event = handledBy({ blob_name: blob, timeout_ms: timeoutMs });
        await deploy(world, { was_done: event }, type);
        const written = await world.send("POST", `/${type}/global/was_done`, WRITE);
        assert.equal(written.status, 201, written.text);
        await upload(world, blob, source);
        const read = await world.send("GET", `/${type}/global`);
        assertFailed(read, hostile);
        const again = await world.send("POST", `/${type}/global/was_done`, WRITE);
        if (hostile.kind === "wasm_timeout") assert.equal(again.status, 503, "it is paused");
        else assertFailed(again, hostile);
        // The events themselves can be read.
        const events = await world.send("GET", `/${type}/global/events`);
        assert.equal(events.body.data.length, 1, events.text);
        await deploy(world, { was_done: handledBy({ blob_name: `${blob}:v1` }) }, type);
        const healed = await world.send("GET", `/${type}/global`);
        assert.deepEqual(healed.body.data, { fine: true }, healed.text);
      });
    }
  }, { spec: null });
});

Deno.test("a stored event that a later version refuses makes its reads a 422 with that error", async () => {
  await withWorld(async (world) => {
    await upload(world, "judge", `(module ${MEMORY} ${MALLOC} ${FINE})`);
    await deploy(world, { was_done: handledBy("judge") });
    assert.equal((await world.send("POST", "/thing/global/was_done", WRITE)).status, 201);
    const error = { type: "too_late", message: "no", code: "E1", context: { left: 0 } };
    await upload(world, "judge", inEntrypoint("apply_handler", JSON.stringify({ error })));
    const read = await world.send("GET", "/thing/global");
    const written = await world.send("POST", "/thing/global/was_done", WRITE);
    for (const answer of [read, written]) {
      assert.equal(answer.status, 422, answer.text);
      assert.equal(answer.body.error_type, "handler_error");
      assert.deepEqual(answer.body.error, error);
    }
    assert.equal((await world.send("GET", "/thing/global/length")).body.length, 1);
  }, { spec: null });
});

Deno.test("an entrypoint that loops is answered 503 at once while it is paused, and no other event type is", async () => {
  await withWorld(async (world) => {
    const { send } = world;
    const loops =
      '(func (export "apply_loop") (param i32 i32) (result i64) (loop (br 0)) (i64.const 0))';
    await upload(world, "half", `(module ${MEMORY} ${MALLOC} ${FINE} ${loops})`);
    const looping = { blob_name: "half", entrypoint: "apply_loop", timeout_ms: 3_000 };
    await deploy(world, { was_fine: handledBy("half"), was_looped: handledBy(looping) });
    const first = await send("POST", "/thing/global/was_looped", WRITE);
    assert.deepEqual([first.status, first.body.error_type], [500, "wasm_timeout"]);
    for (let turn = 0; turn < 5; turn++) {
      const begunMs = performance.now();
      const told = await send("POST", "/thing/global/was_looped", WRITE);
      assert.ok(performance.now() - begunMs < 1_000, "at once");
      assert.deepEqual([told.status, told.body.error_type], [503, "unavailable"], told.text);
      assert.match(told.body.error, /^The entrypoint 'apply_loop' is paused and was not called/);
      assert.match(told.headers.get("retry-after")!, /^[1-6]$/);
      const fine = await send("POST", "/thing/global/was_fine", WRITE);
      assert.equal(fine.status, 201, fine.text);
    }
    assert.equal((await send("GET", "/thing/global/length")).body.length, 5);
  }, { spec: null });
});

Deno.test("an implication whose module misbehaves is an error record, and its trigger is stored", async (t) => {
  await withWorld(async (world) => {
    const { send } = world;
    for (const [index, name] of ONE_OF_EACH.entries()) {
      const hostile = HOSTILE_MODULES.find((each) => each.name === name)!;
      await t.step(`a module that ${name}`, async () => {
        const exported = hostile.source.replace('"apply_handler"', '"compute_implications"');
        await upload(world, `blob${index}`, exported);
        const event = { schema: true, handler: [], implications: [{ wasm: `blob${index}` }] };
        await deploy(world, { was_done: event }, `thing_${index}`);
        const written = await send("POST", `/thing_${index}/global/was_done`, WRITE);
        assert.equal(written.status, 201, written.text);
        assert.equal(written.body.implied_count ?? 0, 0);
        const records: JsonObject[] = (await send("GET", "/_errors")).body.data;
        const told = records.map((each) => JSON.stringify(each)).filter((text) =>
          text.includes(`"thing_${index}:global"`)
        );
        assert.equal(told.length, 1, told.join("\n"));
        assert(told[0]!.includes('"implication_failed"'), told[0]);
        assert(told[0]!.includes(messagePart(hostile, 100)), told[0]);
      });
    }
  }, { spec: null });
});

Deno.test("a transform that feeds an event which implies itself ends at the greatest depth", async () => {
  await withWorld(async (world) => {
    const text = '{"context":{"id":"global"}}';
    await upload(world, "echo", inEntrypoint("compute_context", text));
    const pipeline: JsonObject[] = [
      { wasm: { blob_name: "echo", entrypoint: "compute_context", mode: "transform" } },
      { emit: { aggregate_type: "thing", id: "$context.id", event_type: "was_done" } },
    ];
    const event = { schema: true, handler: [], implications: [{ pipeline }] };
    await deploy(world, { was_done: event });
    const written = await world.send("POST", "/thing/global/was_done", WRITE);
    assert.equal(written.status, 201, written.text);
    assert.equal(written.body.implied_count, 1);
    let errors: JsonObject[] = [];
    for (let turn = 0; turn < 100 && errors.length === 0; turn++) {
      errors = (await world.send("GET", "/_errors")).body.data;
      await world.host.yieldTurn();
    }
    assert.deepEqual(errors.map(({ error_type }) => error_type), ["implication_depth_exceeded"]);
    const { body } = await world.send("GET", "/thing/global/length");
    assert.equal(body.length, 9, "the client's event, and eight that follow from each other");
  }, { spec: null });
});

interface Refused {
  readonly name: string;
  readonly source: string;
  readonly rule: string;
}

const REFUSED_AT_UPLOAD: readonly Refused[] = [
  {
    name: "imports a function",
    source: `(module (import "env" "abort" (func)) ${MEMORY} ${MALLOC} ${FINE})`,
    rule: "module_import",
  },
  {
    name: "imports WASI",
    source: `(module (import "wasi_snapshot_preview1" "fd_write"
      (func (param i32 i32 i32 i32) (result i32))) ${MEMORY} ${MALLOC} ${FINE})`,
    rule: "module_import",
  },
  {
    name: "imports its memory",
    source: `(module (import "env" "memory" (memory 1)) ${MALLOC} ${FINE})`,
    rule: "module_import",
  },
  { name: "has no memory", source: `(module ${MALLOC})`, rule: "module_export" },
  {
    name: "does not export its memory",
    source: `(module (memory 1) ${MALLOC} ${FINE})`,
    rule: "module_export",
  },
  { name: "has no malloc", source: `(module ${MEMORY} ${FINE})`, rule: "module_export" },
  {
    name: "has a malloc of another type",
    source:
      `(module ${MEMORY} (func (export "malloc") (param i64) (result i32) i32.const 8) ${FINE})`,
    rule: "module_export",
  },
  { name: "has no entrypoint", source: `(module ${MEMORY} ${MALLOC})`, rule: "module_export" },
  {
    name: "begins with more memory than there is",
    source: `(module (memory (export "memory") 1025) ${MALLOC} ${FINE})`,
    rule: "module_memory",
  },
];

Deno.test("what is no module by the contract is refused at upload with 422, and not kept", async (t) => {
  await withWorld(async (world) => {
    for (const { name, source, rule } of REFUSED_AT_UPLOAD) {
      await t.step(`a module that ${name} is ${rule}`, async () => {
        assertRefused(await sendFile(world, "blob", await assemble(source)), rule);
      });
    }
    await t.step("a text is module_malformed", async () => {
      const text = new TextEncoder().encode("(module)");
      assertRefused(await sendFile(world, "blob", text), "module_malformed");
    });
    const { body } = await world.send("GET", "/_admin/blobs", { token: world.operator });
    assert.deepEqual(body.data, []);
  }, { spec: null });
});

Deno.test("a spec is refused that names a blob, a version or an entrypoint which is not there", async () => {
  await withWorld(async (world) => {
    await upload(world, "fine", `(module ${MEMORY} ${MALLOC} ${FINE})`);
    const cases: readonly (readonly [wasm: unknown, rule: string])[] = [
      ["other", "unknown_blob"],
      ["fine:v2", "unknown_blob_version"],
      [{ blob_name: "fine", entrypoint: "malloc" }, "unknown_entrypoint"],
    ];
    for (const [wasm, rule] of cases) {
      const answer = await sendSpec(world, { was_done: handledBy(wasm) }, "thing");
      assert.equal(answer.status, 422, answer.text);
      assert.equal(answer.body.error_type, "spec_invalid");
      assert.deepEqual(answer.body.violations.map((each: JsonObject) => each.rule), [rule]);
    }
  }, { spec: null });
});

/** A module with this entrypoint, which returns this text. */
function inEntrypoint(name: string, text: string): string {
  return `(module ${MEMORY} ${MALLOC} ${returning(text).replace('"apply_handler"', `"${name}"`)})`;
}

function handledBy(wasm: unknown): JsonObject {
  return { schema: true, handler: { wasm } } as JsonObject;
}

function idOf(index: number): string {
  return `TEA${String(index).padStart(6, "0")}`;
}

function assertFailed(answer: Answer, hostile: HostileModule): void {
  const { kind, name, timeoutMs = TIMEOUT_MS } = hostile;
  assert.equal(answer.status, 500, `${name}: ${answer.text}`);
  assert.equal(answer.body.error_type, kind, answer.text);
  assert(answer.body.error.includes(messagePart(hostile, timeoutMs)), answer.text);
}

/** On a busy machine a timeout does not say where the module was stopped. */
function messagePart({ kind, says }: HostileModule, timeoutMs: number): string {
  return kind === "wasm_timeout" ? `did not end within ${timeoutMs} ms` : says;
}

async function assertRecorded(
  { send }: World,
  answer: Answer,
  { kind }: HostileModule,
  blob: string,
): Promise<void> {
  const id = answer.headers.get("x-error-id");
  const { status, body, text } = await send("GET", `/_errors/${id}`);
  assert.equal(status, 200, text);
  assert.equal(body.error.error_type, kind, text);
  const { version, entrypoint, ...context } = body.error.context;
  assert.deepEqual([context.blob, version, entrypoint], [blob, 1, "apply_handler"]);
}

function assertRefused({ status, body, text }: Answer, rule: string): void {
  assert.equal(status, 422, text);
  assert.equal(body.error_type, "bad_request", text);
  assert.deepEqual(body.violations.map((each: JsonObject) => each.rule), [rule], text);
}

async function upload(world: World, name: string, source: string): Promise<void> {
  const answer = await sendFile(world, name, await assemble(source));
  assert.equal(answer.status, 201, answer.text);
}

async function sendFile(
  { send, operator }: World,
  name: string,
  file: Uint8Array<ArrayBuffer>,
): Promise<Answer> {
  const form = new FormData();
  form.set("name", name);
  form.set("file", new File([file], "module.wasm"));
  const encoded = new Response(form);
  const headers = { "content-type": encoded.headers.get("content-type")! };
  const body = new Uint8Array(await encoded.arrayBuffer());
  return await send("POST", "/_admin/blobs", { token: operator, headers, body });
}

async function deploy(world: World, events: JsonObject, type = "thing"): Promise<void> {
  const answer = await sendSpec(world, events, type);
  assert.equal(answer.status, 200, answer.text);
}

async function sendSpec(
  { send, instanceId }: World,
  events: JsonObject,
  type: string,
): Promise<Answer> {
  const spec = { agent_types: ["user"], aggregate_types: { [type]: { events } } };
  const body = { spec, force: true };
  return await send("POST", `/api/instances/${instanceId}/spec`, { body });
}
