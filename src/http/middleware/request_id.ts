/** The `x-request-id` of every answer: the client's own where it is usable, else a random one. */

import { Buffer } from "node:buffer";
import type { Host } from "../../host.ts";

const ID_BYTES = 16;
/** Drawn at once, since one call to the system for each request costs more than the id. */
const POOL_BYTES = 256 * ID_BYTES;
const CLIENT_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** Gives the id of each request from its `x-request-id` header: that text, or 32 hex digits. */
export function createRequestIds(host: Host): (header: string | null) => string {
  let pool = Buffer.alloc(0);
  let at = 0;
  return (header) => {
    if (header !== null && CLIENT_ID.test(header)) return header;
    if (at >= pool.length) {
      pool = Buffer.from(host.randomBytes(POOL_BYTES));
      at = 0;
    }
    at += ID_BYTES;
    return pool.toString("hex", at - ID_BYTES, at);
  };
}
