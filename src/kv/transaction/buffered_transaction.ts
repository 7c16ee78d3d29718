/**
 * Buffered writes, read guards, size and end of a transaction, shared by both engines. Sharing
 * them makes a write mean the same on both engines, and makes both refuse it in the same way:
 * all engines enforce the limits of the strictest one (`kvLimits`), and count bytes as it does.
 * The buffer answers reads of own writes, and tells which parts of a range the transaction does
 * not own and hence must guard.
 */

import {
  type Bytes,
  EngineClosed,
  EngineLimitExceeded,
  type KeyRange,
  kvLimits,
} from "../engine.ts";
import { textAfter, textOf, type TextRange } from "../byte_text.ts";
import type { Guards } from "./conflict_log.ts";
import { compareKeys, compareWithText, hashOf, isWithin, type Keyed, KeyMap } from "../key_map.ts";
import { newBytes, viewOf } from "../slab.ts";
import { openSlices, sortInSlices } from "./sort_in_slices.ts";

export abstract class BufferedTransaction<Home extends { readonly isClosed: boolean }> {
  readonly guards: Guards = { keys: new KeyMap(), ranges: [] };
  readonly buffer = emptyWriteBuffer();
  /** Set once its body has returned or thrown. */
  isOver = false;

  constructor(readonly home: Home) {}

  set(key: Bytes, value: Bytes): void {
    this.checkCall(key);
    if (value.length > kvLimits.valueBytesMax) refuseValue(value.length);
    putWrite(this.buffer, key, value);
  }

  clear(key: Bytes): void {
    this.checkCall(key);
    putWrite(this.buffer, key, undefined);
  }

  clearRange({ begin, end }: KeyRange): void {
    this.refuseOver();
    clearWrites(this.buffer, { begin: textOf(begin), end: textOf(end) });
  }

  add(key: Bytes, delta: bigint): void {
    this.checkCall(key);
    addWrite(this.buffer, key, delta);
  }

  setStamped(prefix: Bytes, suffix: Bytes, value: Bytes): void {
    this.checkCall(prefix);
    const keyBytes = prefix.length + stampBytes + suffix.length;
    if (keyBytes > kvLimits.keyBytesMax) refuseKey(keyBytes);
    if (value.length > kvLimits.valueBytesMax) refuseValue(value.length);
    this.buffer.stamped.push({ prefix, suffix, value });
  }

  // The rest is for the engines alone.

  get hasWrites(): boolean {
    const { writes, cleared, stamped } = this.buffer;
    return writes.entries.length > 0 || cleared.length > 0 || stamped.length > 0;
  }

  /**
   * Returns the bytes of its writes and guards together. Each write counts once for itself and once
   * for the range it may conflict with.
   * @throws {EngineLimitExceeded} when they are too many.
   */
  checkSize(): number {
    const { buffer, guards } = this;
    let count = 0;
    for (const { key, value, delta } of buffer.writes.entries) {
      const written = value !== undefined ? value.length : delta !== undefined ? 8 : key.length + 1;
      count += 3 * key.length + 1 + written;
    }
    for (const { prefix, suffix, value } of buffer.stamped) {
      count += 3 * (prefix.length + stampBytes + suffix.length) + 1 + value.length;
    }
    for (const { begin, end } of buffer.cleared) count += 2 * (begin.length + end.length);
    for (const { key } of guards.keys.entries) count += 2 * key.length + 1;
    for (const { begin, end } of guards.ranges) count += begin.length + end.length;
    if (count <= kvLimits.transactionBytesMax) return count;
    throw new EngineLimitExceeded(
      `The transaction has ${count} bytes of keys, values and guards; at most ` +
        `${kvLimits.transactionBytesMax} fit`,
    );
  }

  /** Refuses a call that comes too late, or whose key cannot be written or read. */
  checkCall(key: Bytes): void {
    if (this.isOver || this.home.isClosed) refuseEnded(this.home.isClosed);
    if (key.length > kvLimits.keyBytesMax || key[0] === RESERVED_FIRST_BYTE) checkKey(key);
  }

  refuseOver(): void {
    if (this.isOver || this.home.isClosed) refuseEnded(this.home.isClosed);
  }
}

/**
 * Refuses a call that comes too late.
 * @throws {EngineClosed} when the engine is closed; a plain error when something a body left
 * running still uses its transaction.
 */
export function refuseEnded(isClosed: boolean): never {
  if (isClosed) throw new EngineClosed("The engine is closed");
  throw new Error("The transaction is over: its body returned or threw");
}

/** Keys that begin with this byte belong to FoundationDB itself. */
const RESERVED_FIRST_BYTE = 0xff;

/** Bytes of the commit's stamp in a stamped key. */
export const stampBytes = 10;

/** @throws {EngineLimitExceeded} for a key that cannot be written or read. */
export function checkKey(key: Bytes): void {
  if (key.length > kvLimits.keyBytesMax) refuseKey(key.length);
  if (key[0] === RESERVED_FIRST_BYTE) {
    throw new EngineLimitExceeded("A key cannot begin with the byte 0xff: it is reserved");
  }
}

function refuseKey(count: number): never {
  throw new EngineLimitExceeded(`A key has ${count} bytes; at most ${kvLimits.keyBytesMax} fit`);
}

function refuseValue(count: number): never {
  throw new EngineLimitExceeded(
    `A value has ${count} bytes; at most ${kvLimits.valueBytesMax} fit`,
  );
}

/** @throws {EngineLimitExceeded} always: for a transaction that has been open for too long. */
export function refuseExpired(): never {
  throw new EngineLimitExceeded(
    `The transaction is older than ${kvLimits.transactionSecondsMax} seconds`,
  );
}

/** The final write to a key: an addition if `delta` is there, otherwise a value or its removal. */
export interface Write extends Keyed {
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
  readonly writes: KeyMap<Write>;
  /** Ascending; no two overlap or touch. */
  cleared: TextRange[];
  readonly stamped: StampedWrite[];
  /**
   * The places of `writes` in key order, without those added since it was made; undefined until
   * it is made.
   */
  order: number[] | undefined;
}

const COUNTER_BYTES = 8;
/** With more new keys than this, sorting all of them again is less work. */
const freshMax = 100;

export function emptyWriteBuffer(): WriteBuffer {
  return { writes: new KeyMap(), cleared: [], stamped: [], order: undefined };
}

/**
 * The transaction's own write to a key. Most reads come before the first write, hence the
 * shortcut.
 */
export function findWrite({ writes }: WriteBuffer, key: Bytes, hash: number): Write | undefined {
  return writes.entries.length === 0 ? undefined : writes.get(key, hash);
}

/** Sets (with a value) or clears (without one) a key. */
export function putWrite(buffer: WriteBuffer, key: Bytes, value: Bytes | undefined): void {
  buffer.writes.put({ key, hash: hashOf(key), value, delta: undefined });
}

/** Adds to a counter: to its value if this transaction already knows it, otherwise blindly. */
export function addWrite(buffer: WriteBuffer, key: Bytes, delta: bigint): void {
  const { writes } = buffer;
  const hash = hashOf(key);
  const own = writes.get(key, hash);
  if (own?.delta !== undefined) {
    writes.put({ key, hash, value: undefined, delta: own.delta + delta });
  } else if (own !== undefined || (buffer.cleared.length > 0 && isCleared(buffer, key))) {
    writes.put({ key, hash, value: addToCounter(own?.value, delta), delta: undefined });
  } else {
    writes.put({ key, hash, value: undefined, delta });
  }
}

/** Clears every key of the range and forgets earlier writes there. */
export function clearWrites(buffer: WriteBuffer, range: TextRange): void {
  if (range.begin >= range.end) return;
  buffer.writes.removeWhere(({ key }) => isWithin(key, range));
  buffer.order = undefined;
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

export function isCleared({ cleared }: WriteBuffer, key: Bytes): boolean {
  return cleared.length > 0 && cleared.some((range) => isWithin(key, range));
}

/** Own writes inside the range, in key order. */
export function writesWithin(buffer: WriteBuffer, range: TextRange): Write[] {
  if (buffer.writes.entries.length === 0) return [];
  const { entries } = buffer.writes;
  const order = orderOf(buffer);
  const within: Write[] = [];
  const first = countBefore(
    order,
    (place) => compareWithText(entries[place]!.key, range.begin) < 0,
  );
  for (let i = first; i < order.length; i++) {
    const write = entries[order[i]!]!;
    if (compareWithText(write.key, range.end) >= 0) break;
    within.push(write);
  }
  return within;
}

/** The parts of a range whose content depends on others: all but own values and own clears. */
export function unownedParts(buffer: WriteBuffer, range: TextRange): TextRange[] {
  const owned: TextRange[] = buffer.cleared.filter((one) =>
    one.begin < range.end && one.end > range.begin
  );
  for (const { key, delta } of writesWithin(buffer, range)) {
    if (delta !== undefined) continue;
    const text = textOf(key);
    owned.push({ begin: text, end: textAfter(text) });
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

/** Finds the order of the writes in time slices, for {@link orderOf} to have it ready. */
export async function orderAhead(
  buffer: WriteBuffer,
  nowMs: () => number,
  nextTurn: () => Promise<void>,
): Promise<void> {
  const { entries } = buffer.writes;
  const places = Array.from(entries.keys());
  const compare = (a: number, b: number) => compareKeys(entries[a]!.key, entries[b]!.key);
  buffer.order = await sortInSlices(places, compare, openSlices(nowMs, nextTurn));
}

/**
 * The places of the writes in the order of their keys. A body that reads ranges between its writes
 * adds few keys each time, so they are inserted.
 */
export function orderOf(buffer: WriteBuffer): number[] {
  const { entries } = buffer.writes;
  const { order } = buffer;
  if (order === undefined || entries.length - order.length > freshMax) {
    const places = Array.from(entries.keys());
    return buffer.order = places.sort((a, b) => compareKeys(entries[a]!.key, entries[b]!.key));
  }
  for (let place = order.length; place < entries.length; place++) {
    const { key } = entries[place]!;
    const at = countBefore(order, (other) => compareKeys(entries[other]!.key, key) < 0);
    order.splice(at, 0, place);
  }
  return order;
}

/** How many of the places satisfy `isBefore`, given that all of those come first. */
function countBefore(order: readonly number[], isBefore: (place: number) => boolean): number {
  let low = 0;
  let high = order.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(order[middle]!)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
