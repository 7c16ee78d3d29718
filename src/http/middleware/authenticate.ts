/**
 * Authenticates callers: an API key for data, an operator token for everything else.
 *
 * See docs/reference/basics.md.
 */

import type { KeyHolder, Operator } from "../../domain/access/access.ts";
import { type Outcome, refuse } from "../../domain/refusal.ts";
import type { AccessService } from "../../features/access/access_service.ts";
import type { Place } from "../call.ts";

const BEARER = /^Bearer +[^\s,]+$/i;
const API_KEY_PREFIX = "dbk_";
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/;
/** A credential of either kind in place of the scheme. */
const BARE_CREDENTIAL = /^\s*(?:dbk_[^\s,]*|[\w-]+\.[\w-]+\.[\w-]*)\s*$/;

/** 401 without a valid key; 403 for another environment, or for a read key on a write. */
export function authenticateHolder(
  access: AccessService,
  header: string | null,
  place: Place,
  needed: "read" | "write",
): Outcome<KeyHolder> | Promise<Outcome<KeyHolder>> {
  const token = bearerToken(header);
  if (token === undefined) {
    return unauthorized(
      isBare(header)
        ? "The scheme is missing: send the header 'Authorization: Bearer <API_KEY>'"
        : "API key required: send the header 'Authorization: Bearer <API_KEY>'",
    );
  }
  if (!token.startsWith(API_KEY_PREFIX) && JWT.test(token)) {
    return unauthorized(
      "This call needs an API key (Authorization: Bearer dbk_...), but an operator token (JWT) " +
        "was sent",
    );
  }
  const holder = access.authenticateKey(token, place.environment, place.slug);
  return needed === "read" ? holder : holder.then(requireWriteScope);
}

function requireWriteScope(holder: Outcome<KeyHolder>): Outcome<KeyHolder> {
  if (!holder.ok || holder.value.scope === "write") return holder;
  const message = "This API key has scope 'read'; this call needs a key with scope 'write'";
  return refuse({ kind: "forbidden", message });
}

/** 401 without a valid operator token; 403 for another role. */
export async function authenticateCaller(
  access: AccessService,
  header: string | null,
): Promise<Outcome<Operator>> {
  const token = bearerToken(header);
  if (token === undefined) {
    return unauthorized(
      isBare(header)
        ? "The scheme is missing: send the header 'Authorization: Bearer <JWT>'"
        : "Operator token required: send the header 'Authorization: Bearer <JWT>'",
    );
  }
  if (token.startsWith(API_KEY_PREFIX)) {
    return unauthorized(
      "This call needs an operator token (Authorization: Bearer <JWT>), but an API key was sent",
    );
  }
  return await access.authenticateOperator(token);
}

function bearerToken(header: string | null): string | undefined {
  if (header === null || !BEARER.test(header)) return undefined;
  return header.slice(header.lastIndexOf(" ") + 1);
}

function isBare(header: string | null): boolean {
  return header !== null && BARE_CREDENTIAL.test(header);
}

function unauthorized(message: string) {
  return refuse({ kind: "unauthorized", message });
}
