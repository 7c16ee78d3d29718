/**
 * A segment holds consecutive events of one stream in one value, to save keys. Ten thousand
 * events then take some dozens of keys. Layout: format byte, count (u32), a length (u32) for
 * each event, a chain hash (32 bytes) for each event, then the bytes of the events.
 */

import { Buffer } from "node:buffer";
import { assert } from "../../domain/assert.ts";
import type { ChainHash } from "../../domain/audit/chain.ts";
import type { Bytes } from "../../kv/engine.ts";
import { newBytes, viewOf } from "../../kv/slab.ts";

/** One event of a stream as the store keeps it. */
export interface ChainedEvent {
  readonly raw: string;
  /** Length of `raw` in UTF-8. */
  readonly bytes: number;
  readonly hash: ChainHash;
}

/** Segments are closed at about this size; a larger event has a segment of its own. */
export const SEGMENT_BYTES_TARGET = 64 * 1024;

const FORMAT = 1;
/** What a segment has before the lengths. */
export const PREAMBLE_BYTES = 5;
const LENGTH_BYTES = 4;
const HASH_BYTES = 32;

/** What a segment adds to the bytes of each of its events. */
export const EVENT_OVERHEAD_BYTES = LENGTH_BYTES + HASH_BYTES;

const encoder = new TextEncoder();

export function encodeSegment(events: readonly ChainedEvent[]): Bytes {
  return putSegment(newBytes(segmentBytes(events)), events);
}

/** Length in bytes of a segment of these events. */
export function segmentBytes(events: readonly ChainedEvent[]): number {
  let size = PREAMBLE_BYTES;
  for (const event of events) size += EVENT_OVERHEAD_BYTES + event.bytes;
  return size;
}

/** Encodes into `segment`, which must be exactly as long as it takes. */
export function putSegment(segment: Bytes, events: readonly ChainedEvent[]): Bytes {
  const view = viewOf(segment);
  segment[0] = FORMAT;
  view.setUint32(1, events.length);
  let lengthAt = PREAMBLE_BYTES;
  let hashes = "";
  let text = "";
  for (const { bytes, hash, raw } of events) {
    view.setUint32(lengthAt, bytes);
    lengthAt += LENGTH_BYTES;
    hashes += hash;
    text += raw;
  }
  // One call for all hashes and one for all events: each call costs more than what it copies.
  segment.subarray(lengthAt).setFromHex(hashes);
  const rawAt = lengthAt + HASH_BYTES * events.length;
  const { written } = encoder.encodeInto(text, segment.subarray(rawAt));
  assert(rawAt + written === segment.length, "a segment is filled exactly");
  return segment;
}

/** Joins segments into one with the events of all, which are copied as they are. */
export function joinSegments(segments: readonly Bytes[]): Bytes {
  const counts = segments.map((segment) => viewOf(segment).getUint32(1));
  const count = counts.reduce((sum, own) => sum + own, 0);
  const size = segments.reduce((sum, { length }) => sum + length - PREAMBLE_BYTES, PREAMBLE_BYTES);
  const joined = newBytes(size);
  joined[0] = FORMAT;
  viewOf(joined).setUint32(1, count);
  let lengthAt = PREAMBLE_BYTES;
  let hashAt = lengthAt + LENGTH_BYTES * count;
  let rawAt = hashAt + HASH_BYTES * count;
  for (const [index, segment] of segments.entries()) {
    assert(segment[0] === FORMAT, "a segment has its format");
    const hashesAt = PREAMBLE_BYTES + LENGTH_BYTES * counts[index]!;
    const textAt = hashesAt + HASH_BYTES * counts[index]!;
    joined.set(segment.subarray(PREAMBLE_BYTES, hashesAt), lengthAt);
    joined.set(segment.subarray(hashesAt, textAt), hashAt);
    joined.set(segment.subarray(textAt), rawAt);
    lengthAt += hashesAt - PREAMBLE_BYTES;
    hashAt += textAt - hashesAt;
    rawAt += segment.length - textAt;
  }
  return joined;
}

export function decodeSegment(segment: Bytes): ChainedEvent[] {
  assert(segment[0] === FORMAT, "a segment has its format");
  const view = viewOf(segment);
  const count = view.getUint32(1);
  const hashesAt = PREAMBLE_BYTES + LENGTH_BYTES * count;
  const rawAt = hashesAt + HASH_BYTES * count;
  const body = Buffer.from(segment.buffer, segment.byteOffset + rawAt, segment.length - rawAt);
  const text = body.toString("utf8");
  // If every byte is one character, the events are slices of one string.
  const sliceable = text.length === body.length;
  const hashes = segment.subarray(hashesAt, rawAt).toHex();
  const events: ChainedEvent[] = [];
  let offset = 0;
  for (let index = 0; index < count; index++) {
    const bytes = view.getUint32(PREAMBLE_BYTES + LENGTH_BYTES * index);
    const end = offset + bytes;
    const raw = sliceable ? text.slice(offset, end) : body.toString("utf8", offset, end);
    const hashAt = 2 * HASH_BYTES * index;
    events.push({ raw, bytes, hash: hashes.slice(hashAt, hashAt + 2 * HASH_BYTES) });
    offset = end;
  }
  return events;
}
