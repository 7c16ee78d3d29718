/**
 * Buffered writes, read guards and the end of a transaction, shared by both engines. Sharing
 * them makes a write mean the same on both engines, and makes both refuse it in the same way.
 */

import { type Bytes, EngineClosed, type KeyRange } from "../engine.ts";
import { textOf } from "../byte_text.ts";
import type { Guards } from "./conflict_log.ts";
import { KeyMap } from "../key_map.ts";
import { checkKey, checkKeyBytes, checkTransactionBytes, checkValue } from "../size_limits.ts";
import { countTransactionBytes, stampBytes } from "./transaction_bytes.ts";
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
