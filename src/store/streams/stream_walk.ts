/**
 * Walks all streams of an environment as they are stored, for `fsck`. That includes what a
 * rewrite is building, or has not removed yet.
 */

import type { StreamKey } from "../../domain/stream_key.ts";
import type { Bytes, ReadTransaction } from "../../kv/engine.ts";
import { unpack } from "../../kv/tuple.ts";
import { keyAfter, keys, streamPart } from "../keys.ts";
import { wholeValue } from "../large_value.ts";
import { decodeHead, decodeSegment, type StreamHead, tailOf } from "./stream_head.ts";
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

/** About `bytesMax` bytes of all streams, after the key `after`; events come before their head. */
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
