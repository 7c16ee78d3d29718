/** The content and signature of issued operator tokens. */

import { deepEqual, equal, rejects } from "node:assert/strict";
import { createHmac } from "node:crypto";
import { mintOperatorToken } from "../../../src/features/access/operator_token.ts";

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
