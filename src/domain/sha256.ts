/**
 * SHA-256 of short inputs, each by itself. The runtime makes an object on its native side for every
 * hash, which costs more than a short hash does and has to be collected: a durable write is 6%
 * cheaper with the nodes of its stream's Merkle tree hashed here. Its blocks it hashes faster, so
 * long texts, and many texts in a row, are better off there.
 */

import { hash } from "node:crypto";
import { BLOCK_BYTES, DIGEST_OFFSET, MEMORY_BYTES, openSha256Module } from "./sha256_module.ts";

const DIGEST_BYTES = 32;

/** A message of a fixed length, made in place and hashed as often as one likes. */
export interface HashInput {
  /** The message, which its holder fills in. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** SHA-256 of what the message is now, as 64 lowercase hex characters. */
  digest(): string;
}

/** A longer text is the runtime's. UTF-16 units, each of which makes 3 bytes at most. */
const SHORT_CHARACTERS_MAX = 1_024;
const SHORT_BYTES_MAX = 3 * SHORT_CHARACTERS_MAX;
/** Behind a message: a bit that is set, and its length in bits in eight bytes. FIPS 180-4, 5.1. */
const PADDING_BYTES_MIN = 9;
const END_MARK = 0x80;

const { memory, digest } = openSha256Module();
const bytes = new Uint8Array(memory.buffer as ArrayBuffer);
const view = new DataView(memory.buffer);
const digestBytes = bytes.subarray(DIGEST_OFFSET, DIGEST_OFFSET + DIGEST_BYTES);
const encoder = new TextEncoder();

let free = DIGEST_OFFSET + BLOCK_BYTES;
const textAt = takeMemory(SHORT_BYTES_MAX);
const textBytes = bytes.subarray(textAt, textAt + SHORT_BYTES_MAX);

/** Sets memory aside for messages of `length` bytes. There is room for hundreds of short ones. */
export function openHashInput(length: number): HashInput {
  const at = takeMemory(length);
  const end = pad(at, length);
  return {
    bytes: bytes.subarray(at, at + length),
    digest() {
      digest(at, end);
      return digestBytes.toHex();
    },
  };
}

/** SHA-256 of the text in UTF-8, as 64 lowercase hex characters. */
export function hashText(text: string): string {
  if (text.length > SHORT_CHARACTERS_MAX) return hash("sha256", text, "hex");
  const { written } = encoder.encodeInto(text, textBytes);
  digest(textAt, pad(textAt, written));
  return digestBytes.toHex();
}

function takeMemory(length: number): number {
  const at = free;
  free += paddedBytes(length);
  if (free > MEMORY_BYTES) throw new RangeError("the memory of short hashes is full");
  return at;
}

/** Writes what comes behind a message, and gives where its last block ends. */
function pad(at: number, length: number): number {
  const end = at + paddedBytes(length);
  bytes[at + length] = END_MARK;
  bytes.fill(0, at + length + 1, end);
  view.setUint32(end - 4, length * 8);
  return end;
}

function paddedBytes(length: number): number {
  return Math.ceil((length + PADDING_BYTES_MIN) / BLOCK_BYTES) * BLOCK_BYTES;
}
