/**
 * SHA-256 of short inputs, one at a time or four side by side.
 *
 * The runtime allocates a native object for every hash, which costs more than hashing a short
 * input and must be collected later. Hashing the nodes of a stream's Merkle tree here makes
 * durable writes measurably cheaper. The runtime is faster per block, so long texts, and many
 * texts in a row, go there.
 */

import { hash } from "node:crypto";
import { DIGEST_BYTES, ENDS_OFFSET, LANE_BYTES, LANES, LANES_END, LANES_OFFSET } from "./lanes.ts";
import { DIGEST_OFFSET, MEMORY_BYTES, openSha256Module } from "./module.ts";
import { BLOCK_BYTES } from "./rounds.ts";

const DIGEST_CHARACTERS = 2 * DIGEST_BYTES;

/** A message of fixed length, built in place and hashed as often as needed. */
export interface HashInput {
  /** The message. The holder fills it in. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** SHA-256 of the current message, as 64 lowercase hex characters. */
  digest(): string;
}

/**
 * Longer texts go to the runtime. Counted in UTF-16 code units, each of which takes at most 3
 * bytes.
 */
const SHORT_CHARACTERS_MAX = 1_024;
const SHORT_BYTES_MAX = 3 * SHORT_CHARACTERS_MAX;
/** After a message come one set bit and its length in bits, as eight bytes. FIPS 180-4, 5.1. */
const PADDING_BYTES_MIN = 9;
const END_MARK = 0x80;

const { memory, digest, digests } = openSha256Module();
const bytes = new Uint8Array(memory.buffer as ArrayBuffer);
const view = new DataView(memory.buffer);
const digestBytes = bytes.subarray(DIGEST_OFFSET, DIGEST_OFFSET + DIGEST_BYTES);
const laneDigests = bytes.subarray(LANES_OFFSET, LANES_OFFSET + LANES * DIGEST_BYTES);
const encoder = new TextEncoder();

let free = LANES_END;
/** Room for one text, or for the first of four. */
const textAt = takeMemory(LANES * LANE_BYTES);
const textBytes = Array.from({ length: LANES }, (_, lane) => {
  const at = textAt + LANE_BYTES * lane;
  return bytes.subarray(at, at + SHORT_BYTES_MAX);
});

/**
 * Reserves memory for messages of `length` bytes. There is room for hundreds of short ones.
 * @throws {RangeError} when the memory is used up.
 */
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
  if (!isShort(text)) return hash("sha256", text, "hex");
  digest(textAt, putText(text, 0));
  return digestBytes.toHex();
}

/**
 * SHA-256 of each text. Four texts side by side take about as long as one and a half, so use
 * this where several texts are ready at once.
 */
export function hashTexts(texts: readonly string[]): string[] {
  const hashes: string[] = [];
  for (let first = 0; first < texts.length; first += LANES) {
    const together = texts.slice(first, first + LANES);
    const isTogether = together.length > 1 && together.every(isShort);
    for (const one of isTogether ? hashTogether(together) : together.map(hashText)) {
      hashes.push(one);
    }
  }
  return hashes;
}

/** Hashes two to four short texts side by side. */
function hashTogether(texts: readonly string[]): string[] {
  let end = 0;
  for (let lane = 0; lane < LANES; lane++) {
    // A lane without a text ends before it begins, so nothing in it is hashed.
    const own = lane < texts.length ? putText(texts[lane]!, lane) - LANE_BYTES * lane : 0;
    view.setUint32(ENDS_OFFSET + 4 * lane, own, true);
    if (own > end) end = own;
  }
  digests(textAt, end);
  const all = laneDigests.toHex();
  return texts.map((_, lane) =>
    all.slice(DIGEST_CHARACTERS * lane, DIGEST_CHARACTERS * (lane + 1))
  );
}

function isShort(text: string): boolean {
  return text.length <= SHORT_CHARACTERS_MAX;
}

/** Puts a padded text into a lane and returns where its last block ends. */
function putText(text: string, lane: number): number {
  const { written } = encoder.encodeInto(text, textBytes[lane]!);
  return pad(textAt + LANE_BYTES * lane, written);
}

function takeMemory(length: number): number {
  const at = free;
  free += paddedBytes(length);
  if (free > MEMORY_BYTES) throw new RangeError("the memory of short hashes is full");
  return at;
}

/** Writes the padding after a message and returns where its last block ends. */
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
