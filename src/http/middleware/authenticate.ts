/**
 * Authenticates callers: an API key for data, an operator token for everything else. Such a token
 * also reads the data of an instance that the query names.
 *
 * See docs/reference/basics.md.
 */

import type { Holder, Operator } from "../../domain/access/access.ts";
import { type Outcome, refuse } from "../../domain/refusal.ts";
import type { AccessService } from "../../features/access/access_service.ts";
import type { Call } from "../call.ts";

const BEARER = /^Bearer +[^\s,]+$/i;
const API_KEY_PREFIX = "dbk_";
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/;
/** A credential of either kind in place of the scheme. */
const BARE_CREDENTIAL = /^\s*(?:dbk_[^\s,]*|[\w-]+\.[\w-]+\.[\w-]*)\s*$/;

/** Names the instance whose data an operator reads. */
export const INSTANCE_PARAMETER = "instance_id";

/**
 * 401 without a valid key; 403 for another environment, or for a read key on a write. An operator
 * token is taken for a read whose query names the instance.
 */
export function authenticateHolder(
  access: AccessService,
  header: string | null,
  { place, query }: Pick<Call, "place" | "query">,
  needed: "read" | "write",
): Outcome<Holder> | Promise<Outcome<Holder>> {
  const token = bearerToken(header);
  if (token === undefined) {
    return unauthorized(
      isBare(header)
        ? "The scheme is missing: send the header 'Authorization: Bearer <API_KEY>'"
        : "API key required: send the header 'Authorization: Bearer <API_KEY>'",
    );
  }
  if (!token.startsWith(API_KEY_PREFIX) && JWT.test(token)) {
    const id = needed === "read" ? new URLSearchParams(query).get(INSTANCE_PARAMETER) : null;
    if (id) return access.authenticateReader(token, id, place);
    return unauthorized(
      "This call needs an API key (Authorization: Bearer dbk_...), but an operator token (JWT) " +
        "was sent",
      needed === "read" ? NAME_INSTANCE : undefined,
    );
  }
  const holder = access.authenticateKey(token, place.environment, place.slug);
  return needed === "read" ? holder : holder.then(requireWriteScope);
}

/** The instance of the key that a request is sent with, if this process has just seen that key. */
export function knownInstance(access: AccessService, header: string | null): string | undefined {
  const token = bearerToken(header);
  return token && access.instanceOfKey(token);
}

const NAME_INSTANCE =
  `With ?${INSTANCE_PARAMETER}= an operator token reads the data of the instance that it names`;

function requireWriteScope(holder: Outcome<Holder>): Outcome<Holder> {
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

function unauthorized(message: string, hint?: string) {
  return refuse({ kind: "unauthorized", message, hint });
}
