/**
 * Buffered writes, read guards, size and end of a transaction, shared by both engines. Sharing
 * them makes a write mean the same on both engines, and makes both refuse it in the same way:
 * all engines enforce the limits of the strictest one (`kvLimits`), and count bytes as it does.
 */

import {
  type Bytes,
  EngineClosed,
  EngineLimitExceeded,
  type KeyRange,
  kvLimits,
} from "../engine.ts";
import { textOf } from "../byte_text.ts";
import type { Guards } from "./conflict_log.ts";
import { KeyMap } from "../key_map.ts";
import type { WriteBuffer } from "./write_buffer.ts";
import * as own from "./write_buffer.ts";

export abstract class BufferedTransaction<Home extends { isClosed(): boolean }> {
  readonly guards: Guards = { keys: new KeyMap(), ranges: [] };
  readonly buffer = own.emptyWriteBuffer();
  /** Set once its body has returned or thrown. */
  isOver = false;

  constructor(readonly home: Home) {}

  set(key: Bytes, value: Bytes): void {
    this.refuseOver();
    checkKey(key);
    checkValue(value);
    own.putWrite(this.buffer, key, value);
  }

  clear(key: Bytes): void {
    this.refuseOver();
    checkKey(key);
    own.putWrite(this.buffer, key, undefined);
  }

  clearRange({ begin, end }: KeyRange): void {
    this.refuseOver();
    own.clearWrites(this.buffer, { begin: textOf(begin), end: textOf(end) });
  }

  add(key: Bytes, delta: bigint): void {
    this.refuseOver();
    checkKey(key);
    own.addWrite(this.buffer, key, delta);
  }

  setStamped(prefix: Bytes, suffix: Bytes, value: Bytes): void {
    this.refuseOver();
    checkKeyBytes(prefix.length + stampBytes + suffix.length);
    if (prefix.length > 0) checkKey(prefix);
    checkValue(value);
    this.buffer.stamped.push({ prefix, suffix, value });
  }

  // The rest is for the engines alone.

  get hasWrites(): boolean {
    return own.hasWrites(this.buffer);
  }

  /** @throws {EngineLimitExceeded} when its writes and guards together are too large. */
  checkSize(): void {
    checkTransactionBytes(countTransactionBytes(this.buffer, this.guards));
  }

  refuseOver(): void {
    refuseEnded(this.home.isClosed(), this.isOver);
  }
}

/**
 * Refuses a call that comes too late.
 * @throws {EngineClosed} when the engine is closed; a plain error when something a body left
 * running still uses its transaction.
 */
export function refuseEnded(isClosed: boolean, isOver: boolean): void {
  if (isClosed) throw new EngineClosed("The engine is closed");
  if (isOver) throw new Error("The transaction is over: its body returned or threw");
}

/** Bytes of the commit's stamp in a stamped key. */
export const stampBytes = 10;

/** Each write counts once for itself and once for the range it may conflict with. */
export function countTransactionBytes(buffer: WriteBuffer, guards: Guards): number {
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
  return count;
}

/** Keys that begin with this byte belong to FoundationDB itself. */
const reservedFirstByte = 0xff;

/** @throws {EngineLimitExceeded} for a key that cannot be written or read. */
export function checkKey(key: Bytes): void {
  checkKeyBytes(key.length);
  if (key[0] === reservedFirstByte) {
    throw new EngineLimitExceeded("A key cannot begin with the byte 0xff: it is reserved");
  }
}

/** @throws {EngineLimitExceeded} if a key of `count` bytes is too long. */
export function checkKeyBytes(count: number): void {
  if (count <= kvLimits.keyBytesMax) return;
  throw new EngineLimitExceeded(`A key has ${count} bytes; at most ${kvLimits.keyBytesMax} fit`);
}

/** @throws {EngineLimitExceeded} for a value that is too long. */
export function checkValue(value: Bytes): void {
  const count = value.length;
  if (count <= kvLimits.valueBytesMax) return;
  throw new EngineLimitExceeded(
    `A value has ${count} bytes; at most ${kvLimits.valueBytesMax} fit`,
  );
}

/** @throws {EngineLimitExceeded} for a transaction whose writes and guards are too large. */
export function checkTransactionBytes(count: number): void {
  if (count <= kvLimits.transactionBytesMax) return;
  throw new EngineLimitExceeded(
    `The transaction has ${count} bytes of keys, values and guards; at most ` +
      `${kvLimits.transactionBytesMax} fit`,
  );
}

/** @throws {EngineLimitExceeded} always: for a transaction that has been open for too long. */
export function refuseExpired(): never {
  throw new EngineLimitExceeded(
    `The transaction is older than ${kvLimits.transactionSecondsMax} seconds`,
  );
}
