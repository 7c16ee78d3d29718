/** The content and signature of issued operator tokens, and the secret that all nodes share. */

import { deepEqual, equal, notDeepEqual, rejects } from "node:assert/strict";
import { createHmac, createPrivateKey, sign } from "node:crypto";
import {
  mintOperatorToken,
  operatorAuthenticator,
  shareSecret,
} from "../../../src/features/access/operator_token.ts";
import fc from "fast-check";
import { accepted, refusal } from "../../support/access_fixtures.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const secret = new Uint8Array(32).fill(9);
const nowMs = Date.UTC(2026, 0, 1) + 999;
const issued = Date.UTC(2026, 0, 1) / 1000;

/** Header, claims, and whether the signature is HMAC-SHA256 of both (RFC 7515, 5.1), by hand. */
function open(token: string) {
  const [header, claims, signature] = token.split(".") as [string, string, string];
  const mac = createHmac("sha256", secret).update(`${header}.${claims}`).digest("base64url");
  const decode = (part: string) =>
    JSON.parse(new TextDecoder().decode(
      Uint8Array.fromBase64(part, { alphabet: "base64url" }),
    ));
  return { header: decode(header), claims: decode(claims), isSigned: mac === signature };
}

Deno.test("mintOperatorToken() makes an HS256 token of 24 hours with role operator", async () => {
  const { token, expires_at } = await mintOperatorToken({ secret, subject: "ops", nowMs });
  deepEqual(open(token), {
    header: { alg: "HS256", typ: "JWT" },
    claims: { role: "operator", sub: "ops", iat: issued, exp: issued + 86_400 },
    isSigned: true,
  });
  equal(expires_at, "2026-01-02T00:00:00.000Z");
});

Deno.test("mintOperatorToken() names instances and a shorter life where asked", async () => {
  const request = { secret, subject: "ops", nowMs, instances: ["a"], lifetimeSeconds: 60 };
  const { claims } = open((await mintOperatorToken(request)).token);
  deepEqual([claims.instances, claims.exp], [["a"], issued + 60]);
});

Deno.test("mintOperatorToken() makes no token that outlives 24 hours, or is over", async () => {
  for (const lifetimeSeconds of [0, -1, 86_401]) {
    const request = { secret, subject: "ops", nowMs, lifetimeSeconds };
    await rejects(mintOperatorToken(request), { name: "Bug" });
  }
});

/** Operator tokens, made here by hand with node:crypto alone (RFC 7515, RFC 8037). */
const jwtSecret = new TextEncoder().encode("0123456789abcdef0123456789abcdef");
// RFC 8037, appendix A.1.
const D = "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A";
const X = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
const jwtPublicKey = Uint8Array.fromBase64(X, { alphabet: "base64url" });
const privateKey = createPrivateKey({
  key: { kty: "OKP", crv: "Ed25519", d: D, x: X },
  format: "jwk",
});
const HOUR = 3_600;
const DAY = 24 * HOUR;
const now = Date.UTC(2026, 0, 1) / 1000;
const good = { sub: "ops@example.com", role: "operator", iat: now, exp: now + HOUR };

function encode(part: unknown): string {
  const bytes = new TextEncoder().encode(JSON.stringify(part));
  return bytes.toBase64({ alphabet: "base64url", omitPadding: true });
}

function hmacToken(claims: unknown, secret: Uint8Array = jwtSecret, alg = "HS256"): string {
  const signed = `${encode({ alg, typ: "JWT" })}.${encode(claims)}`;
  const name = `sha${alg.slice(2)}`;
  return `${signed}.${createHmac(name, secret).update(signed).digest("base64url")}`;
}

function eddsaToken(claims: unknown): string {
  const signed = `${encode({ alg: "EdDSA" })}.${encode(claims)}`;
  const signature = sign(null, new TextEncoder().encode(signed), privateKey);
  return `${signed}.${signature.toString("base64url")}`;
}

async function kindOf(token: string, keys = { jwtSecret, jwtPublicKey }): Promise<string> {
  const outcome = await operatorAuthenticator(fakeHost(), keys).authenticate(token);
  return outcome.ok ? "accepted" : outcome.refusal.kind;
}

Deno.test("authenticate() accepts an HS256 token made with HMAC-SHA256 by hand", async () => {
  const operators = operatorAuthenticator(fakeHost(), { jwtSecret });
  for (let time = 0; time < 2; time++) {
    const outcome = await operators.authenticate(hmacToken(good));
    deepEqual(accepted(outcome), { subject: "ops@example.com" });
  }
});

Deno.test("authenticate() accepts EdDSA only where a public key is configured", async () => {
  equal(await kindOf(eddsaToken(good)), "accepted");
  const operators = operatorAuthenticator(fakeHost(), { jwtSecret });
  equal(refusal(await operators.authenticate(eddsaToken(good))).kind, "unauthorized");
});

Deno.test("authenticate() gives the instances a token is limited to", async () => {
  const operators = operatorAuthenticator(fakeHost(), { jwtSecret });
  const outcome = await operators.authenticate(hmacToken({ ...good, instances: ["a", "b"] }));
  deepEqual(accepted(outcome), { subject: "ops@example.com", instances: ["a", "b"] });
});

const BAD_CLAIMS: Record<string, unknown> = {
  "no exp": { ...good, exp: undefined },
  "an exp that is no number": { ...good, exp: String(now + HOUR) },
  "an exp now": { ...good, exp: now },
  "an exp in the past": { ...good, exp: now - 1 },
  "an exp more than 24 hours ahead": { ...good, exp: now + DAY + 1 },
  "an nbf in the future": { ...good, nbf: now + 1 },
  "no sub": { ...good, sub: undefined },
  "an empty sub": { ...good, sub: "" },
  "instances that are no list": { ...good, instances: "a" },
  "instances that are no strings": { ...good, instances: [1] },
  "claims that are no object": [good],
};

for (const [name, claims] of Object.entries(BAD_CLAIMS)) {
  Deno.test(`authenticate() refuses ${name} with 401`, async () => {
    equal(await kindOf(hmacToken(claims)), "unauthorized");
    equal(await kindOf(eddsaToken(claims)), "unauthorized");
  });
}

Deno.test("authenticate() accepts a token of 24 hours from a node whose clock is ahead, by a minute", async () => {
  for (const [ahead, kind] of [[1, "accepted"], [60, "accepted"], [61, "unauthorized"]] as const) {
    const iat = now + ahead;
    equal(await kindOf(hmacToken({ ...good, iat, exp: iat + DAY })), kind);
    equal(await kindOf(hmacToken({ ...good, iat, exp: iat + DAY + 1 })), "unauthorized");
  }
});

Deno.test("authenticate() accepts an exp exactly 24 hours ahead and an nbf now", async () => {
  equal(await kindOf(hmacToken({ ...good, exp: now + DAY, nbf: now })), "accepted");
});

Deno.test("authenticate() refuses a missing and another role with 403", async () => {
  for (const role of [undefined, "viewer", "Operator", ["operator"], null]) {
    equal(await kindOf(hmacToken({ ...good, role })), "forbidden");
  }
});

Deno.test("authenticate() refuses a wrong signature and a changed token with 401", async () => {
  const token = hmacToken(good);
  const [header, claims, signature] = token.split(".") as [string, string, string];
  const forged = [
    hmacToken(good, new Uint8Array(32)),
    `${header}.${encode({ ...good, sub: "root" })}.${signature}`,
    `${header}.${claims}.`,
    `${header}.${claims}`,
    `${token}.x`,
    `${header}.${claims}.${signature.slice(0, -2)}`,
  ];
  for (const text of forged) equal(await kindOf(text), "unauthorized", text);
});

Deno.test("authenticate() refuses `none` and every other algorithm with 401", async () => {
  for (const alg of ["none", "None", "NONE", ""]) {
    equal(await kindOf(`${encode({ alg })}.${encode(good)}.`), "unauthorized", alg);
  }
  equal(await kindOf(hmacToken(good, jwtSecret, "HS384")), "unauthorized");
  equal(await kindOf(hmacToken(good, jwtSecret, "HS512")), "unauthorized");
});

Deno.test("authenticate() does not take the public key for an HS256 secret", async () => {
  equal(await kindOf(hmacToken(good, jwtPublicKey)), "unauthorized");
});

Deno.test("authenticate() refuses critical header extensions it does not know", async () => {
  const signed = `${encode({ alg: "HS256", crit: ["x"], x: 1 })}.${encode(good)}`;
  const mac = createHmac("sha256", jwtSecret).update(signed).digest("base64url");
  equal(await kindOf(`${signed}.${mac}`), "unauthorized");
});

Deno.test("authenticate() refuses a remembered token once it has expired", async () => {
  const host = fakeHost();
  const operators = operatorAuthenticator(host, { jwtSecret });
  const token = hmacToken(good);
  equal((await operators.authenticate(token)).ok, true);
  host.timeMs += HOUR * 1000 - 1;
  equal((await operators.authenticate(token)).ok, true);
  host.timeMs += 1;
  equal(refusal(await operators.authenticate(token)).kind, "unauthorized");
});

Deno.test("authenticate() answers any text with 401 and never throws", async () => {
  const operators = operatorAuthenticator(fakeHost(), { jwtSecret, jwtPublicKey });
  const part = fc.oneof(
    fc.string(),
    fc.json().map((text) => new TextEncoder().encode(text).toBase64({ alphabet: "base64url" })),
  );
  const texts = fc.oneof(fc.string(), fc.array(part, { maxLength: 5 }).map((x) => x.join(".")));
  await fc.assert(fc.asyncProperty(texts, async (text) => {
    equal(refusal(await operators.authenticate(text)).kind, "unauthorized");
  }));
  equal(refusal(await operators.authenticate("a".repeat(10_000_000))).kind, "unauthorized");
});

Deno.test("shareSecret() gives all nodes that start at once the same 32 bytes", async () => {
  await withTemporaryEngine(async (engine) => {
    const secrets = await Promise.all(
      Array.from({ length: 5 }, (_, node) => shareSecret(engine, fakeHost(`node${node}`), "jwt")),
    );
    equal(secrets[0]!.length, 32);
    for (const secret of secrets) deepEqual(secret, secrets[0]);
    deepEqual(await shareSecret(engine, fakeHost("later"), "jwt"), secrets[0]);
  });
});

Deno.test("shareSecret() gives each name a secret of its own", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    notDeepEqual(await shareSecret(engine, host, "a"), await shareSecret(engine, host, "b"));
  });
});
