/**
 * The form in which a stream is stored: its head, the tail of newest events in the head, and
 * segments with all other events.
 *
 * The head has all that a write must know of the events before it, in one small value.
 *
 * A segment holds consecutive events in one value, to save keys. Ten thousand events then take
 * some dozens of keys. Layout: format byte, count (u32), a length (u32) for each event, a chain
 * hash (32 bytes) for each event, then the bytes of the events.
 *
 * The tail has the newest events while they are few and small. A write of one event then sets one
 * row, which is there already, and only every fourth one adds a segment with all of them. With a
 * row for each event, each write would change another page of the index, and in a store with many
 * streams nearly every page is another stream's. Layout: the number of events (one byte), then
 * each as a segment of its own. Empty if there are none.
 */

import { assert } from "../../domain/assert.ts";
import { type ChainHash, NODE_BYTES, type NodeHash } from "../../domain/audit/chain.ts";
import { peakCount } from "../../domain/audit/frontier.ts";
import type { GeoPlace } from "../../domain/geo/cells.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { Bytes, Transaction } from "../../kv/engine.ts";
import { newBytes, viewOf } from "../../kv/slab.ts";
import { decodePlace, PLACE_BYTES, putPlace } from "./geo_place.ts";
import { Buffer } from "node:buffer";

export interface StreamHead {
  /** Number of events. */
  readonly length: number;
  /** Sum of the stored events in UTF-8 bytes: as much as a fold from the start would read. */
  readonly bytes: number;
  /** Unix seconds of the first and of the latest event; 0 while there is none. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /**
   * Grows when the stream is rewritten (erasure): what was read under another generation is
   * void.
   */
  readonly generation: number;
  /** The epoch of the latest write, which tells which cuts include it (`audit_cuts.ts`). */
  readonly epoch: number;
  /** Chain hash of the latest event; undefined while there is none. */
  readonly tip: ChainHash | undefined;
  /** The frontier of the stream's Merkle tree: one hash for each bit that is set in the length. */
  readonly peaks: readonly NodeHash[];
  /** The newest point of its events, as the index has it; undefined while there is none. */
  readonly place: GeoPlace | undefined;
}

/** A stream and its head. */
export interface HeadOfStream {
  readonly stream: StreamKey;
  readonly head: StreamHead;
}

/** A stream that a transaction writes. */
export interface StreamWrite {
  readonly tx: Transaction;
  readonly tenant: number;
  readonly stream: StreamKey;
}

export const EMPTY_HEAD: StreamHead = {
  length: 0,
  bytes: 0,
  createdAt: 0,
  updatedAt: 0,
  generation: 0,
  epoch: 0,
  tip: undefined,
  peaks: [],
  place: undefined,
};

/** The format byte, to which these two are added. */
const FORMAT = 2;
const PLACED = 1;
const TAILED = 2;
const TIP_OFFSET = 45;
const PEAKS_OFFSET = TIP_OFFSET + NODE_BYTES;
const TIP_CHARACTERS = 64;
const NODE_CHARACTERS = 2 * NODE_BYTES;

/**
 * Layout: format byte, four doubles, generation, epoch and their sum (u32), tip and peaks (32
 * bytes each), the place if there is one, the tail if there is one. The sum is for `fsck`,
 * because no event tells what generation and epoch are. Only heads with events are stored.
 */
export function encodeHead(head: StreamHead, tail: Bytes = NO_TAIL): Bytes {
  assert(head.tip !== undefined, "a stored head has a tip");
  const placeAt = headBytes(head.peaks.length);
  const isPlaced = head.place !== undefined;
  const tailAt = isPlaced ? placeAt + PLACE_BYTES : placeAt;
  const bytes = newBytes(tailAt + tail.length);
  const view = viewOf(bytes);
  bytes[0] = FORMAT + (isPlaced ? PLACED : 0) + (tail.length > 0 ? TAILED : 0);
  if (isPlaced) putPlace(view, placeAt, head.place);
  if (tail.length > 0) bytes.set(tail, tailAt);
  view.setFloat64(1, head.length);
  view.setFloat64(9, head.bytes);
  view.setFloat64(17, head.createdAt);
  view.setFloat64(25, head.updatedAt);
  view.setUint32(33, head.generation);
  view.setUint32(37, head.epoch);
  view.setUint32(41, head.generation + head.epoch);
  // One call for all hashes: each small array would cost more than a hash.
  bytes.subarray(TIP_OFFSET, placeAt).setFromHex(head.tip + head.peaks.join(""));
  return bytes;
}

/** Decodes a head without its tail, which {@link tailOf} returns. */
export function decodeHead(bytes: Bytes | undefined): StreamHead {
  if (bytes === undefined) return EMPTY_HEAD;
  const kind = bytes[0]! - FORMAT;
  const isKnown = kind >= 0 && kind <= PLACED + TAILED;
  assert(isKnown && bytes.length >= PEAKS_OFFSET, "a stream head has its format");
  const view = viewOf(bytes);
  const length = view.getFloat64(1);
  const count = peakCount(length);
  const end = headBytes(count);
  const isPlaced = (kind & PLACED) !== 0;
  const rest = bytes.length - (isPlaced ? end + PLACE_BYTES : end);
  const isWhole = (kind & TAILED) === 0 ? rest === 0 : rest > 0;
  assert(isWhole, "a stream head has a peak for each bit, and what its format says");
  const [generation, epoch] = [view.getUint32(33), view.getUint32(37)];
  assert(view.getUint32(41) === (generation + epoch) >>> 0, "a stream head adds up");
  const hashes = bytes.subarray(TIP_OFFSET, end).toHex();
  const peaks = new Array<NodeHash>(count);
  for (let number = 0; number < count; number++) {
    const at = TIP_CHARACTERS + NODE_CHARACTERS * number;
    peaks[number] = hashes.slice(at, at + NODE_CHARACTERS);
  }
  return {
    length,
    bytes: view.getFloat64(9),
    createdAt: view.getFloat64(17),
    updatedAt: view.getFloat64(25),
    generation,
    epoch,
    tip: hashes.slice(0, TIP_CHARACTERS),
    peaks,
    place: isPlaced ? decodePlace(view, end) : undefined,
  };
}

/** The tail that follows `head` in its stored form, as a piece of `bytes`. */
export function tailOf(bytes: Bytes | undefined, head: StreamHead): Bytes {
  if (bytes === undefined) return NO_TAIL;
  const end = headBytes(head.peaks.length);
  const at = head.place === undefined ? end : end + PLACE_BYTES;
  return at === bytes.length ? NO_TAIL : bytes.subarray(at);
}

function headBytes(peaks: number): number {
  return PEAKS_OFFSET + NODE_BYTES * peaks;
}

/** One event of a stream as the store keeps it. */
export interface ChainedEvent {
  readonly raw: string;
  /** Length of `raw` in UTF-8. */
  readonly bytes: number;
  readonly hash: ChainHash;
}

/** Segments are closed at about this size; a larger event has a segment of its own. */
export const SEGMENT_BYTES_TARGET = 64 * 1024;

const SEGMENT_FORMAT = 1;
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
  segment[0] = SEGMENT_FORMAT;
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
  joined[0] = SEGMENT_FORMAT;
  viewOf(joined).setUint32(1, count);
  let lengthAt = PREAMBLE_BYTES;
  let hashAt = lengthAt + LENGTH_BYTES * count;
  let rawAt = hashAt + HASH_BYTES * count;
  for (const [index, segment] of segments.entries()) {
    assert(segment[0] === SEGMENT_FORMAT, "a segment has its format");
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
  assert(segment[0] === SEGMENT_FORMAT, "a segment has its format");
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

/** The hashes of a segment's events, of which no text is read; `segment` may end after them. */
export function decodeHashes(segment: Bytes): ChainHash[] {
  assert(segment[0] === SEGMENT_FORMAT, "a segment has its format");
  const count = viewOf(segment).getUint32(1);
  const hashesAt = PREAMBLE_BYTES + LENGTH_BYTES * count;
  const end = hashesAt + HASH_BYTES * count;
  assert(end <= segment.length, "a segment has a hash of each event");
  const hashes = segment.subarray(hashesAt, end).toHex();
  const size = 2 * HASH_BYTES;
  return Array.from({ length: count }, (_, at) => hashes.slice(at * size, (at + 1) * size));
}

/** Beyond this many, the next event takes all of them to a segment. */
export const TAIL_EVENTS_MAX = 3;
/** In stored form. Every write to the stream copies this much, and the log of the store has it. */
export const TAIL_BYTES_MAX = 1536;

export const NO_TAIL: Bytes = new Uint8Array(0);

/** How many events a tail has. */
export function tailCount(tail: Bytes): number {
  return tail.length === 0 ? 0 : tail[0]!;
}

/** The tail with one more event; undefined if there is no room for it. */
export function extendTail(tail: Bytes, event: ChainedEvent): Bytes | undefined {
  const count = tailCount(tail);
  const at = Math.max(1, tail.length);
  const size = at + singleBytes(event.bytes);
  if (count === TAIL_EVENTS_MAX || size > TAIL_BYTES_MAX) return undefined;
  const extended = newBytes(size);
  extended.set(tail);
  extended[0] = count + 1;
  putSegment(extended.subarray(at), [event]);
  return extended;
}

/** Oldest first. */
export function decodeTail(tail: Bytes): ChainedEvent[] {
  return singlesOf(tail).flatMap(decodeSegment);
}

/** One segment of the tail's events and others; the caller knows that one has room for all. */
export function sealTail(tail: Bytes, events: readonly ChainedEvent[]): Bytes {
  return joinSegments([...singlesOf(tail), encodeSegment(events)]);
}

/** The segments of one event that a tail is made of, as pieces of it. */
function singlesOf(tail: Bytes): Bytes[] {
  const singles: Bytes[] = [];
  const view = viewOf(tail);
  for (let at = 1; at < tail.length;) {
    const size = singleBytes(view.getUint32(at + PREAMBLE_BYTES));
    singles.push(tail.subarray(at, at + size));
    at += size;
  }
  assert(singles.length === tailCount(tail), "a head has as many events as it says");
  return singles;
}

/** Bytes of a segment with one event. */
function singleBytes(eventBytes: number): number {
  return PREAMBLE_BYTES + EVENT_OVERHEAD_BYTES + eventBytes;
}
