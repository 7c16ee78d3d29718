/**
 * Reads the heads of all streams of an environment, in the order of the streams' keys. A head is
 * the last part of its stream, so reading through passes events too. Those of short streams cost
 * less than a read for each head; those of long streams are skipped.
 */

import type { StreamKey } from "../../domain/stream_key.ts";
import type { ReadTransaction } from "../../kv/engine.ts";
import { unpack } from "../../kv/tuple.ts";
import { keyAfter, keys, streamPart } from "../keys.ts";
import { decodeHead, type HeadOfStream } from "./stream_head.ts";

/** Bytes of events and heads that one page passes. */
const PAGE_BYTES = 128 * 1024;

export interface HeadPage {
  /** By key, byte-wise. */
  readonly heads: readonly HeadOfStream[];
  /** Where the next page begins; undefined after the last one. */
  readonly last: StreamKey | undefined;
}

/** The heads of the streams after `after`, by key; at least one, if there are any. */
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
