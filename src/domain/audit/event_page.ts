/**
 * Verifies a page of a stream's events against itself: each hash follows from the one before and
 * the stored bytes. Spec: "A page of events is verifiable against itself".
 */

import { keyOf } from "./attestation.ts";
import { type ChainHash, extendChain } from "./chain.ts";

/** What of an entry of a listing with `raw=true` is verified. */
export interface PageEntry {
  readonly raw: string;
  readonly hash: ChainHash;
}

export interface PageExpected {
  readonly stream?: string;
  /** The chain hash before the page, e.g. the last one of the page before. */
  readonly previous?: ChainHash;
}

export type PageVerdict =
  | {
    readonly ok: true;
    readonly stream: string;
    readonly events: number;
    readonly tip: ChainHash;
    /**
     * What holds the first event: it opens the stream, or it follows the hash that was expected,
     * or nothing does: then only the others are verified.
     */
    readonly start: "stream" | "previous" | "unknown";
  }
  | { readonly ok: false; readonly index: number; readonly message: string };

/** At least one entry, in the order of the listing. `index` of a fault counts from 0. */
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
