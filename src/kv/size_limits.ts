/** Checks the limits of the strictest engine, which every engine here enforces: see `kvLimits`. */

import { type Bytes, EngineLimitExceeded, kvLimits } from "./engine.ts";

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
