/**
 * Merges stored pairs with a transaction's own writes into the range the transaction must see.
 * The result is cut at a limit and says where it stopped, because only what was read is guarded.
 */

import type { Bytes, KeyValue, RangeOptions } from "../engine.ts";
import { textAfter, textOf, type TextRange } from "../byte_text.ts";
import { compareKeys } from "../key_map.ts";
import {
  addToCounter,
  isCleared,
  type Write,
  type WriteBuffer,
  writesWithin,
} from "./buffered_transaction.ts";

export interface MergedRange {
  readonly pairs: KeyValue[];
  /** The part of the range that the pairs cover completely. */
  readonly read: TextRange;
}

/**
 * Lays own writes over stored pairs.
 * @param stored the pairs of the range, in the direction of `options.reverse`; read lazily.
 */
export function mergeRange(
  stored: Iterable<KeyValue>,
  buffer: WriteBuffer,
  range: TextRange,
  options: RangeOptions,
): MergedRange {
  const reverse = options.reverse ?? false;
  const own = writesWithin(buffer, range);
  if (reverse) own.reverse();
  const cut = openCut(options);
  // Most transactions read what they have not touched; then no key is compared.
  const isPlain = own.length === 0 && buffer.cleared.length === 0;
  let next = 0;
  for (const pair of stored) {
    if (isPlain) {
      if (!cut.full) push(cut, pair);
      if (cut.full) break;
      continue;
    }
    let compared = 0;
    while (next < own.length && !cut.full) {
      compared = compareKeys(own[next]!.key, pair.key);
      if (reverse ? compared <= 0 : compared >= 0) break;
      take(cut, own[next++]!, undefined);
    }
    if (cut.full) break;
    if (next < own.length && compared === 0) take(cut, own[next++]!, pair.value);
    else if (!isCleared(buffer, pair.key)) push(cut, { key: pair.key, value: pair.value });
    if (cut.full) break;
  }
  while (next < own.length && !cut.full) take(cut, own[next++]!, undefined);
  return { pairs: cut.pairs, read: readPart(cut, range, reverse) };
}

/** Pairs up to a limit of number and of bytes. */
interface Cut {
  readonly pairs: KeyValue[];
  readonly limit: number;
  readonly bytesMax: number;
  bytes: number;
  full: boolean;
}

function openCut({ limit = Infinity, bytesMax = Infinity }: RangeOptions): Cut {
  return { pairs: [], limit, bytesMax, bytes: 0, full: limit <= 0 };
}

function push(cut: Cut, pair: KeyValue): void {
  cut.pairs.push(pair);
  cut.bytes += pair.key.length + pair.value.length;
  cut.full = cut.pairs.length >= cut.limit || cut.bytes >= cut.bytesMax;
}

function take(cut: Cut, write: Write, below: Bytes | undefined): void {
  const { key, value, delta } = write;
  if (delta !== undefined) push(cut, { key, value: addToCounter(below, delta) });
  else if (value !== undefined) push(cut, { key, value });
}

function readPart(cut: Cut, range: TextRange, reverse: boolean): TextRange {
  if (!cut.full) return range;
  const last = cut.pairs.at(-1);
  if (last === undefined) return { begin: range.begin, end: range.begin };
  const text = textOf(last.key);
  return reverse ? { begin: text, end: range.end } : { begin: range.begin, end: textAfter(text) };
}
