/** Requests to erase a stream, on the wire. See docs/reference/erasure.md. */

import assert from "node:assert/strict";
import { verifyReceipt } from "../../src/domain/erasure/receipt.ts";
import { drainErasures } from "../support/erasure_fixtures.ts";
import { exampleSpec as spec } from "../support/example_spec.ts";
import { uuid } from "../support/service_fixture.ts";
import { withWorld, type World } from "./world.ts";

const ORDER = `order:${uuid(1)}`;
const PATH = "/_admin/tombstones";

async function write({ send }: World, id = uuid(1), environment: "test" | "production" = "test") {
  const body = { data: { text: "secret" }, metadata: { actor: { type: "user", id: "global" } } };
  const answer = await send("POST", `/order/${id}/was_noted`, { body, environment });
  assert.equal(answer.status, 201, answer.text);
}

function request({ send, operator }: World, fields: Record<string, unknown> = {}) {
  const body = { key: ORDER, reason: "asked for", grace_hours: 0, environment: "test", ...fields };
  return send("POST", PATH, { token: operator, body });
}

function ask({ send, operator }: World, method: string, id: string, query = "?environment=test") {
  return send(method, `${PATH}/${id}${query}`, { token: operator });
}

Deno.test("a request is taken, told, executed, and answers with its receipt", async () => {
  await withWorld(async (world) => {
    await write(world);
    const taken = await request(world, { legal_basis: "GDPR 17" });
    assert.equal(taken.status, 202, taken.text);
    const { tombstone } = taken.body;
    const { id } = tombstone;
    assert.deepEqual(tombstone, {
      id,
      key: ORDER,
      reason: "asked for",
      legal_basis: "GDPR 17",
      grace_hours: 0,
      state: "pending",
      requested_at: "2026-01-01T00:00:00.000Z",
      requested_by: tombstone.requested_by,
      execute_at: "2026-01-01T00:00:00.000Z",
    });
    assert.deepEqual((await ask(world, "GET", id)).body, { ok: true, tombstone });
    await drainErasures(world.service);
    const { body } = await ask(world, "GET", id);
    assert.equal(body.tombstone.state, "completed");
    assert.ok(verifyReceipt(body.tombstone.receipt));
    assert.equal(body.tombstone.receipt.instance_id, world.instanceId);
    const listed = await world.send("GET", `${PATH}?limit=1`, { token: world.operator });
    assert.deepEqual(listed.body, { ok: true, data: [body.tombstone], limit: 1, truncated: false });
    const events = await world.send("GET", `/order/${uuid(1)}/events`);
    assert.equal(events.body.data[0].event.type, "_was_tombstoned");
    assert.doesNotMatch(events.text, /secret/);
    const state = await world.send("GET", `/order/${uuid(1)}`);
    assert.deepEqual([state.status, state.body.data], [200, {}]);
    const late = await ask(world, "DELETE", id);
    assert.deepEqual([late.status, late.body.error_type, late.body.state], [
      409,
      "bad_request",
      "completed",
    ]);
  }, { spec });
});

Deno.test("a request is taken back with DELETE", async () => {
  await withWorld(async (world) => {
    await write(world);
    const { body: { tombstone: { id } } } = await request(world, { grace_hours: 1 });
    const gone = await ask(world, "DELETE", id);
    assert.deepEqual([gone.status, gone.body.tombstone.state], [200, "cancelled"]);
    assert.match(gone.body.tombstone.cancelled_at, /^2026-/);
  }, { spec });
});

Deno.test("requests that cannot be are refused, with the path", async () => {
  await withWorld(async (world) => {
    await write(world);
    await write(world, uuid(1), "production");
    const cases = [
      [{ key: undefined }, 400, "key"],
      [{ reason: undefined }, 400, "reason"],
      [{ grace_hours: "1" }, 400, "grace_hours"],
      [{ environment: "moon" }, 400, "environment"],
      [{ note: "x" }, 400, "note"],
      [{ reason: "" }, 422, "reason"],
      [{ key: "order" }, 422, "key"],
      [{ grace_hours: -1 }, 422, "grace_hours"],
      [{ environment: "production", grace_hours: 71 }, 422, "grace_hours"],
    ] as const;
    for (const [fields, status, path] of cases) {
      const answer = await request(world, fields);
      assert.deepEqual([answer.status, answer.body.path], [status, path], answer.text);
    }
    const none = await request(world, { key: `order:${uuid(2)}` });
    assert.deepEqual([none.status, none.body.error_type], [404, "stream_not_found"]);
    assert.equal((await request(world)).status, 202);
    assert.deepEqual((await request(world)).status, 409);
    const prod = await request(world, { environment: "prod", grace_hours: undefined });
    assert.equal(prod.body.tombstone.grace_hours, 72);
  }, { spec });
});

Deno.test("only operators of the instance may ask, and ids are of one environment", async () => {
  await withWorld(async (world) => {
    await write(world);
    const { id } = (await request(world, { grace_hours: 1 })).body.tombstone;
    for (const [method, path] of [["POST", PATH], ["GET", PATH], ["DELETE", `${PATH}/${id}`]]) {
      const body = method === "POST" ? { key: ORDER, reason: "x" } : undefined;
      const answer = await world.send(method!, path!, { token: world.keys.test.write, body });
      assert.equal(answer.status, 401, `${method} ${path}`);
    }
    assert.equal((await ask(world, "GET", id, "?environment=staging")).status, 404);
    assert.equal((await ask(world, "GET", "nothing")).status, 404);
    assert.equal((await ask(world, "PUT", id)).status, 405);
  }, { spec });
});
