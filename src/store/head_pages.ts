/**
 * The heads of all streams of an environment, read through in the order of the streams' keys. A
 * head is the last of what a stream is made of, so reading through passes its events too: those of
 * short streams cost less than asking for each head, and those of long ones are left out.
 */

import type { StreamKey } from "../domain/stream_key.ts";
import type { ReadTransaction } from "../kv/engine.ts";
import { unpack } from "../kv/tuple.ts";
import { keyAfter, keys, streamPart } from "./keys.ts";
import { decodeHead, type StreamHead } from "./stream_head.ts";

/** Of events and heads, passed in one page. */
const PAGE_BYTES = 128 * 1024;

export interface HeadPage {
  /** By key, byte-wise. */
  readonly heads: readonly { readonly stream: StreamKey; readonly head: StreamHead }[];
  /** Where the next page begins; undefined behind the last one. */
  readonly last: StreamKey | undefined;
}

/** The heads of the streams that come after `after` by key: some, if there are any. */
export async function listHeads(
  tx: Pick<ReadTransaction, "get" | "getRange">,
  tenant: number,
  after: StreamKey | undefined,
): Promise<HeadPage> {
  const { begin, end } = keys.allStreams(tenant);
  const from = after === undefined ? begin : keyAfter(keys.head(tenant, after));
  const pairs = await tx.getRange({ begin: from, end }, { bytesMax: PAGE_BYTES });
  // The first key of the range is what all have in common and one byte.
  const common = begin.length - 1;
  const heads: { stream: StreamKey; head: StreamHead }[] = [];
  let last: StreamKey | undefined;
  let isHead = true;
  for (const { key, value } of pairs) {
    const [stream, part] = unpack(key.subarray(common)) as [StreamKey, number];
    last = stream;
    isHead = part === streamPart.head;
    if (isHead) heads.push({ stream, head: decodeHead(value) });
  }
  if (last === undefined || isHead) return { heads, last };
  // In the middle of a stream: the rest of its events are passed over.
  const head = await tx.get(keys.head(tenant, last));
  if (head !== undefined) heads.push({ stream: last, head: decodeHead(head) });
  return { heads, last };
}
