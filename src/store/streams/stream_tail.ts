/**
 * The tail of a stream, which keeps its newest events in the head while they are few and small.
 * A write of one event then sets one row, which is there already, and only every fourth one adds
 * a segment with all of them. With a row for each event, each write would change another page of
 * the index, and in a store with many streams nearly every page is another stream's.
 *
 * Layout: the number of events (one byte), then each as a segment of its own. Empty if there are
 * none.
 */

import { assert } from "../../domain/assert.ts";
import type { Bytes } from "../../kv/engine.ts";
import { newBytes, viewOf } from "../../kv/slab.ts";
import {
  type ChainedEvent,
  decodeSegment,
  encodeSegment,
  EVENT_OVERHEAD_BYTES,
  joinSegments,
  PREAMBLE_BYTES,
  putSegment,
} from "./segment.ts";

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
