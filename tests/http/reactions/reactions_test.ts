/**
 * `/_admin/reactions`: what operators may request, and what is refused. See
 * docs/reference/pending.md.
 */

import assert from "node:assert/strict";
import { withWorld, type World } from "../../end_to_end/world.ts";

const PATH = "/_admin/reactions";

function act({ send, operator: token }: World, body: Record<string, unknown>) {
  return send("POST", PATH, { token, body: { environment: "test", ...body } });
}

async function read({ send, operator: token }: World, query = "") {
  return await send("GET", `${PATH}?environment=test${query}`, { token });
}

Deno.test("an environment is paused by an operator, and goes on when told so", async () => {
  await withWorld(async (world) => {
    const none = { count: 0, bytes: 0, is_more: false };
    const pending = {
      implied: none,
      scheduled: none,
      saga: none,
      delivery: none,
      oldest: null,
    };
    const page = { data: [], limit: 50, truncated: false };
    assert.deepEqual((await read(world)).body, { ok: true, ...page, paused: false, pending });
    const paused = await act(world, { action: "pause" });
    assert.deepEqual([paused.status, paused.body], [200, { ok: true, paused: true }]);
    const { body } = await read(world);
    assert.equal(body.paused, true);
    assert.equal(body.paused_since, "2026-01-01T00:00:00.000Z");
    assert.equal(typeof body.paused_by, "string");
    const resumed = await act(world, { action: "resume" });
    assert.deepEqual(resumed.body, { ok: true, paused: false });
    assert.equal((await read(world)).body.paused, false);
  });
});

Deno.test("discarding nothing answers that, and leaves no error record", async () => {
  await withWorld(async (world) => {
    const { body } = await act(world, { action: "discard", filter: { kind: "implied" } });
    const discarded = { implied: 0, scheduled: 0, saga: 0 };
    assert.deepEqual(body, { ok: true, discarded, truncated: false });
  });
});

const refused: readonly (readonly [string, Record<string, unknown>, string])[] = [
  ["another action", { action: "stop" }, "action"],
  ["no action", {}, "action"],
  ["a filter of a pause", { action: "pause", filter: {} }, "filter"],
  ["a filter that is no object", { action: "discard", filter: "implied" }, "filter"],
  ["another kind", { action: "discard", filter: { kind: "delivery" } }, "filter.kind"],
  ["another field", { action: "discard", filter: { key: "order:1" } }, "key"],
  ["a start of another list", { action: "discard", start: "order:1" }, "start"],
];

for (const [name, body, path] of refused) {
  Deno.test(`${name} is 400 with its path`, async () => {
    await withWorld(async (world) => {
      const answer = await act(world, body);
      assert.deepEqual([answer.status, answer.body.path], [400, path]);
    });
  });
}

Deno.test("a page that goes on from nowhere is 400", async () => {
  await withWorld(async (world) => {
    assert.equal((await read(world, "&start=order")).status, 400);
  });
});
