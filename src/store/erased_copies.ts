/**
 * What an erased stream leaves behind, and how it is removed: page by page, each in a transaction
 * of its own, after the markers have taken the place of the events. Whatever feature keeps copies
 * of events, or of what follows from them, has a remover (`commands/erasure/copies.ts`).
 */

import type { StreamKey } from "../domain/stream_key.ts";
import type { Bytes, KeyRange, KeyValue, Transaction } from "../kv/engine.ts";
import { keyAfter } from "./keys.ts";
import { clearLargeValue, wholeBytes } from "./large_value.ts";

/** A stream whose events are markers by now. */
export interface ErasedStream {
  readonly tenant: number;
  readonly stream: StreamKey;
  /** Events that were erased: those written since have higher indexes. */
  readonly length: number;
  /** Of the stream since. */
  readonly generation: number;
  readonly tombstoneId: string;
  /** When that was, in milliseconds since 1970. */
  readonly erasedMs: number;
}

/**
 * Removes the next page of one kind of copies, after the key `after`. Gives where to go on;
 * undefined when there are no more. May be run again for a page that is done.
 */
export type CopyRemover = (
  tx: Transaction,
  erased: ErasedStream,
  after: Bytes | undefined,
) => Promise<Bytes | undefined>;

/** Pairs of a page: their number, and about their bytes. */
const PAGE = { limit: 500, bytesMax: 1024 * 1024 };

/**
 * Shows `take` the next pairs of a range. Unguarded: what `take` changes it reads again, where
 * others may change it too.
 */
export async function takePage(
  tx: Transaction,
  { begin, end }: KeyRange,
  after: Bytes | undefined,
  take: (pair: KeyValue) => void | Promise<void>,
): Promise<Bytes | undefined> {
  const range = { begin: after === undefined ? begin : keyAfter(after), end };
  const pairs = await tx.unguarded.getRange(range, PAGE);
  for (const pair of pairs) await take(pair);
  return pairs.at(-1)?.key;
}

/** Clears the next values of a range, whole, those first that come first. */
export async function clearPage(
  tx: Transaction,
  tenant: number,
  range: KeyRange,
): Promise<Bytes | undefined> {
  const pairs = await tx.unguarded.getRange(range, PAGE);
  let bytes = 0;
  let last: Bytes | undefined;
  for (const { key, value } of pairs) {
    const size = wholeBytes(value);
    if (size === value.length) tx.clear(key);
    else clearLargeValue(tx, tenant, key);
    last = key;
    bytes += size;
    if (bytes >= PAGE.bytesMax) break;
  }
  return last;
}
