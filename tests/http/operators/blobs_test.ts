/** Uploads and listings of modules as operators call them. See docs/reference/modules.md. */

import assert from "node:assert/strict";
import { hash } from "node:crypto";
import {
  type Answer,
  operatorClaims,
  signToken,
  withWorld,
  type World,
} from "../../end_to_end/world.ts";
import { assemble } from "../../support/wasm/build_module.ts";
import { answering, seats, showSpec } from "../../support/wasm/module_world.ts";

interface Part {
  readonly name: string;
  readonly value: string | Uint8Array;
}

const BOUNDARY = "----boundary-of-this-test";

/** A body by RFC 7578, made by hand so that no encoder of the platform judges its own decoder. */
function multipart(parts: readonly Part[]): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const pieces = parts.flatMap(({ name, value }) => {
    const isFile = typeof value !== "string";
    const file = isFile ? '; filename="module.wasm"\r\nContent-Type: application/wasm' : "";
    const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`;
    return [encoder.encode(head), isFile ? value : encoder.encode(value), encoder.encode("\r\n")];
  });
  const all = [...pieces, encoder.encode(`--${BOUNDARY}--\r\n`)];
  return new Uint8Array(all.flatMap((piece) => [...piece]));
}

function post(world: World, parts: readonly Part[], change = {}): Promise<Answer> {
  const headers = { "content-type": `multipart/form-data; boundary=${BOUNDARY}` };
  const body = multipart(parts);
  return world.send("POST", "/_admin/blobs", { token: world.operator, headers, body, ...change });
}

function upload(world: World, name: string, file: Uint8Array, more: Part[] = []): Promise<Answer> {
  return post(world, [{ name: "name", value: name }, { name: "file", value: file }, ...more]);
}

Deno.test("an upload answers 201 with name, version, sha256 and exports, and again with the same", async () => {
  await withWorld(async (world) => {
    const file = await seats();
    const { status, body } = await upload(world, "seats", file);
    assert.equal(status, 201);
    const sha256 = hash("sha256", file, "hex");
    const expected = { ok: true, name: "seats", version: 1, sha256, exports: ["apply_handler"] };
    assert.deepEqual(body, expected);
    assert.deepEqual((await upload(world, "seats", file)).body, expected);
    const other = await upload(world, "seats", await answering({ state: {} }, "apply_handler"));
    assert.equal(other.body.version, 2);
  });
});

Deno.test("each environment lists its own blobs, page by page", async () => {
  await withWorld(async (world) => {
    const { operator: token, send } = world;
    const file = await seats();
    for (const name of ["b", "a", "c"]) await upload(world, name, file);
    await upload(world, "d", file, [{ name: "environment", value: "prod" }]);
    const first = (await send("GET", "/_admin/blobs?limit=2", { token })).body;
    const created_at = "2026-01-01T00:00:00.000Z";
    const entry = { version: 1, sha256: hash("sha256", file, "hex"), exports: ["apply_handler"] };
    const data = ["a", "b"].map((name) => ({ name, ...entry, bytes: file.length, created_at }));
    assert.deepEqual(first, { ok: true, data, limit: 2, truncated: true, next_start: "b:v1" });
    const rest = (await send("GET", "/_admin/blobs?limit=2&start=b:v1", { token })).body;
    assert.deepEqual(rest.data.map(({ name }: { name: string }) => name), ["c"]);
    assert.equal(rest.truncated, false);
    const there = (await send("GET", "/_admin/blobs?environment=production", { token })).body;
    assert.deepEqual(there.data.map(({ name }: { name: string }) => name), ["d"]);
    const bad = await send("GET", "/_admin/blobs?start=b", { token });
    assert.deepEqual([bad.status, bad.body.path], [400, "start"]);
  });
});

Deno.test("only operators of the instance may upload and list", async () => {
  await withWorld(async (world) => {
    const { keys, instanceId } = world;
    const parts = [{ name: "name", value: "seats" }, { name: "file", value: await seats() }];
    assert.equal((await post(world, parts, { token: null })).status, 401);
    assert.equal((await post(world, parts, { token: keys.test.write })).status, 401);
    const elsewhere = signToken(operatorClaims({ instances: ["another"] }));
    const named = [...parts, { name: "instance_id", value: instanceId }];
    assert.equal((await post(world, named, { token: elsewhere })).status, 403);
    assert.equal((await post(world, named)).status, 201);
    assert.equal((await world.send("GET", "/_admin/blobs", { token: keys.test.read })).status, 401);
    const { status, headers } = await world.send("DELETE", "/_admin/blobs", { token: null });
    assert.deepEqual([status, headers.get("allow")], [405, "GET, POST"]);
  });
});

Deno.test("a module that cannot be kept is 422 with the rule, the place and what to do", async () => {
  await withWorld(async (world) => {
    const file = await assemble('(module (import "env" "now" (func)))');
    const { status, body } = await upload(world, "clock", file);
    assert.deepEqual([status, body.error_type, body.path], [422, "bad_request", "file.imports"]);
    const [{ rule, hint }] = body.violations;
    assert.equal(rule, "module_import");
    assert.notEqual(hint, "");
    const named = await upload(world, "Clock", file);
    assert.deepEqual([named.status, named.body.path], [422, "name"]);
  });
});

Deno.test("a version that the current spec could not call is 422 spec_incompatible", async () => {
  await withWorld(async (world) => {
    const { instanceId, operator: token, send } = world;
    await upload(world, "seats", await seats());
    const spec = showSpec({ was_booked: { wasm: "seats" } });
    const path = `/api/instances/${instanceId}/spec`;
    const deployed = await send("POST", path, { token, body: { spec, force: true } });
    assert.equal(deployed.status, 200, deployed.text);
    const { status, body } = await upload(world, "seats", await answering({ actions: [] }));
    assert.deepEqual([status, body.error_type], [422, "spec_incompatible"]);
    assert.equal(body.violations[0].rule, "entrypoint_in_use");
  });
});

Deno.test("what is no form with just a name and a file is 400, what is too large 413", async () => {
  await withWorld(async (world) => {
    const { send, operator: token } = world;
    const name = { name: "name", value: "seats" };
    const file = { name: "file", value: await seats() };
    const wrong: readonly (readonly [Part[], string])[] = [
      [[file], "name"],
      [[name], "file"],
      [[name, { name: "file", value: "text" }], "file"],
      [[name, file, file], "file"],
      [[name, file, { name: "mode", value: "x" }], "mode"],
      [[name, file, { name: "environment", value: "moon" }], "environment"],
    ];
    for (const [parts, path] of wrong) {
      const { status, body } = await post(world, parts);
      assert.deepEqual([status, body.path], [400, path], body.error);
    }
    const json = await send("POST", "/_admin/blobs", { token, body: { name: "seats" } });
    assert.equal(json.status, 400);
    const headers = { "content-type": "multipart/form-data; boundary=other" };
    const cut = await send("POST", "/_admin/blobs", { token, headers, body: multipart([name]) });
    assert.equal(cut.status, 400);
    const large = { name: "file", value: new Uint8Array(4 * 1024 * 1024 + 1) };
    const tooLarge = await post(world, [name, large]);
    assert.deepEqual([tooLarge.status, tooLarge.body.limit], [413, 4_194_304]);
    const huge = { name: "file", value: new Uint8Array(5 * 1024 * 1024) };
    assert.equal((await post(world, [name, huge])).status, 413);
  });
});
