/** Pages of a stream's events, listed with `raw=true`: each event follows from the one before. */

import { needEvent, parseEvent } from "./bundle.ts";
import { hex64, isObject, needFields, own, readDocument, text } from "./form.ts";
import { chainHash } from "./hashes.ts";
import { need, Refusal, type Refused, verdictOf } from "./verdict.ts";

/**
 * What is expected of a page.
 *
 * @example
 * ```ts
 * import type { PageOptions } from "@daybook/client/verify";
 *
 * const options: PageOptions = { stream: "order:7KD2M9QXA", previous: "ab".repeat(32) };
 * console.log(options);
 * ```
 */
export interface PageOptions {
  /** The stream that was asked for, `<type>:<id>`. */
  readonly stream?: string;
  /** The chain hash before the page: the `tip` of the page before it. */
  readonly previous?: string;
}

/**
 * What a page proves. A page is not signed, so it proves no more than its `tip` does: compare that
 * with the tip of a receipt, or prove the last event with a bundle.
 *
 * @example
 * ```ts
 * import type { ProvenPage } from "@daybook/client/verify";
 *
 * function isWhole({ start }: ProvenPage): boolean {
 *   return start !== "unknown";
 * }
 * console.log(isWhole.name);
 * ```
 */
export interface ProvenPage {
  readonly stream: string;
  /** How many events there are. */
  readonly events: number;
  /** The chain hash of the last event. */
  readonly tip: string;
  /**
   * What proves the first event: it opens the stream, or it follows from `previous`. If nothing
   * does, only the later events are verified.
   */
  readonly start: "stream" | "previous" | "unknown";
}

/**
 * The outcome of verifying a page. A refusal has the index (from 0) of the entry at fault.
 *
 * @example
 * ```ts
 * import { type PageVerdict, verifyPage } from "@daybook/client/verify";
 *
 * const verdict: PageVerdict = verifyPage({ data: [] });
 * console.log(verdict.ok ? verdict.page.tip : verdict.message);
 * ```
 */
export type PageVerdict =
  | { readonly ok: true; readonly page: ProvenPage }
  | Refused & { readonly index?: number };

/**
 * Verifies a page of a stream's events, the answer of `GET /{type}/{id}/events?raw=true` or the
 * list in it, in the order of the listing: as bytes, text or parsed. Needs no key, because a page
 * is not signed.
 *
 * @example
 * ```ts
 * import { verifyPage } from "@daybook/client/verify";
 *
 * const raw = '{"key":"order:7KD2M9QXA","type":"was_placed","data":{},"metadata":{}}';
 * const verdict = verifyPage({ data: [{ raw, hash: "ab".repeat(32) }] });
 * console.log(verdict.ok && verdict.page.start); // unknown
 * ```
 */
export function verifyPage(page: unknown, options: PageOptions = {}): PageVerdict {
  let index: number | undefined;
  const verdict = verdictOf(() => {
    const entries = entriesOf(page);
    let { stream, previous } = options;
    if (previous !== undefined) needFields({ previous }, { previous: hex64 }, "the options");
    let start: ProvenPage["start"] = previous === undefined ? "unknown" : "previous";
    for (const [at, entry] of entries.entries()) {
      index = at;
      needFields(entry, { raw: text, hash: hex64 }, "the entry");
      const { raw, hash } = entry as { readonly raw: string; readonly hash: string };
      stream ??= parseEvent(raw).key;
      needEvent(raw, stream, "the page");
      const isHeld = chainHash(previous ?? "", raw) === hash;
      need(isHeld || (at === 0 && previous === undefined), "chain", "it does not hash to its hash");
      if (isHeld && at === 0 && previous === undefined) start = "stream";
      previous = hash;
    }
    const proven = { stream: stream!, events: entries.length, tip: previous!, start };
    return { ok: true as const, page: proven };
  });
  return verdict.ok || index === undefined ? verdict : { ...verdict, index };
}

function entriesOf(page: unknown): readonly unknown[] {
  const document = readDocument(page);
  const entries = isObject(document) ? own(document, "data") : document;
  if (!Array.isArray(entries)) throw new Refusal("form", "the document is not a list of events");
  need(entries.length > 0, "form", "there are no events in the page");
  return entries;
}
