/**
 * Verifies a page of a stream's events against itself.
 *
 * Each hash must follow from the hash before it and the stored bytes. See
 * docs/reference/audit.md.
 */

import { keyOf } from "./attestation.ts";
import { type ChainHash, extendChain } from "./chain.ts";

/** The fields that are verified of an entry in a listing with `raw=true`. */
export interface PageEntry {
  readonly raw: string;
  readonly hash: ChainHash;
}

export interface PageExpected {
  readonly stream?: string;
  /** The chain hash before the page, e.g. the last one of the previous page. */
  readonly previous?: ChainHash;
}

export type PageVerdict =
  | {
    readonly ok: true;
    readonly stream: string;
    readonly events: number;
    readonly tip: ChainHash;
    /**
     * What proves the first event: it opens the stream (`stream`), or it follows the expected
     * hash (`previous`). With `unknown` nothing proves it, and only the later events are
     * verified.
     */
    readonly start: "stream" | "previous" | "unknown";
  }
  | { readonly ok: false; readonly index: number; readonly message: string };

/** Expects at least one entry, in the order of the listing. `index` of a fault counts from 0. */
export function verifyPage(
  entries: readonly PageEntry[],
  expected: PageExpected = {},
): PageVerdict {
  const [first] = entries;
  if (first === undefined) return { ok: false, index: 0, message: "there are no events" };
  const stream = expected.stream ?? keyOf(first.raw);
  let previous = expected.previous;
  let start: "stream" | "previous" | "unknown" = previous === undefined ? "unknown" : "previous";
  for (const [index, { raw, hash }] of entries.entries()) {
    const refuse = (message: string): PageVerdict => ({ ok: false, index, message });
    if (!raw.isWellFormed()) return refuse("raw has half a character in it");
    const key = keyOf(raw);
    if (key === undefined) return refuse("raw is not a JSON object with a key");
    if (key !== stream) return refuse(`the event is of ${key}, not of ${stream}`);
    const reached = extendChain(previous, raw);
    if (reached === hash) {
      if (index === 0 && previous === undefined) start = "stream";
    } else if (index > 0 || previous !== undefined) {
      return refuse(`the bytes before and these hash to ${reached}, not to ${hash}`);
    }
    previous = hash;
  }
  return { ok: true, stream: stream!, events: entries.length, tip: previous!, start };
}
