/**
 * The hash chain of a stream: each event commits to all events before it.
 *
 * See docs/reference/audit.md.
 */

import { hash } from "node:crypto";

/** 64 lowercase hex characters. */
export type ChainHash = string;

/**
 * The chain hash after `raw`. `previous` is undefined for the first event. The previous hash
 * enters as its 64 ASCII characters, not as 32 bytes; `raw` enters as UTF-8.
 */
export function extendChain(previous: ChainHash | undefined, raw: string): ChainHash {
  return hash("sha256", previous === undefined ? raw : previous + raw, "hex");
}
