/**
 * Walks all streams of an environment in the order of their keys: everything that is stored, for
 * `fsck`, or only the heads, for anchors.
 */

import type { StreamKey } from "../../domain/identifier.ts";
import type { Bytes, ReadTransaction } from "../../kv/engine.ts";
import { unpack } from "../../kv/tuple.ts";
import { keyAfter, keys, streamPart } from "../keys.ts";
import { wholeValue } from "../large_value.ts";
import {
  decodeHead,
  decodeSegment,
  type HeadOfStream,
  type StreamHead,
  tailOf,
} from "./stream_head.ts";
import { type IndexedEvent, indexTail } from "./stream_events.ts";

type Reads = Pick<ReadTransaction, "get" | "getRange">;

/** What a walk over all streams of an environment finds, in the order of their keys. */
export type StreamPart =
  | {
    readonly kind: "events";
    readonly stream: StreamKey;
    readonly generation: number;
    readonly events: IndexedEvent[];
  }
  | { readonly kind: "head"; readonly stream: StreamKey; readonly head: StreamHead }
  | { readonly kind: "unreadable"; readonly stream: StreamKey; readonly reason: string };

/**
 * About `bytesMax` bytes of all streams, after the key `after`; events come before their head. That
 * includes what a rewrite is building, or has not removed yet.
 */
export async function walkStreams(
  tx: Reads,
  tenant: number,
  after: Bytes | undefined,
  bytesMax: number,
): Promise<{ readonly parts: StreamPart[]; readonly last: Bytes | undefined }> {
  const { begin, end } = keys.allStreams(tenant);
  const range = { begin: after === undefined ? begin : keyAfter(after), end };
  const pairs = await tx.getRange(range, { bytesMax });
  const parts: StreamPart[] = [];
  for (const { key, value } of pairs) {
    const [stream, which, ...place] = unpack(key).slice(2) as [StreamKey, number, ...number[]];
    try {
      if (which === streamPart.head) {
        const head = decodeHead(value);
        const events = indexTail(head, tailOf(value, head));
        if (events.length > 0) {
          parts.push({ kind: "events", stream, generation: head.generation, events });
        }
        parts.push({ kind: "head", stream, head });
        continue;
      }
      const [first, generation = 0] = place.toReversed() as [number, number?];
      const events = decodeSegment(await wholeValue(tx, tenant, key, value));
      const indexed = events.map((event, offset) => ({ index: first + offset, ...event }));
      parts.push({ kind: "events", stream, generation, events: indexed });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      parts.push({ kind: "unreadable", stream, reason });
    }
  }
  return { parts, last: pairs.at(-1)?.key };
}

/** Bytes of events and heads that one page passes. */
const PAGE_BYTES = 128 * 1024;

interface HeadPage {
  /** By key, byte-wise. */
  readonly heads: readonly HeadOfStream[];
  /** Where the next page begins; undefined after the last one. */
  readonly last: StreamKey | undefined;
}

/**
 * The heads of the streams after `after`, by key; at least one, if there are any. A head is the
 * last part of its stream, so reading through passes events too. Those of short streams cost less
 * than a read for each head; those of long streams are skipped.
 */
export async function listHeads(
  tx: Pick<ReadTransaction, "get" | "getRange">,
  tenant: number,
  after: StreamKey | undefined,
): Promise<HeadPage> {
  const { begin, end } = keys.allStreams(tenant);
  const from = after === undefined ? begin : keyAfter(keys.head(tenant, after));
  const pairs = await tx.getRange({ begin: from, end }, { bytesMax: PAGE_BYTES });
  // The first key of the range is the prefix that all keys share, and one byte.
  const common = begin.length - 1;
  const heads: HeadOfStream[] = [];
  let last: StreamKey | undefined;
  let isHead = true;
  for (const { key, value } of pairs) {
    const [stream, part] = unpack(key.subarray(common)) as [StreamKey, number];
    last = stream;
    isHead = part === streamPart.head;
    if (isHead) heads.push({ stream, head: decodeHead(value) });
  }
  if (last === undefined || isHead) return { heads, last };
  // The page ended in the middle of a stream: the rest of its events is skipped.
  const head = await tx.get(keys.head(tenant, last));
  if (head !== undefined) heads.push({ stream: last, head: decodeHead(head) });
  return { heads, last };
}
