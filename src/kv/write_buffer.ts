/**
 * What one transaction has written and not yet committed. Answers reads of own writes, and says
 * which parts of a range the transaction does not own and hence must guard.
 */

import type { Bytes } from "./engine.ts";
import { lowerBound, textAfter, textOf, type TextRange } from "./byte_text.ts";
import { newBytes, viewOf } from "./slab.ts";

/** The last word on one key: an addition if `delta` is there, else a value or its removal. */
export interface Write {
  readonly key: Bytes;
  readonly value: Bytes | undefined;
  readonly delta: bigint | undefined;
}

/** A write whose key is complete only at the commit. */
export interface StampedWrite {
  readonly prefix: Bytes;
  readonly suffix: Bytes;
  readonly value: Bytes;
}

/** Ranges are cleared first, then single keys are written. */
export interface WriteBuffer {
  readonly writes: Map<string, Write>;
  /** Ascending; no two overlap or touch. */
  cleared: TextRange[];
  readonly stamped: StampedWrite[];
  /** Keys of `writes` in order, but for those in `fresh`; undefined: to be made. */
  order: string[] | undefined;
  /** Keys that have come since `order` was made. */
  fresh: string[];
}

const COUNTER_BYTES = 8;
/** From so many on sorting all is the smaller work. */
const freshMax = 100;

export function emptyWriteBuffer(): WriteBuffer {
  return { writes: new Map(), cleared: [], stamped: [], order: undefined, fresh: [] };
}

export function hasWrites(buffer: WriteBuffer): boolean {
  return buffer.writes.size > 0 || buffer.cleared.length > 0 || buffer.stamped.length > 0;
}

/** What the transaction has written to a key. Most reads come before the first write. */
export function findWrite({ writes }: WriteBuffer, text: string): Write | undefined {
  return writes.size === 0 ? undefined : writes.get(text);
}

/** Sets (with a value) or clears (without one) a key. */
export function putWrite(buffer: WriteBuffer, key: Bytes, value: Bytes | undefined): void {
  put(buffer, textOf(key), { key, value, delta: undefined });
}

/** Adds to a counter; to a value if this transaction already knows it, else blindly. */
export function addWrite(buffer: WriteBuffer, key: Bytes, delta: bigint): void {
  const text = textOf(key);
  const own = buffer.writes.get(text);
  if (own?.delta !== undefined) {
    put(buffer, text, { key, value: undefined, delta: own.delta + delta });
  } else if (own !== undefined || isCleared(buffer, text)) {
    put(buffer, text, { key, value: addToCounter(own?.value, delta), delta: undefined });
  } else {
    put(buffer, text, { key, value: undefined, delta });
  }
}

/** Clears every key of the range and forgets what was written there before. */
export function clearWrites(buffer: WriteBuffer, range: TextRange): void {
  if (range.begin >= range.end) return;
  for (const text of buffer.writes.keys()) {
    if (text >= range.begin && text < range.end) buffer.writes.delete(text);
  }
  buffer.order = undefined;
  buffer.fresh = [];
  let { begin, end } = range;
  const apart: TextRange[] = [];
  for (const other of buffer.cleared) {
    if (other.end < begin || other.begin > end) {
      apart.push(other);
      continue;
    }
    if (other.begin < begin) begin = other.begin;
    if (other.end > end) end = other.end;
  }
  apart.push({ begin, end });
  buffer.cleared = apart.sort((a, b) => a.begin < b.begin ? -1 : 1);
}

export function isCleared(buffer: WriteBuffer, text: string): boolean {
  return buffer.cleared.length > 0 &&
    buffer.cleared.some(({ begin, end }) => begin <= text && text < end);
}

/** Own writes inside the range, in key order. */
export function writesWithin(buffer: WriteBuffer, range: TextRange): [string, Write][] {
  if (buffer.writes.size === 0) return [];
  const order = orderOf(buffer);
  const within: [string, Write][] = [];
  for (let i = lowerBound(order, range.begin); i < order.length; i++) {
    const text = order[i]!;
    if (text >= range.end) break;
    within.push([text, buffer.writes.get(text)!]);
  }
  return within;
}

/** The parts of a range whose content depends on others: all but own values and own clears. */
export function unownedParts(buffer: WriteBuffer, range: TextRange): TextRange[] {
  const owned: TextRange[] = buffer.cleared.filter((one) =>
    one.begin < range.end && one.end > range.begin
  );
  for (const [text, write] of writesWithin(buffer, range)) {
    if (write.delta === undefined) owned.push({ begin: text, end: textAfter(text) });
  }
  if (owned.length === 0) return range.begin < range.end ? [range] : [];
  owned.sort((a, b) => compareTexts(a.begin, b.begin));
  const parts: TextRange[] = [];
  let begin = range.begin;
  for (const one of owned) {
    if (begin < one.begin) parts.push({ begin, end: one.begin });
    if (one.end > begin) begin = one.end;
  }
  if (begin < range.end) parts.push({ begin, end: range.end });
  return parts;
}

/** The sum as a signed little-endian 64-bit number; a shorter value is padded, a longer one cut. */
export function addToCounter(value: Bytes | undefined, delta: bigint): Bytes {
  const sum = newBytes(COUNTER_BYTES);
  if (value !== undefined) sum.set(value.subarray(0, COUNTER_BYTES));
  const view = viewOf(sum);
  view.setBigInt64(0, BigInt.asIntN(64, view.getBigInt64(0, true) + delta), true);
  return sum;
}

function put(buffer: WriteBuffer, text: string, write: Write): void {
  const before = buffer.writes.size;
  buffer.writes.set(text, write);
  if (buffer.writes.size !== before && buffer.order !== undefined) buffer.fresh.push(text);
}

/** A body that reads ranges between its writes has few new keys each time: these are put in. */
function orderOf(buffer: WriteBuffer): string[] {
  const { fresh, order } = buffer;
  if (order === undefined || fresh.length > freshMax) {
    buffer.fresh = [];
    return buffer.order = [...buffer.writes.keys()].sort(compareTexts);
  }
  for (const text of fresh) order.splice(lowerBound(order, text), 0, text);
  fresh.length = 0;
  return order;
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
