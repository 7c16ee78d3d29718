/** Short messages of fixed length, hashed in one memory. `audit/chain.ts` hashes nodes with it. */

import { DIGEST_OFFSET, MEMORY_BYTES, openSha256Module } from "./module.ts";
import { BLOCK_BYTES } from "./rounds.ts";

/** A message of fixed length, built in place and hashed as often as needed. */
export interface HashInput {
  /** The message. The holder fills it in. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** SHA-256 of the current message, as 64 lowercase hex characters. */
  digest(): string;
}

/** After a message come one set bit and its length in bits, as eight bytes. FIPS 180-4, 5.1. */
const PADDING_BYTES_MIN = 9;
const END_MARK = 0x80;

const DIGEST_BYTES = 32;

const { memory, digest } = openSha256Module();
const bytes = new Uint8Array(memory.buffer as ArrayBuffer);
const view = new DataView(memory.buffer);
const digestBytes = bytes.subarray(DIGEST_OFFSET, DIGEST_OFFSET + DIGEST_BYTES);

let free = DIGEST_OFFSET + BLOCK_BYTES;

/**
 * Reserves memory for messages of `length` bytes. There is room for hundreds of short ones.
 * @throws {RangeError} when the memory is used up.
 */
export function openHashInput(length: number): HashInput {
  const at = free;
  const end = at + Math.ceil((length + PADDING_BYTES_MIN) / BLOCK_BYTES) * BLOCK_BYTES;
  if (end > MEMORY_BYTES) throw new RangeError("the memory of short hashes is full");
  free = end;
  bytes[at + length] = END_MARK;
  view.setUint32(end - 4, length * 8);
  return {
    bytes: bytes.subarray(at, at + length),
    digest() {
      digest(at, end);
      return digestBytes.toHex();
    },
  };
}
