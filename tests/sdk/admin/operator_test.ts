/** Calls of operators when answers are lost, tokens end, and there are several instances. */

import assert from "node:assert/strict";
import { type Admin, createAdmin } from "../../../sdk/src/admin/mod.ts";
import { answers, refuses, scriptedWorld, type Turn } from "../core/scripted_world.ts";

const KEY = { ok: true, id: "key_1", name: "ci", scope: "read", key: "dbk_0_test_x" };
const BUSY = answers(503, { ok: false, error: "busy", error_type: "unavailable" });

function scripted(
  turns: readonly Turn[],
): { admin: Admin; world: ReturnType<typeof scriptedWorld> } {
  const world = scriptedWorld(turns);
  const options = { url: "http://a.example", token: "t", instanceId: "ins_1", world };
  return { admin: createAdmin(options), world };
}

Deno.test("a call that must not take place twice is not sent again after a lost answer", async () => {
  const calls: ((admin: Admin) => Promise<{ readonly ok: boolean }>)[] = [
    (admin) => admin.keys.issue({ name: "ci", scope: "read" }),
    (admin) => admin.keys.rotate("key_1"),
    (admin) => admin.instances.create({ slug: "shop" }),
    (admin) => admin.erasures.request({ key: "order:0RDER0001", reason: "asked for" }),
    (admin) => admin.anchors.newSigningKey(),
  ];
  for (const call of calls) {
    const lost = scripted([refuses(), answers(201, KEY)]);
    const answer = await call(lost.admin);
    assert.deepEqual([answer.ok, lost.world.sent.length], [false, 1]);
    const busy = scripted(
      [BUSY, answers(429, { ok: false, error: "x", error_type: "rate_limited" })]
        .concat(answers(201, KEY)),
    );
    assert.deepEqual([(await call(busy.admin)).ok, busy.world.sent.length], [true, 3]);
    const gateway = scripted([() => new Response("<html>", { status: 504 }), answers(201, KEY)]);
    assert.deepEqual([(await call(gateway.admin)).ok, gateway.world.sent.length], [false, 1]);
  }
});

Deno.test("other calls are sent again, an import under the id of its first try", async () => {
  const deploy = scripted([refuses(), BUSY, answers(200, { ok: true, version: 1 })]);
  assert.ok((await deploy.admin.deploy({})).ok);
  assert.equal(deploy.world.sent.length, 3);
  const imported = scripted([refuses(), answers(200, { ok: true, written: 1 })]);
  assert.ok((await imported.admin.imports.events([])).ok);
  const [first, second] = imported.world.sent.map(({ body }) => body as { import_id: string });
  assert.ok(first!.import_id.length > 0);
  assert.equal(first!.import_id, second!.import_id);
});

Deno.test("the instance stands in the path, in the body or in the query, and is not asked for", async () => {
  const { admin, world } = scripted([answers(200, { ok: true, data: [], truncated: false })]);
  await admin.keys.listPage({ environment: "staging", limit: 5 });
  await admin.erasures.listPage({ environment: "staging" });
  await admin.listeners.listPage({ environment: "staging" });
  await admin.reactions.pause({ environment: "staging" });
  await admin.imports.events([], { environment: "staging", import_id: "i" });
  assert.deepEqual(
    world.sent.map(({ url }) => url.slice("http://a.example".length)),
    [
      "/api/instances/ins_1/keys?limit=5&environment=staging",
      "/_admin/tombstones?environment=staging&instance_id=ins_1",
      "/_listeners?instance_id=ins_1",
      "/_admin/reactions",
      "/_admin/import",
    ],
  );
  const place = { environment: "staging", instance_id: "ins_1" };
  assert.deepEqual(world.sent[3]!.body, { action: "pause", ...place });
  assert.deepEqual(world.sent[4]!.body, { events: [], import_id: "i", ...place });
  assert.ok(world.sent.every(({ headers }) => headers.authorization === "Bearer t"));
});

Deno.test("a token is renewed before it ends, and calls at the same time share one login", async () => {
  const token = (name: string, seconds: number): Turn => () =>
    answers(200, {
      ok: true,
      token: name,
      expires_at: new Date(Date.now() + seconds * 1000).toISOString(),
    })({} as never);
  const page = answers(200, { ok: true, data: [], truncated: false });
  let nowMs = 0;
  const script = scriptedWorld([token("first", 3600), page, page, page, token("second", 30), page]);
  const world = { ...script, now: () => nowMs };
  const login = { email: "ada@example.com", password: "correct horse battery" };
  const admin = createAdmin({ url: "http://a.example", login, instanceId: "ins_1", world });
  await Promise.all([admin.keys.listPage(), admin.specs.listPage()]);
  nowMs = 3_500_000;
  await admin.keys.listPage();
  nowMs = 3_545_000;
  await Promise.all([admin.keys.listPage(), admin.keys.listPage()]);
  assert.deepEqual(
    world.sent.map(({ url, headers }) => [
      new URL(url).pathname.split("/").at(-1),
      headers.authorization,
    ]),
    [
      ["login", undefined],
      ["keys", "Bearer first"],
      ["specs", "Bearer first"],
      ["keys", "Bearer first"],
      ["login", undefined],
      ["keys", "Bearer second"],
      ["keys", "Bearer second"],
    ],
  );
});

Deno.test("discarding and replaying go on until nothing is left, and add up", async () => {
  const part = (implied: number, next_start?: string) =>
    answers(200, {
      ok: true,
      discarded: { implied, scheduled: 0, saga: 1 },
      truncated: next_start !== undefined,
      next_start,
    });
  const { admin, world } = scripted([part(3, "a"), part(4, "b"), part(0)]);
  const { discarded } = await admin.reactions.discard({ kind: "implied" }).orThrow();
  assert.deepEqual(discarded, { implied: 7, scheduled: 0, saga: 3 });
  const starts = world.sent.map(({ body }) => (body as { start?: string }).start);
  assert.deepEqual(starts, [undefined, "a", "b"]);
  const replay = scripted([
    answers(202, { ok: true, replayed: 1000, truncated: true, next_start: "dlv_1" }),
    answers(202, { ok: true, replayed: 7, truncated: false }),
  ]);
  const { replayed } = await replay.admin.listeners.replay("hook", {
    since: "2026-01-01T00:00:00Z",
  })
    .orThrow();
  assert.deepEqual([replayed, replay.world.sent.length], [1007, 2]);
});
