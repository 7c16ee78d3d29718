/** The operator API: accounts, instances, API keys. See docs/reference/operators.md. */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { type Case, refusal, testCases } from "./cases.ts";
import { operatorClaims, signToken, withWorld, type World } from "./world.ts";
import { noteBody } from "./world_spec.ts";

const ADA = { email: "ada@example.com", password: "correct horse battery" };
const WRONG = refusal("unauthorized", "Wrong email or password");
const TIMES = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

Deno.test("POST /api/login answers {ok, token, expires_at}; the token works for 24 hours", () =>
  withWorld(async ({ send, host }) => {
    const made = await send("POST", "/api/users", { body: ADA });
    assert.deepEqual([made.status, made.body], [201, { ok: true, email: ADA.email }]);
    const { status, body } = await send("POST", "/api/login", { body: ADA, token: null });
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(body), ["ok", "token", "expires_at"]);
    assert.equal(body.expires_at, "2026-01-02T00:00:00.000Z");
    assert.equal((await send("GET", "/api/instances", { token: body.token })).status, 200);
    host.timeMs += 24 * 3_600_000;
    assert.equal((await send("GET", "/api/instances", { token: body.token })).status, 401);
  }));

Deno.test("ten failed logins of an account in a minute lock it for that minute: 429 with Retry-After", () =>
  withWorld(async ({ send, host }) => {
    await send("POST", "/api/users", { body: ADA });
    const wrong = { ...ADA, password: "wrong horse battery" };
    for (let turn = 0; turn < 10; turn++) {
      const { status, body } = await send("POST", "/api/login", { body: wrong, token: null });
      assert.deepEqual([status, body], [401, WRONG]);
    }
    const locked = await send("POST", "/api/login", { body: ADA, token: null });
    assert.deepEqual([locked.status, locked.body.error_type], [429, "rate_limited"]);
    assert.equal(locked.headers.get("retry-after"), "60");
    const other = { email: "eve@example.com", password: "x" };
    assert.equal((await send("POST", "/api/login", { body: other, token: null })).status, 401);
    host.timeMs += 60_000;
    assert.equal((await send("POST", "/api/login", { body: ADA, token: null })).status, 200);
  }));

testCases("POST /api/login", [
  {
    name: "an email without account is 401, as a wrong password is",
    call: "POST /api/login",
    token: null,
    body: ADA,
    status: 401,
    answer: WRONG,
  },
  ...["email", "password"].map((field): Case => ({
    name: `without ${field} is 400 with its path`,
    call: "POST /api/login",
    token: null,
    body: { ...ADA, [field]: undefined },
    status: 400,
    answer: refusal("bad_request", `${field} is required`, { path: field }),
  })),
  {
    name: "with an unknown field is 400",
    call: "POST /api/login",
    token: null,
    body: { ...ADA, otp: "1" },
    status: 400,
    answer: refusal("bad_request", "Unknown field: otp", {
      path: "otp",
      hint: "It has email, password",
    }),
  },
]);

const CREATE = "POST /api/instances";
const badSlugs = [
  "",
  "A",
  "1a",
  "-a",
  "a-",
  "a--b",
  "a_b",
  "a.b",
  "x-test",
  "x-staging",
  "api",
  "a".repeat(43),
];
testCases("instances", [
  {
    name: "POST answers 201 {ok, id, slug, tier, created_at}, tier unlimited by default",
    call: CREATE,
    body: { slug: "acme" },
    status: 201,
    answer:
      /^\{"ok":true,"id":"[0-9a-f-]{36}","slug":"acme","tier":"unlimited","created_at":"[^"]+"\}$/,
  },
  ...["free", "hobby", "pro", "scale", "unlimited"].map((tier): Case => ({
    name: `POST takes the tier ${tier}`,
    call: CREATE,
    body: { slug: "acme", tier },
    status: 201,
    answer: new RegExp(`"tier":"${tier}"`),
  })),
  {
    name: "POST with another tier is 422 with path tier",
    call: CREATE,
    body: { slug: "acme", tier: "gold" },
    status: 422,
    answer: /"error_type":"bad_request","path":"tier"/,
  },
  ...badSlugs.map((slug): Case => ({
    name: `POST with slug '${slug.slice(0, 9)}' is 422 with path slug`,
    call: CREATE,
    body: { slug },
    status: 422,
    answer: /"path":"slug"/,
  })),
  {
    name: "POST with a slug that is taken is 409",
    call: CREATE,
    body: { slug: "shop" },
    status: 409,
    answer: refusal("bad_request", "An instance with slug 'shop' exists already", { path: "slug" }),
  },
  {
    name: "GET of an unknown one is 404",
    call: "GET /api/instances/5b3e1a7c-9d24-4f6a-8b1e-0c2d3e4f5a6b",
    status: 404,
    answer: refusal("not_found", "Instance not found"),
  },
  {
    name: "PATCH with another tier is 422",
    call: "PATCH /api/instances/{instance}",
    body: { tier: "gold" },
    status: 422,
    answer: /"path":"tier"/,
  },
  {
    name: "PATCH with another field is 400",
    call: "PATCH /api/instances/{instance}",
    body: { tier: "free", slug: "x" },
    status: 400,
    answer: /Unknown field: slug/,
  },
]);

Deno.test("instances: PATCH changes the tier, GET and the list show it", () =>
  withWorld(async ({ send, instanceId }) => {
    const path = `/api/instances/${instanceId}`;
    const changed = await send("PATCH", path, { body: { tier: "pro" } });
    assert.deepEqual([changed.status, changed.body.tier], [200, "pro"]);
    assert.equal((await send("GET", path)).body.tier, "pro");
    const { body } = await send("GET", "/api/instances");
    assert.deepEqual(body.data.map(({ tier }: { tier: string }) => tier), ["pro"]);
    assert.deepEqual([body.limit, body.truncated], [50, false]);
  }));

Deno.test("instances: a list has the shape of every list: limit, truncated, next_start", () =>
  withWorld(async ({ send }) => {
    for (const slug of ["b", "c", "d"]) await send("POST", "/api/instances", { body: { slug } });
    const seen: string[] = [];
    let start = "";
    for (let turn = 0; turn < 5; turn++) {
      const { body } = await send("GET", `/api/instances?limit=3${start}`);
      for (const { slug } of body.data) seen.push(slug);
      if (!body.truncated) break;
      start = `&start=${body.next_start}`;
    }
    assert.deepEqual(seen.toSorted(), ["b", "c", "d", "shop"]);
    assert.equal((await send("GET", "/api/instances?limit=0")).status, 400);
    assert.equal((await send("GET", "/api/instances?limit=201")).body.limit_clamped, true);
  }));

function issue({ send, instanceId }: World, body: object) {
  return send("POST", `/api/instances/${instanceId}/keys`, { body });
}

for (
  const [environment, part] of [["production", "prod"], ["staging", "staging"], ["test", "test"], [
    "prod",
    "prod",
  ]] as const
) {
  Deno.test(`keys: one of ${environment} is 201 {ok, id, name, scope, environment, created_at, key}, dbk_0_${part}_`, () =>
    withWorld(async (world) => {
      const { status, body } = await issue(world, { name: "ci", scope: "read", environment });
      assert.equal(status, 201);
      assert.deepEqual(
        Object.keys(body).toSorted(),
        ["created_at", "environment", "id", "key", "name", "ok", "scope"],
      );
      assert.match(body.key, new RegExp(`^dbk_0_${part}_[0-9A-Za-z]{43}$`));
      assert.equal(body.environment, environment === "prod" ? "production" : environment);
      assert.match(body.created_at, TIMES);
      const at = { environment: body.environment, token: body.key };
      assert.equal((await world.send("GET", "/note", at)).status, 200);
      assert.equal((await world.send("POST", "/note/global", { ...at, body: {} })).status, 403);
    }));
}

testCases("keys", [
  ...[
    [{ scope: "read" }, 400, "name"],
    [{ name: "x" }, 400, "scope"],
    [{ name: "x", scope: "admin" }, 422, "scope"],
    [{ name: "", scope: "read" }, 422, "name"],
    [{ name: "x".repeat(101), scope: "read" }, 422, "name"],
    [{ name: "x", scope: "read", environment: "prdo" }, 400, "environment"],
    [{ name: "x", scope: "read", ttl: "1" }, 400, "ttl"],
  ].map(([body, status, path]): Case => ({
    name: `${JSON.stringify(body).slice(0, 60)} is ${status} with path ${path}`,
    call: "POST /api/instances/{instance}/keys",
    body,
    status: Number(status),
    answer: new RegExp(`"path":"${path}"`),
  })),
  {
    name: "environment in body and query that differ are 400",
    call: "POST /api/instances/{instance}/keys?environment=staging",
    body: { name: "x", scope: "read", environment: "test" },
    status: 400,
    answer: refusal("bad_request", "environment differs between the body and the query", {
      path: "environment",
    }),
  },
  ...["POST /api/keys/key_0/rotate", "DELETE /api/keys/key_0"].map((call): Case => ({
    name: `${call} of an unknown key is 404`,
    call,
    status: 404,
    answer: refusal("not_found", "API key not found"),
  })),
]);

Deno.test("keys: environment left out is that of the listener", () =>
  withWorld(async ({ send, instanceId }) => {
    const body = { name: "x", scope: "read" };
    for (const environment of ["production", "staging", "test"] as const) {
      const answer = await send("POST", `/api/instances/${instanceId}/keys`, { body, environment });
      assert.equal(answer.body.environment, environment);
    }
  }));

Deno.test("keys: the list never shows a key's text, and the store holds only its SHA-256", () =>
  withWorld(async (world) => {
    const { key, id } = (await issue(world, { name: "ci", scope: "write" })).body;
    const list = await world.send(
      "GET",
      `/api/instances/${world.instanceId}/keys?environment=test`,
    );
    const row = list.body.data.find((item: { id: string }) => item.id === id);
    assert.deepEqual(
      Object.keys(row).toSorted(),
      ["created_at", "environment", "id", "name", "scope"],
    );
    assert.ok(!list.text.includes(key.slice(-43)) && !list.text.includes("hash"));
    const stored = await world.engine.snapshot((tx) =>
      tx.getRange({ begin: new Uint8Array([0]), end: new Uint8Array([255]) }, { limit: 1_000 })
    );
    const everything = stored.map(({ key, value }) =>
      Buffer.concat([key, value]).toString("latin1")
    ).join("\n");
    assert.ok(!everything.includes(key.slice(-43)));
    const hash = createHash("sha256").update(key).digest();
    const asHex = everything.includes(hash.toString("hex"));
    assert.ok(asHex || everything.includes(hash.toString("latin1")), "its SHA-256 is there");
  }));

Deno.test("keys: rotation gives a new text for the same id; the old text is 401 at once", () =>
  withWorld(async (world) => {
    const { send } = world;
    const old = (await issue(world, { name: "ci", scope: "write" })).body;
    assert.equal((await send("GET", "/note", { token: old.key })).status, 200);
    for (const body of [undefined, {}]) {
      const { status, body: rotated } = await send("POST", `/api/keys/${old.id}/rotate`, { body });
      assert.equal(status, 201);
      assert.equal(rotated.id, old.id);
      assert.notEqual(rotated.key, old.key);
      assert.equal((await send("GET", "/note", { token: old.key })).status, 401);
      assert.equal((await send("GET", "/note", { token: rotated.key })).status, 200);
    }
    const refused = await send("POST", `/api/keys/${old.id}/rotate`, { body: { grace: "1h" } });
    assert.deepEqual(
      [refused.status, refused.body],
      [
        400,
        refusal("bad_request", "Unknown field: grace", {
          path: "grace",
          hint: "The body has no fields",
        }),
      ],
    );
  }));

Deno.test("keys: a scheduled revocation ends the key at its time, and may be replaced", () =>
  withWorld(async (world) => {
    const { send, host } = world;
    const { id, key } = (await issue(world, { name: "ci", scope: "read" })).body;
    const path = `/api/keys/${id}/schedule_revocation`;
    await send("POST", path, { body: { revoke_at: "2026-01-01T00:00:05Z" } });
    const { status, body } = await send("POST", path, {
      body: { revoke_at: "2026-01-01T00:01:00Z" },
    });
    assert.deepEqual([status, body.revoke_at], [200, "2026-01-01T00:01:00.000Z"]);
    host.timeMs += 59_999;
    assert.equal((await send("GET", "/note", { token: key })).status, 200);
    host.timeMs += 1;
    assert.equal((await send("GET", "/note", { token: key })).status, 401);
    assert.equal((await send("POST", `/api/keys/${id}/rotate`)).status, 404);
    for (const revoke_at of ["2025-01-01T00:00:00Z", "tomorrow", "2026-02-30T00:00:00Z"]) {
      const refused = await send("POST", path, { body: { revoke_at } });
      assert.deepEqual([refused.status, refused.body.path], [422, "revoke_at"], revoke_at);
    }
  }));

Deno.test("keys: DELETE answers {ok: true} and ends the key at once", () =>
  withWorld(async (world) => {
    const { send } = world;
    const { id, key } = (await issue(world, { name: "ci", scope: "write" })).body;
    await send("POST", "/note/global/was_written", { token: key, body: noteBody("a") });
    const { status, body } = await send("DELETE", `/api/keys/${id}`);
    assert.deepEqual([status, body], [200, { ok: true }]);
    assert.equal((await send("GET", "/note", { token: key })).status, 401);
    assert.equal((await send("DELETE", `/api/keys/${id}`)).status, 404);
  }));

Deno.test("keys: those of an instance that the token does not cover are 403 to rotate, schedule and delete", () =>
  withWorld(async (world) => {
    const { id } = (await issue(world, { name: "ci", scope: "read" })).body;
    const token = signToken(operatorClaims({ instances: ["another"] }));
    const body = { revoke_at: "2026-06-01T00:00:00Z" };
    const answers = [
      await world.send("POST", `/api/keys/${id}/rotate`, { token }),
      await world.send("POST", `/api/keys/${id}/schedule_revocation`, { token, body }),
      await world.send("DELETE", `/api/keys/${id}`, { token }),
    ];
    assert.deepEqual(answers.map(({ status }) => status), [403, 403, 403]);
  }));
