/**
 * Makes operator tokens, JWTs signed with HS256 (RFC 7519, RFC 7518 section 3.2), and finds the
 * holder of one. A token that others made may be signed with EdDSA instead, if configured.
 *
 * The algorithm must be on our list, and each algorithm has its own key. So neither `none` nor
 * a public key used as a secret gets through (RFC 8725, 3.1). The claims are Daybook's own. All
 * nodes of a deployment share the secret through the store. See docs/reference/operators.md.
 */

import { type CryptoKey, errors, importJWK, type JWTPayload, jwtVerify, SignJWT } from "jose";
import { assert } from "../../domain/assert.ts";
import { limits } from "../../domain/limits.ts";
import type { Operator } from "../../domain/access/access.ts";
import { hashToken } from "../../domain/access/operator.ts";
import { createRecentTexts } from "../../domain/recent_map.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { Host } from "../../host.ts";
import type { Bytes, Engine } from "../../kv/engine.ts";
import { readSecret, storeSecret } from "../../store/deployment.ts";

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

export interface TokenKeys {
  /** HS256: at least 32 bytes. */
  readonly jwtSecret: Uint8Array;
  /** EdDSA: a raw Ed25519 public key of 32 bytes. If absent, EdDSA tokens are refused. */
  readonly jwtPublicKey?: Uint8Array;
}

interface OperatorAuthenticator {
  /**
   * 401 if malformed, wrongly signed, expired, not yet valid or too long-lived; 403 for another
   * role.
   */
  authenticate(token: string): Promise<Outcome<Operator>>;
}

const SECRET_BYTES_MIN = 32;
const REMEMBERED_MAX = 1_000;
const TOKEN_CHARACTERS_MAX = 8_192;
const RENEW = "POST /api/login gives another one; so does `main.ts token` on the server's machine";
/** The clocks of two nodes may differ by this much. */
const CLOCK_LEEWAY_SECONDS = 60;

interface Verified {
  readonly operator: Operator;
  readonly endsMs: number;
}

export function operatorAuthenticator(host: Host, tokenKeys: TokenKeys): OperatorAuthenticator {
  assert(tokenKeys.jwtSecret.length >= SECRET_BYTES_MIN, "the token secret has 32 bytes or more");
  const remembered = createRecentTexts<Verified>(REMEMBERED_MAX);
  const verify = tokenVerifier(tokenKeys);
  return {
    async authenticate(token) {
      if (token.length > TOKEN_CHARACTERS_MAX) return unauthorized("Invalid operator token");
      const nowMs = host.nowMs();
      const tokenHash = hashToken(token);
      const known = remembered.get(tokenHash);
      if (known !== undefined && nowMs < known.endsMs) return accept(known.operator);
      const outcome = await verify(token, nowMs);
      if (!outcome.ok) return outcome;
      remembered.set(tokenHash, outcome.value);
      return accept(outcome.value.operator);
    },
  };
}

function tokenVerifier({ jwtSecret, jwtPublicKey }: TokenKeys) {
  const algorithms = jwtPublicKey === undefined ? ["HS256"] : ["HS256", "EdDSA"];
  const publicKey = jwtPublicKey && importPublicKey(jwtPublicKey);

  async function keyFor({ alg }: { alg?: string }): Promise<Uint8Array | CryptoKey> {
    if (alg === "HS256") return jwtSecret;
    assert(publicKey !== undefined, "an algorithm without a key is not on the list");
    return await publicKey;
  }

  return async function verify(token: string, nowMs: number): Promise<Outcome<Verified>> {
    const currentDate = new Date(nowMs);
    try {
      const { payload } = await jwtVerify(token, keyFor, { algorithms, currentDate });
      return judgeClaims(payload, nowMs);
    } catch (error) {
      if (error instanceof errors.JWTExpired) return unauthorized("The token has expired", RENEW);
      if (error instanceof errors.JOSEError) return unauthorized("Invalid operator token");
      throw error;
    }
  };
}

/** Checks the claims of a token whose signature, `exp` and `nbf` are already verified. */
function judgeClaims(claims: JWTPayload, nowMs: number): Outcome<Verified> {
  const { sub, exp, role, instances } = claims;
  if (exp === undefined || exp > startSeconds(claims, nowMs) + limits.tokenLifetimeSecondsMax) {
    return unauthorized("The token must have an exp at most 24 hours ahead");
  }
  if (typeof sub !== "string" || sub === "") return unauthorized("The token must have a sub");
  if (role !== "operator") {
    return refuse({ kind: "forbidden", message: "The token does not have the role 'operator'" });
  }
  if (instances === undefined) {
    return accept({ operator: { subject: sub }, endsMs: exp * 1000 });
  }
  if (!isListOfStrings(instances)) {
    return unauthorized("The token's instances must be a list of ids");
  }
  return accept({ operator: { subject: sub, instances }, endsMs: exp * 1000 });
}

/**
 * The time from which a token's lifetime counts: now, or slightly later if it was issued by a
 * node whose clock is ahead. Otherwise a 24-hour token would be refused by every node whose
 * clock is behind its issuer's.
 */
function startSeconds({ iat }: JWTPayload, nowMs: number): number {
  const now = Math.ceil(nowMs / 1000);
  return Math.max(now, Math.min(iat ?? now, now + CLOCK_LEEWAY_SECONDS));
}

async function importPublicKey(raw: Uint8Array): Promise<CryptoKey> {
  const x = raw.toBase64({ alphabet: "base64url", omitPadding: true });
  return await importJWK({ kty: "OKP", crv: "Ed25519", x }, "EdDSA") as CryptoKey;
}

function isListOfStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function unauthorized(message: string, hint?: string): Outcome<never> {
  return refuse({ kind: "unauthorized", message, hint });
}

const SECRET_BYTES = 32;

/** The secret of that name; the first node that asks for it makes it. */
export function shareSecret(engine: Engine, host: Host, name: string): Promise<Bytes> {
  const fresh = host.randomBytes(SECRET_BYTES);
  return engine.transact(async (tx) => {
    const existing = await readSecret(tx, name);
    if (existing === undefined) storeSecret(tx, name, fresh);
    return existing ?? fresh;
  });
}
