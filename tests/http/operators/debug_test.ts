/** Traces of module calls as operators see them. See docs/reference/modules.md. */

import assert from "node:assert/strict";
import { limits } from "../../../src/domain/limits.ts";
import { withWorld, type World } from "../../end_to_end/world.ts";
import { answering, seats, showSpec } from "../../support/wasm/module_world.ts";

async function withCalls(body: (world: World) => Promise<void>): Promise<void> {
  await withWorld(async (world) => {
    const { service, tenants, send, operator: token, instanceId } = world;
    const blobs = {
      seats: await seats(),
      notes: await answering({ actions: [], secret: "of the module" }),
    };
    for (const [name, file] of Object.entries(blobs)) {
      assert((await service.specs.uploadBlob(tenants.test, name, file)).ok);
    }
    const handler = { wasm: "seats" };
    const spec = showSpec({ was_booked: { handler, implications: [{ wasm: "notes" }] } });
    const path = `/api/instances/${instanceId}/spec`;
    assert.equal((await send("POST", path, { token, body: { spec, force: true } })).status, 200);
    await body(world);
  });
}

function turn({ send, operator: token }: World, wasm_trace: unknown) {
  return send("POST", "/_admin/debug", { token, body: { wasm_trace } });
}

async function traces({ send, operator: token }: World) {
  return (await send("GET", "/_admin/debug", { token })).body;
}

function book({ send }: World) {
  const metadata = { actor: { type: "user", id: "global" } };
  const body = { data: { card: "4111-secret-of-the-client" }, metadata };
  return send("POST", "/show/a/was_booked", { body });
}

Deno.test("nothing is traced before it is turned on, nor after it is turned off", async () => {
  await withCalls(async (world) => {
    await book(world);
    assert.deepEqual(await traces(world), { ok: true, wasm_trace: false, data: [] });
    assert.deepEqual((await turn(world, true)).body, { ok: true, wasm_trace: true });
    await book(world);
    assert.equal((await traces(world)).data.length, 2);
    assert.deepEqual((await turn(world, false)).body, { ok: true, wasm_trace: false });
    await book(world);
    assert.deepEqual(await traces(world), { ok: true, wasm_trace: false, data: [] });
  });
});

Deno.test("a trace tells which call came to what, and nothing of what it was given or has said", async () => {
  await withCalls(async (world) => {
    await turn(world, true);
    for (let seat = 0; seat < 4; seat++) await book(world);
    const { data } = await traces(world);
    const told = data.map(
      (
        { purpose, blob, version, entrypoint, event_type, calls, end }: Record<string, unknown>,
      ) => [purpose, blob, version, entrypoint, event_type, calls, end],
    );
    const write = ["write", "seats", 1, "apply_handler", "was_booked", 1];
    const imply = ["implication", "notes", 1, "compute_implications", "", 1, "ok"];
    // Newest first; an event's implications are computed before its handler judges it.
    assert.deepEqual(told.slice(0, 2), [[...write, "handler_error"], imply]);
    assert.deepEqual(told.slice(2, 4), [[...write, "ok"], imply]);
    assert.equal(told.length, 8);
    const text = JSON.stringify(data);
    for (const secret of ["4111", "secret", "sold_out", "seats are taken", "aaa", "global"]) {
      assert(!text.includes(secret), secret);
    }
    for (const { at, milliseconds, input_bytes, output_bytes } of data) {
      assert.equal(at, "2026-01-01T00:00:00.000Z");
      for (const number of [milliseconds, input_bytes, output_bytes]) assert(number >= 0);
    }
  });
});

Deno.test("traces are of one environment, no more than a few hundred, and end after an hour", async () => {
  await withCalls(async (world) => {
    const { host, operator: token, send } = world;
    await turn(world, true);
    for (let seat = 0; seat < limits.wasmTracesMax / 2 + 5; seat++) await book(world);
    assert.equal((await traces(world)).data.length, limits.wasmTracesMax);
    const other = await send("GET", "/_admin/debug?environment=staging", { token });
    assert.deepEqual(other.body, { ok: true, wasm_trace: false, data: [] });
    host.timeMs += limits.wasmTraceMsMax - 1;
    assert.equal((await traces(world)).wasm_trace, true);
    host.timeMs++;
    // The token of this world has expired by now too.
    const ended = world.service.operations.listTraces(world.tenants.test);
    assert.deepEqual(ended, { isOn: false, traces: [] });
  });
});

Deno.test("only operators trace, and say true or false", async () => {
  await withCalls(async (world) => {
    const { send, keys, operator: token } = world;
    const body = { wasm_trace: true };
    assert.equal((await send("POST", "/_admin/debug", { token: null, body })).status, 401);
    assert.equal(
      (await send("POST", "/_admin/debug", { token: keys.test.write, body })).status,
      401,
    );
    assert.equal((await send("GET", "/_admin/debug", { token: keys.test.read })).status, 401);
    for (const wrong of ["true", 1, null]) {
      const { status, body } = await turn(world, wrong);
      assert.deepEqual([status, body.path], [400, "wasm_trace"]);
    }
    const more = await send("POST", "/_admin/debug", { token, body: { ...body, level: 1 } });
    assert.deepEqual([more.status, more.body.path], [400, "level"]);
  });
});
