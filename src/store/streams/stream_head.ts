/**
 * The head of a stream, with all that a write must know of the events before it. It is one small
 * value, and may hold the newest events themselves (`stream_tail.ts`).
 */

import { assert } from "../../domain/assert.ts";
import type { ChainHash } from "../../domain/audit/chain.ts";
import { peakCount } from "../../domain/audit/frontier.ts";
import { NODE_BYTES, type NodeHash } from "../../domain/audit/node_hash.ts";
import type { GeoPlace } from "../../domain/geo/cells.ts";
import type { Bytes } from "../../kv/engine.ts";
import { newBytes, viewOf } from "../../kv/slab.ts";
import { decodePlace, PLACE_BYTES, putPlace } from "./geo_place.ts";
import { NO_TAIL } from "./stream_tail.ts";

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
  assert(isKnown && bytes.length >= headBytes(0), "a stream head has its format");
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
  return TIP_OFFSET + NODE_BYTES * (1 + peaks);
}
