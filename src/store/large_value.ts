/**
 * Stores a value above the engine's limit in pieces. The value under its own key is then a short
 * header that says how many pieces there are, so readers of whole ranges see at once which ones
 * to fetch.
 */

import { assert } from "../domain/assert.ts";
import {
  type Bytes,
  type KeyValue,
  kvLimits,
  type ReadTransaction,
  type Transaction,
} from "../kv/engine.ts";
import { newBytes, viewOf } from "../kv/slab.ts";
import { keys } from "./keys.ts";

/** First byte of a header. Plain values must not begin with it; formats and JSON never do. */
const HEADER = 0xff;
const HEADER_BYTES = 9;

/** Sets `key` to `value`, however long it is. Clear an older value in pieces before. */
export function setLargeValue(tx: Transaction, tenant: number, key: Bytes, value: Bytes): void {
  assert(value[0] !== HEADER, "a plain value must not look like the header of a large one");
  if (value.length <= kvLimits.valueBytesMax) return tx.set(key, value);
  const size = kvLimits.valueBytesMax;
  const count = Math.ceil(value.length / size);
  for (let number = 0; number < count; number++) {
    const piece = value.slice(number * size, (number + 1) * size);
    tx.set(keys.piece(tenant, key, number), piece);
  }
  const header = newBytes(HEADER_BYTES);
  header[0] = HEADER;
  const view = viewOf(header);
  view.setUint32(1, count);
  view.setUint32(5, value.length);
  tx.set(key, header);
}

/** Whether the value found under a key is the header of a value in pieces. */
export function isInPieces(value: Bytes): boolean {
  return value[0] === HEADER;
}

/** The whole value when `value` was found under `key`. */
export async function wholeValue(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  key: Bytes,
  value: Bytes,
): Promise<Bytes> {
  if (!isInPieces(value)) return value;
  const view = viewOf(value);
  const pieces = await tx.getRange(keys.pieces(tenant, key));
  assert(pieces.length === view.getUint32(1), "a large value has all its pieces");
  const whole = new Uint8Array(view.getUint32(5));
  let offset = 0;
  for (const piece of pieces) {
    whole.set(piece.value, offset);
    offset += piece.value.length;
  }
  assert(offset === whole.length, "the pieces of a large value have its length");
  return whole;
}

/** The value when `value` was found under `key`, or one piece of one in pieces. */
export async function valueEdge(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  { key, value }: KeyValue,
  edge: "first" | "last",
): Promise<Bytes> {
  if (!isInPieces(value)) return value;
  const options = { limit: 1, reverse: edge === "last" };
  const [piece] = await tx.getRange(keys.pieces(tenant, key), options);
  assert(piece !== undefined, "a large value has its pieces");
  return piece.value;
}

/** The size of the whole value in bytes, when `value` was found under its key. */
export function wholeBytes(value: Bytes): number {
  if (value[0] !== HEADER) return value.length;
  return viewOf(value).getUint32(5);
}

/** Removes the value and its pieces. */
export function clearLargeValue(tx: Transaction, tenant: number, key: Bytes): void {
  tx.clear(key);
  tx.clearRange(keys.pieces(tenant, key));
}
