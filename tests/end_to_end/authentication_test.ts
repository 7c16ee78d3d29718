/** API keys, operator tokens, environments and instances. See docs/reference/basics.md. */

import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import type { JsonObject } from "../../src/domain/json.ts";
import { ENVIRONMENTS } from "../../src/domain/tenant.ts";
import { type Case, refusal, testCases } from "./cases.ts";
import { operatorClaims, signToken, START, withWorld } from "./world.ts";
import { noteBody } from "./world_spec.ts";

const UNKNOWN = `dbk_0_test_${"A".repeat(43)}`;
const KEY_REQUIRED = "API key required: send the header 'Authorization: Bearer <API_KEY>'";
const TOKEN_SENT =
  "This call needs an API key (Authorization: Bearer dbk_...), but an operator token (JWT) was sent";
const TOKEN_REQUIRED = "Operator token required: send the header 'Authorization: Bearer <JWT>'";

const DATA_CALLS = [
  "POST /note/global/was_written",
  "POST /note/global",
  "POST /_atomic-write",
  "GET /note/global",
  "GET /note/global/length",
  "GET /note/global/events",
  "GET /note",
  "GET /_errors/err_1",
];
const OPERATOR_CALLS = [
  "POST /api/users",
  "GET /api/instances",
  "POST /api/instances",
  "GET /api/instances/{instance}",
  "PATCH /api/instances/{instance}",
  "GET /api/instances/{instance}/spec",
  "POST /api/instances/{instance}/spec",
  "GET /api/instances/{instance}/specs",
  "GET /api/instances/{instance}/keys",
  "POST /api/instances/{instance}/keys",
  "POST /api/keys/key_1/rotate",
  "POST /api/keys/key_1/schedule_revocation",
  "DELETE /api/keys/key_1",
];
const CHALLENGE = { "www-authenticate": "Bearer" };

function unauthorized(
  name: string,
  call: string,
  token: string | null,
  text: string,
): Case {
  return {
    name,
    call,
    token,
    status: 401,
    headers_out: CHALLENGE,
    answer: refusal("unauthorized", text),
  };
}

/** Tells how a token could read it. */
function hinted(one: Case): Case {
  const hint = "With ?instance_id= an operator token reads the data of the instance that it names";
  return { ...one, answer: refusal("unauthorized", TOKEN_SENT, { hint }) };
}

testCases("401", [
  ...DATA_CALLS.map((call) => unauthorized(`${call} without a key`, call, null, KEY_REQUIRED)),
  ...DATA_CALLS.map((call) =>
    unauthorized(`${call} with an unknown key`, call, UNKNOWN, "Invalid API key")
  ),
  ...OPERATOR_CALLS.map((call) =>
    unauthorized(`${call} without a token`, call, null, TOKEN_REQUIRED)
  ),
  ...OPERATOR_CALLS.map((call) =>
    unauthorized(
      `${call} with an API key says that a token is needed`,
      call,
      UNKNOWN,
      "This call needs an operator token (Authorization: Bearer <JWT>), but an API key was sent",
    )
  ),
  hinted(unauthorized(
    "a data call with an operator token says that a key is needed",
    "GET /note/global",
    signToken(operatorClaims()),
    TOKEN_SENT,
  )),
  unauthorized(
    "a write with an operator token, which needs a key however it names the instance",
    "POST /note/global/was_written?instance_id={instance}",
    signToken(operatorClaims()),
    TOKEN_SENT,
  ),
  ...["dbk_0_test_short", "hunter2", `dbk_1_test_${"A".repeat(43)}`].map((token) =>
    unauthorized(`a malformed key ${token.slice(0, 16)}`, "GET /note", token, "Invalid API key")
  ),
]);

Deno.test("401: a key without the scheme Bearer says that the scheme is missing, and repeats no key", () =>
  withWorld(async ({ send, keys, operator }) => {
    const authorization = keys.test.write;
    const data = await send("GET", "/note", { token: null, headers: { authorization } });
    const text = "The scheme is missing: send the header 'Authorization: Bearer <API_KEY>'";
    assert.deepEqual([data.status, data.body.error], [401, text]);
    assert.ok(!data.text.includes(authorization));
    const call = await send("GET", "/api/instances", {
      token: null,
      headers: { authorization: operator },
    });
    const tokenText = "The scheme is missing: send the header 'Authorization: Bearer <JWT>'";
    assert.deepEqual([call.status, call.body.error], [401, tokenText]);
  }));

for (const authorization of ["Basic abc", "Bearer", "Bearer ", "Token x", "Bearer a b"]) {
  Deno.test(`401: Authorization '${authorization}'`, () =>
    withWorld(async ({ send }) => {
      const answer = await send("GET", "/note", { token: null, headers: { authorization } });
      assert.deepEqual([answer.status, answer.body.error], [401, KEY_REQUIRED]);
    }));
}

for (const at of ENVIRONMENTS) {
  for (const of of ENVIRONMENTS) {
    if (at === of) continue;
    Deno.test(`403: a key of ${of} on ${at}`, () =>
      withWorld(async ({ send, keys }) => {
        for (const token of [keys[of].read, keys[of].write]) {
          const { status, body } = await send("GET", "/note", { environment: at, token });
          const text = "The API key belongs to another environment";
          assert.deepEqual([status, body], [403, refusal("forbidden", text)]);
        }
      }));
  }
}

Deno.test("403: a read key on each of the three writes", () =>
  withWorld(async ({ send, keys }) => {
    for (const path of ["/note/global/was_written", "/note/global", "/_atomic-write"]) {
      const { status, body } = await send("POST", path, { token: keys.test.read, body: {} });
      const text = "This API key has scope 'read'; this call needs a key with scope 'write'";
      assert.deepEqual([status, body], [403, refusal("forbidden", text)]);
    }
  }));

Deno.test("scope read reads everything, scope write includes read", () =>
  withWorld(async ({ send, keys }) => {
    for (const token of [keys.test.read, keys.test.write]) {
      for (const path of ["/note/global", "/note/global/length", "/note/global/events", "/note"]) {
        assert.equal((await send("GET", path, { token })).status, 200);
      }
    }
  }));

Deno.test("keys and data are isolated per environment", () =>
  withWorld(async ({ send }) => {
    for (const [index, environment] of ENVIRONMENTS.entries()) {
      const body = noteBody(environment, { previous_length: 0 });
      const written = await send("POST", "/note/global/was_written", { environment, body });
      assert.equal(written.status, 201, `${index}`);
    }
    for (const environment of ENVIRONMENTS) {
      const { body } = await send("GET", "/note/global", { environment });
      assert.deepEqual(body.data.texts, [environment]);
    }
  }));

const TOKENS: readonly (readonly [string, JsonObject, number, RegExp])[] = [
  ["of exp 24 hours ahead", { exp: START + 86_400 }, 200, /./],
  ["of exp more than 24 hours ahead", { exp: START + 86_500 }, 401, /24 hours ahead/],
  ["without exp", { exp: null }, 401, /./],
  ["that has expired", { exp: START - 1 }, 401, /expired/],
  ["that expires now", { exp: START }, 401, /expired/],
  ["of another role", { role: "viewer" }, 403, /role 'operator'/],
  ["without role", { role: null }, 403, /role 'operator'/],
  ["without sub", { sub: null }, 401, /sub/],
  ["with an empty sub", { sub: "" }, 401, /sub/],
  ["with instances that are no list", { instances: "all" }, 401, /list of ids/],
  ["with iat", { iat: START }, 200, /./],
];
for (const [name, change, status, error] of TOKENS) {
  Deno.test(`an operator token ${name} is ${status}`, () =>
    withWorld(async ({ send }) => {
      const claims = Object.fromEntries(
        Object.entries(operatorClaims(change)).filter(([, value]) => value !== null),
      );
      const answer = await send("GET", "/api/instances", { token: signToken(claims) });
      assert.equal(answer.status, status, answer.text);
      if (status !== 200) assert.match(answer.body.error, error);
    }));
}

Deno.test("an operator token that is forged is 401: another secret, no signature, alg none", () =>
  withWorld(async ({ send, operator }) => {
    const [head, claims, signature] = operator.split(".");
    const none = signToken(operatorClaims(), { alg: "none" });
    const forged = [
      `${head}.${claims}.${"A".repeat(43)}`,
      `${head}.${claims}.`,
      `${none.split(".").slice(0, 2).join(".")}.`,
      `${head}.${claims!.slice(0, -2)}AA.${signature}`,
      signToken(operatorClaims(), { alg: "HS512" }),
      "not.a.token",
    ];
    for (const token of forged) {
      assert.equal((await send("GET", "/api/instances", { token })).status, 401, token);
    }
  }));

Deno.test("an operator token is accepted until its exp, also once it has been seen", () =>
  withWorld(async ({ send, host }) => {
    const token = signToken(operatorClaims({ exp: START + 60 }));
    host.timeMs += 59_000;
    assert.equal((await send("GET", "/api/instances", { token })).status, 200);
    host.timeMs += 1_000;
    assert.equal((await send("GET", "/api/instances", { token })).status, 401);
  }));

Deno.test("EdDSA tokens are accepted exactly when a public key is configured", async () => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const raw = publicKey.export({ format: "jwk" }).x!;
  const part = (value: object) =>
    new TextEncoder().encode(JSON.stringify(value)).toBase64({
      alphabet: "base64url",
      omitPadding: true,
    });
  const signed = `${part({ alg: "EdDSA" })}.${part(operatorClaims())}`;
  const token = `${signed}.${
    new Uint8Array(sign(null, new TextEncoder().encode(signed), privateKey))
      .toBase64({ alphabet: "base64url", omitPadding: true })
  }`;
  const jwtPublicKey = Uint8Array.fromBase64(raw, { alphabet: "base64url" });
  for (const [options, status] of [[{ jwtPublicKey }, 200], [{}, 401]] as const) {
    await withWorld(async ({ send }) => {
      assert.equal((await send("GET", "/api/instances", { token })).status, status);
    }, options);
  }
});

Deno.test("a token that names instances: 403 for every other one and for calls of all instances", () =>
  withWorld(async ({ send, instanceId }) => {
    const other = (await send("POST", "/api/instances", { body: { slug: "other" } })).body.id;
    const token = signToken(operatorClaims({ instances: [instanceId] }));
    const list = await send("GET", "/api/instances", { token });
    assert.deepEqual(list.body.data.map(({ id }: { id: string }) => id), [instanceId]);
    assert.equal((await send("GET", `/api/instances/${instanceId}`, { token })).status, 200);
    const text = "The token does not cover this instance";
    for (
      const [method, path, body] of [
        ["GET", `/api/instances/${other}`],
        ["GET", `/api/instances/${other}/spec`],
        ["GET", `/api/instances/${other}/specs`],
        ["GET", `/api/instances/${other}/keys`],
        ["POST", `/api/instances/${other}/keys`, { name: "x", scope: "read" }],
        ["POST", `/api/instances/${other}/spec`, { spec: {} }],
      ] as const
    ) {
      const answer = await send(method, path, { token, body });
      assert.deepEqual([answer.status, answer.body], [403, refusal("forbidden", text)], path);
    }
    for (const path of ["/api/instances", "/api/users"]) {
      const body = { slug: "third", email: "a@example.com", password: "x".repeat(12) };
      assert.equal((await send("POST", path, { token, body })).status, 403);
    }
    for (const id of [instanceId, other]) {
      const body = { tier: "free" };
      assert.equal((await send("PATCH", `/api/instances/${id}`, { token, body })).status, 403);
    }
  }));

Deno.test("who acts inside an event is not by credential: any key writes for any declared actor", () =>
  withWorld(async ({ send }) => {
    for (const type of ["user", "robot"]) {
      const body = noteBody("a", { actor: { type, id: "main" } });
      assert.equal((await send("POST", "/note/global/was_written", { body })).status, 201);
    }
  }));
