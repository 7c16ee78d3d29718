/**
 * Where keys are stored, and reading a range of them page by page, with the transaction's own
 * writes laid over it. Reading goes on until the range ends or its limit is reached. The pages are
 * FoundationDB's; the merging is the same as on SQLite.
 */

import type { Bytes, KeyRange, KeyValue, RangeOptions } from "../engine.ts";
import { bytesOf, textAfter, textOf, type TextRange } from "../byte_text.ts";
import type { ClientPage, PageSize } from "./client.ts";
import { KeyMap } from "../key_map.ts";
import { type MergedRange, mergeRange } from "../transaction/range_merge.ts";
import { type Write, type WriteBuffer, writesWithin } from "../transaction/buffered_transaction.ts";

/** Bytes asked for at once. Larger pages arrive no faster and take more memory at a time. */
const pageBytesMax = 1_000_000;
const pageRowsMax = 100_000;

/** Where the keys of an engine are in the cluster: all of them behind one prefix. */
export interface KeyPlace {
  key(key: Bytes): Bytes;
  /** A range as it is stored. Keys that begin with 0xff are FoundationDB's own and are left out. */
  range(range: TextRange): KeyRange;
  /** The pairs as the engine knows them. */
  bare(stored: KeyValue[]): KeyValue[];
}

export function openKeyPlace(prefix: Bytes): KeyPlace {
  const { length } = prefix;

  function key(key: Bytes): Bytes {
    if (length === 0) return key;
    const stored = new Uint8Array(length + key.length);
    stored.set(prefix);
    stored.set(key, length);
    return stored;
  }

  return {
    key,
    range({ begin, end }) {
      const last = length === 0 && end > "\xff" ? "\xff" : end;
      return { begin: key(bytesOf(begin)), end: key(bytesOf(last)) };
    },
    bare(stored) {
      if (length === 0) return stored;
      return stored.map(({ key, value }) => ({ key: key.subarray(length), value }));
    },
  };
}

/** Reads one page of stored pairs. */
export type ReadPage = (range: TextRange, size: PageSize) => Promise<ClientPage>;

/**
 * Reads a range.
 * @param own the result of {@link ownWritesIn} from when the reading began.
 */
export async function readWholeRange(
  readPage: ReadPage,
  own: WriteBuffer,
  range: TextRange,
  { limit = Infinity, bytesMax = Infinity, reverse = false }: RangeOptions,
): Promise<MergedRange> {
  const pairs: KeyValue[] = [];
  let rest = range;
  let rows = limit;
  // A limit of 0 bytes still allows one pair.
  let bytes = Math.max(1, bytesMax);
  for (;;) {
    // An own clear may hide a stored pair, and then one more is needed to reach the limit.
    const size = {
      limit: Math.min(rows + own.writes.size, pageRowsMax),
      bytesMax: Math.min(bytes, pageBytesMax),
      reverse,
    };
    const page = await readPage(rest, size);
    const last = page.pairs.at(-1);
    if (last === undefined && page.more) continue;
    const part = page.more ? partUpTo(rest, textOf(last!.key), reverse) : rest;
    const merged = mergeRange(page.pairs, own, part, { limit: rows, bytesMax: bytes, reverse });
    for (const pair of merged.pairs) {
      pairs.push(pair);
      rows--;
      bytes -= pair.key.length + pair.value.length;
    }
    if (rows <= 0 || bytes <= 0) return { pairs, read: joined(range, merged.read, reverse) };
    if (!page.more) return { pairs, read: range };
    rest = reverse ? { begin: rest.begin, end: part.begin } : { begin: part.end, end: rest.end };
  }
}

/**
 * A copy of the writes of a buffer in a range, unaffected by writes made while the range is
 * read.
 */
export function ownWritesIn(buffer: WriteBuffer, range: TextRange): WriteBuffer {
  const writes = new KeyMap<Write>();
  for (const write of writesWithin(buffer, range)) writes.put(write);
  return {
    writes,
    cleared: buffer.cleared,
    stamped: [],
    order: undefined,
  };
}

function partUpTo({ begin, end }: TextRange, last: string, reverse: boolean): TextRange {
  return reverse ? { begin: last, end } : { begin, end: textAfter(last) };
}

/** The part from where the reading began to where `last` stopped. */
function joined(range: TextRange, last: TextRange, reverse: boolean): TextRange {
  return reverse ? { begin: last.begin, end: range.end } : { begin: range.begin, end: last.end };
}
