/** Makes operator tokens: JWTs signed with HS256 (RFC 7519, RFC 7518 section 3.2). */

import { SignJWT } from "jose";
import { assert } from "../../domain/assert.ts";
import { limits } from "../../domain/limits.ts";

export interface TokenRequest {
  /** At least 32 bytes. */
  readonly secret: Uint8Array;
  /** Who the token is for, for example an email address. */
  readonly subject: string;
  readonly nowMs: number;
  /** Ids of the only instances that the token covers; omitted: all. */
  readonly instances?: readonly string[];
  /** At most 24 hours, which is also the default. */
  readonly lifetimeSeconds?: number;
}

export interface MintedToken {
  readonly token: string;
  /** ISO 8601 UTC. */
  readonly expires_at: string;
}

export async function mintOperatorToken(request: TokenRequest): Promise<MintedToken> {
  const lifetime = request.lifetimeSeconds ?? limits.tokenLifetimeSecondsMax;
  assert(lifetime > 0 && lifetime <= limits.tokenLifetimeSecondsMax, "a token lives 24 h at most");
  const issued = Math.floor(request.nowMs / 1000);
  const expires = issued + lifetime;
  const claims = { role: "operator", ...(request.instances && { instances: request.instances }) };
  const token = await new SignJWT(claims)
    .setProtectedHeader({ alg: "HS256", typ: "JWT" })
    .setSubject(request.subject)
    .setIssuedAt(issued)
    .setExpirationTime(expires)
    .sign(request.secret);
  return { token, expires_at: new Date(expires * 1000).toISOString() };
}
