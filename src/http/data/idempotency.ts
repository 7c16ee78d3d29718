/**
 * Decodes the `X-Idempotency-Key` header and hashes the body that it stands for.
 *
 * See docs/reference/writing.md.
 */

import { canonicalHash, canonicalHashInPieces } from "../../domain/canonical_hash.ts";
import type { JsonObject } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import { openPieces, type Turns } from "../../domain/fairness/pieces.ts";
import { accept, ACCEPTED, type Outcome, refuse } from "../../domain/refusal.ts";
import type { IdempotencyClaim } from "../../domain/write/write.ts";

const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;

/** The claim of a keyed write; undefined without the header. */
export function decodeIdempotency(
  header: string | null,
  body: JsonObject,
): Outcome<IdempotencyClaim | undefined> {
  const key = decodeKey(header);
  if (!key.ok || key.value === undefined) return key as Outcome<undefined>;
  return accept({ key: key.value, bodyHash: canonicalHash(body) });
}

/** The same for a body that may be long; hashing it yields to other work. */
export async function decodeLongIdempotency(
  header: string | null,
  body: JsonObject,
  turns: Turns,
): Promise<Outcome<IdempotencyClaim | undefined>> {
  const key = decodeKey(header);
  if (!key.ok || key.value === undefined) return key as Outcome<undefined>;
  const bodyHash = await canonicalHashInPieces(body, openPieces(turns));
  return accept({ key: key.value, bodyHash });
}

function decodeKey(header: string | null): Outcome<string | undefined> {
  if (header === null) return ACCEPTED;
  const message = findKeyFault(header);
  if (message !== undefined) return refuse({ kind: "idempotency_key_invalid", message });
  return accept(header);
}

function findKeyFault(key: string): string | undefined {
  // The server joins repeated headers this way, so they cannot be told from a key with a comma.
  if (key.includes(", ")) return "Multiple X-Idempotency-Key headers not allowed";
  if (key.length === 0) return "Idempotency key cannot be empty";
  if (key.length > limits.idempotencyKeyCharactersMax) {
    return `Idempotency key exceeds ${limits.idempotencyKeyCharactersMax} character limit`;
  }
  if (!PRINTABLE_ASCII.test(key)) {
    return "Idempotency key contains invalid characters (must be printable ASCII)";
  }
  return undefined;
}
