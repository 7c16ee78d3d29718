/** The `x-request-id` of every answer: the client's own if it is valid, otherwise a random one. */

import type { Host } from "../../host.ts";

const ID_CHARACTERS = 32;
const ID_BYTES = ID_CHARACTERS / 2;
/**
 * Ids are drawn and encoded in bulk, because a system call for each request costs more than the
 * id: docs/internals/optimisations.md. The pool is small, because each id is a slice that keeps
 * the pool's whole text in memory.
 */
const POOL_BYTES = 64 * ID_BYTES;
const CLIENT_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** Returns the id of each request from its `x-request-id` header: that text, or 32 hex digits. */
export function createRequestIds(host: Host): (header: string | null) => string {
  let pool = "";
  let at = 0;
  return (header) => {
    if (header !== null && CLIENT_ID.test(header)) return header;
    if (at >= pool.length) {
      pool = host.randomBytes(POOL_BYTES).toHex();
      at = 0;
    }
    at += ID_CHARACTERS;
    return pool.slice(at - ID_CHARACTERS, at);
  };
}
