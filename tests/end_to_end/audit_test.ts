/** Anchors, keys and bundles on the wire. See docs/reference/audit.md. */

import assert from "node:assert/strict";
import { verifyBundle } from "../../src/domain/audit/attestation.ts";
import { exampleSpec as spec } from "../support/example_spec.ts";
import { uuid } from "../support/service_fixture.ts";
import { withWorld, type World } from "./world.ts";

const ORDER = uuid(1);

async function write({ send }: World, id: string) {
  const body = { data: { text: "x" }, metadata: { actor: { type: "user", id: "global" } } };
  const answer = await send("POST", `/order/${id}/was_noted`, { body });
  assert.equal(answer.status, 201, answer.text);
}

function makeAnchor({ send, operator }: World, environment = "test") {
  return send("POST", "/_admin/anchors", { token: operator, body: { environment } });
}

function attest({ send }: World, id: string, index: string, query = "") {
  return send("GET", `/order/${id}/audit/attestation/${index}${query}`);
}

Deno.test("an anchor is made on demand, listed, read by id and as the latest one", async () => {
  await withWorld(async (world) => {
    const { send } = world;
    const none = await makeAnchor(world);
    assert.deepEqual([none.status, none.body], [200, { ok: true, anchor: null }]);
    const missing = await send("GET", "/_audit/anchors/latest");
    assert.deepEqual([missing.status, missing.body.error_type], [404, "anchor_not_found"]);
    await write(world, ORDER);
    const made = await makeAnchor(world);
    assert.equal(made.status, 201);
    const { anchor } = made.body;
    assert.deepEqual(Object.keys(anchor), [
      "format",
      "id",
      "instance_id",
      "environment",
      "merkle_root",
      "signature",
      "public_key",
      "event_count",
      "stream_count",
      "created_at",
    ]);
    for (const name of ["latest", anchor.id]) {
      assert.deepEqual((await send("GET", `/_audit/anchors/${name}`)).body, { ok: true, anchor });
    }
    const again = await makeAnchor(world);
    assert.deepEqual([again.status, again.body.anchor], [200, anchor]);
    const listed = (await send("GET", "/_audit/anchors?limit=1")).body;
    assert.deepEqual(listed, { ok: true, data: [anchor], limit: 1, truncated: false });
  }, { spec });
});

Deno.test("the bundle on the wire verifies, with the key that the service names", async () => {
  await withWorld(async (world) => {
    const { send, instanceId } = world;
    await write(world, ORDER);
    await write(world, ORDER);
    const { anchor } = (await makeAnchor(world)).body;
    const key = (await send("GET", "/_audit/signing-key")).body;
    const { created_at, public_key } = key;
    assert.deepEqual(key, {
      ok: true,
      algorithm: "ed25519",
      public_key,
      instance_id: instanceId,
      environment: "test",
      created_at,
    });
    const answer = await attest(world, ORDER, "1");
    assert.equal(answer.status, 200);
    const expected = { publicKey: public_key, stream: `order:${ORDER}`, index: 1 };
    assert.ok(verifyBundle(answer.body, expected).ok);
    assert.equal(answer.body.anchored_at, anchor.created_at);
    assert.equal((await attest(world, ORDER, "1", `?anchor=${anchor.id}`)).text, answer.text);
  }, { spec });
});

Deno.test("each refusal of the attestation has its status, its error_type and its fields", async () => {
  await withWorld(async (world) => {
    await write(world, ORDER);
    assert.equal((await attest(world, ORDER, "0")).body.error_type, "anchor_not_found");
    const early = await attest(world, ORDER, "one");
    assert.deepEqual([early.status, early.body.error_type], [422, "invalid_index"]);
    const { anchor } = (await makeAnchor(world)).body;
    await write(world, uuid(2));
    const beyond = {
      error_type: "beyond_anchor_coverage",
      anchor_id: anchor.id,
      anchor_created_at: anchor.created_at,
    };
    const cases = [
      [ORDER, "1", "", 409, { ...beyond, reason: "index", covered_event_count: 1 }],
      [ORDER, "9007199254740993", "", 409, {
        ...beyond,
        reason: "index",
        covered_event_count: 1,
      }],
      [uuid(2), "0", "", 409, { ...beyond, reason: "stream", covered_event_count: 0 }],
      [uuid(3), "0", "", 404, { error_type: "stream_not_found" }],
      [ORDER, "-1", "", 422, { error_type: "invalid_index" }],
      [ORDER, "one", "", 422, { error_type: "invalid_index" }],
      [ORDER, "0", "?anchor=anc_none", 404, { error_type: "anchor_not_found" }],
      ["bad", "0", "", 422, { error_type: "identifier_invalid" }],
    ] as const;
    for (const [id, index, query, status, fields] of cases) {
      const answer = await attest(world, id, index, query);
      const { ok, error, ...rest } = answer.body;
      assert.deepEqual([answer.status, ok], [status, false], `${id} ${index}`);
      assert.ok(error.length > 0);
      for (const [name, value] of Object.entries(fields)) assert.equal(rest[name], value);
    }
  }, { spec });
});

Deno.test("a rotated key signs, and the older one is still told", async () => {
  await withWorld(async (world) => {
    const { send, operator } = world;
    const before = (await send("GET", "/_audit/signing-key")).body.public_key;
    const rotated = await send("POST", "/_admin/signing-keys", { token: operator, body: {} });
    assert.equal(rotated.status, 201);
    assert.equal((await send("GET", "/_audit/signing-key")).body.keys, undefined);
    const { public_key, keys, ...rest } = (await send("GET", "/_audit/signing-key?all")).body;
    const others = ["ok", "algorithm", "instance_id", "environment", "created_at"];
    assert.deepEqual(Object.keys(rest), others);
    assert.equal(public_key, rotated.body.public_key);
    const told = keys.map((key: { public_key: string }) => key.public_key);
    assert.deepEqual(told, [before, public_key]);
    assert.ok(!JSON.stringify([rotated.body, keys]).includes("private"));
  }, { spec });
});

Deno.test("the platform has a key, and no anchor before the first", async () => {
  await withWorld(async ({ send, service }) => {
    const key = (await send("GET", "/_audit/platform-key")).body;
    assert.deepEqual(Object.keys(key), ["ok", "algorithm", "public_key", "created_at"]);
    assert.equal((await service.audit.readPlatformKey()).public_key, key.public_key);
    const none = await send("GET", "/_audit/platform-anchors/latest");
    assert.deepEqual([none.status, none.body.error_type], [404, "anchor_not_found"]);
  }, { spec });
});
