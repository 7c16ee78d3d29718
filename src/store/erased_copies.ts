/**
 * Removes what an erased stream leaves behind, page by page, each in a transaction of its own.
 * This begins after markers have taken the place of the events. Every feature that keeps copies
 * of events, or of what follows from them, has a remover (`features/erasure/copies.ts`).
 */

import type { StreamKey } from "../domain/identifier.ts";
import type { Bytes, KeyRange, KeyValue, Transaction } from "../kv/engine.ts";
import { keyAfter } from "./keys.ts";
import { clearLargeValue, wholeBytes } from "./large_value.ts";

/** A stream whose events are markers by now. */
export interface ErasedStream {
  readonly tenant: number;
  readonly stream: StreamKey;
  /** Number of events that were erased; those written since have higher indexes. */
  readonly length: number;
  /** Generation of the stream since the erasure. */
  readonly generation: number;
  readonly tombstoneId: string;
  /** When the events were erased, in milliseconds since 1970. */
  readonly erasedMs: number;
}

/**
 * Removes the next page of one kind of copies, after the key `after`. Returns where to go on;
 * undefined when there are no more. May be run again for a page that is done.
 */
export type CopyRemover = (
  tx: Transaction,
  erased: ErasedStream,
  after: Bytes | undefined,
) => Promise<Bytes | undefined>;

/** Size of a page: the number of its pairs, and about their bytes. */
const PAGE = { limit: 500, bytesMax: 1024 * 1024 };
/** Bytes of the whole values that are decoded in one page. */
const TAKEN_BYTES_MAX = 256 * 1024;

/**
 * Passes the next pairs of a range to `take`. Unguarded: `take` must read again what it changes,
 * if others may change it too.
 */
export async function takePage(
  tx: Transaction,
  { begin, end }: KeyRange,
  after: Bytes | undefined,
  take: (pair: KeyValue) => void | Promise<void>,
): Promise<Bytes | undefined> {
  const range = { begin: after === undefined ? begin : keyAfter(after), end };
  const page = { limit: PAGE.limit, bytesMax: TAKEN_BYTES_MAX };
  const pairs = await tx.unguarded.getRange(range, page);
  let bytes = 0;
  let last: Bytes | undefined;
  for (const pair of pairs) {
    await take(pair);
    last = pair.key;
    // A value in pieces is small here, and large when it is put together.
    bytes += wholeBytes(pair.value);
    if (bytes >= TAKEN_BYTES_MAX) break;
  }
  return last;
}

/** Clears the next values of a range with all their pieces, in the order of their keys. */
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
