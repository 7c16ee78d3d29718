/**
 * What the transactions of both engines are made of: writes kept in memory until the commit, the
 * guards of what was read, and the end. So a write means the same on both, and so does its refusal.
 */

import { type Bytes, EngineClosed, type KeyRange } from "./engine.ts";
import { textOf } from "./byte_text.ts";
import type { Guards } from "./conflict_log.ts";
import { KeyMap } from "./key_map.ts";
import { checkKey, checkKeyBytes, checkTransactionBytes, checkValue } from "./size_limits.ts";
import { countTransactionBytes, stampBytes } from "./transaction_bytes.ts";
import * as own from "./write_buffer.ts";

export abstract class BufferedTransaction<Home extends { isClosed(): boolean }> {
  readonly guards: Guards = { keys: new KeyMap(), ranges: [] };
  readonly buffer = own.emptyWriteBuffer();
  /** Its body has returned or thrown. */
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

  // What follows is for the engines alone.

  get hasWrites(): boolean {
    return own.hasWrites(this.buffer);
  }

  /** @throws {EngineLimitExceeded} when all that it writes and guards is too much. */
  checkSize(): void {
    checkTransactionBytes(countTransactionBytes(this.buffer, this.guards));
  }

  refuseOver(): void {
    refuseEnded(this.home.isClosed(), this.isOver);
  }
}

/** @throws {EngineClosed} of a closed engine; another error for what is left of a body. */
export function refuseEnded(isClosed: boolean, isOver: boolean): void {
  if (isClosed) throw new EngineClosed("The engine is closed");
  if (isOver) throw new Error("The transaction is over: its body returned or threw");
}
