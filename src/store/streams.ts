/** Streams: head, appending, and reading events in both directions. Spec: "Event chain hash". */

import { assert } from "../domain/assert.ts";
import { extendChain, extendChainOnce } from "../domain/audit/chain.ts";
import { addLeaf } from "../domain/audit/frontier.ts";
import type { EncodedEvent } from "../domain/event.ts";
import { placeOf } from "../domain/geo/cells.ts";
import type { GeoPoint } from "../domain/geo/point.ts";
import type { StreamKey } from "../domain/stream_key.ts";
import type { Bytes, KeyRange, KeyValue, ReadTransaction, Transaction } from "../kv/engine.ts";
import { unpack } from "../kv/tuple.ts";
import { markChange, readRewrites } from "./audit_cuts.ts";
import { movePoint } from "./geo_index.ts";
import { keyAfter, keys } from "./keys.ts";
import { setLargeValue, wholeValue } from "./large_value.ts";
import {
  type ChainedEvent,
  decodeSegment,
  encodeSegment,
  EVENT_OVERHEAD_BYTES,
  SEGMENT_BYTES_TARGET,
} from "./segment.ts";
import { decodeHead, encodeHead, type StreamHead } from "./stream_head.ts";

/** An event with its 0-based place in the stream. */
export interface IndexedEvent extends ChainedEvent {
  readonly index: number;
}

type Reads = Pick<ReadTransaction, "get" | "getRange">;

const LAST = { limit: 1, reverse: true };

/** The stream was rewritten while it was read in several transactions: what was read is void. */
export class StreamRewritten extends Error {
  override readonly name = "StreamRewritten";
}

export function readHead(tx: Reads, tenant: number, stream: StreamKey): Promise<StreamHead> {
  return tx.get(keys.head(tenant, stream)).then(decodeHead);
}

/**
 * Whether the stream is still of that generation. Guarded against rewrites, not against writes: for
 * transactions that keep what was made of its events.
 */
export async function isGeneration(
  tx: Transaction,
  tenant: number,
  stream: StreamKey,
  generation: number,
): Promise<boolean> {
  const [head] = await Promise.all([
    readHead(tx.unguarded, tenant, stream),
    readRewrites(tx, tenant),
  ]);
  return head.generation === generation;
}

/**
 * Appends to one stream within one transaction, any number of times, and writes it out once:
 * all events of the transaction share segments, and the head is set once.
 */
export interface StreamAppender {
  readonly key: StreamKey;
  /** As it was when the stream was opened. */
  readonly before: StreamHead;
  readonly head: StreamHead;
  /** Gives the index of the first event appended. Unix seconds: of the last, and of the first. */
  append(events: readonly EncodedEvent[], timestamp: number, firstTimestamp?: number): number;
  /** Writes it out, as of the epoch that the transaction has read (`audit_cuts.ts`). */
  flush(epoch: number): void;
}

/** Opens streams for appending, in their order: reads their heads at once, and so guards them. */
export async function openStreams(
  tx: Transaction,
  tenant: number,
  streams: readonly StreamKey[],
): Promise<StreamAppender[]> {
  const headKeys = streams.map((stream) => keys.head(tenant, stream));
  const heads = await Promise.all(headKeys.map((key) => tx.get(key)));
  return streams.map((stream, index) =>
    appenderTo(tx, tenant, stream, headKeys[index]!, decodeHead(heads[index]))
  );
}

/**
 * The head is a field that is replaced: an accessor would give each appender a hidden class of its
 * own, made in the old generation of the heap, which keeps the accessor and all it sees until the
 * next full collection.
 */
function appenderTo(
  tx: Transaction,
  tenant: number,
  stream: StreamKey,
  headKey: Bytes,
  before: StreamHead,
): StreamAppender {
  let pending: ChainedEvent[] | undefined;
  const appender = { key: stream, before, head: before, append, flush };

  function append(
    events: readonly EncodedEvent[],
    timestamp: number,
    firstTimestamp = timestamp,
  ): number {
    const { head } = appender;
    const first = head.length;
    let { tip, bytes } = head;
    const peaks = [...head.peaks];
    const extend = events.length === 1 ? extendChainOnce : extendChain;
    let geo: GeoPoint | undefined;
    let length = first;
    for (const event of events) {
      if (event.geo !== undefined) geo = event.geo;
      tip = extend(tip, event.raw);
      bytes += event.bytes;
      addLeaf(peaks, length++, tip);
      const chained = { raw: event.raw, bytes: event.bytes, hash: tip };
      if (pending === undefined) pending = [chained];
      else pending.push(chained);
    }
    appender.head = {
      length,
      bytes,
      createdAt: first === 0 ? firstTimestamp : head.createdAt,
      updatedAt: timestamp,
      generation: head.generation,
      epoch: head.epoch,
      tip,
      peaks,
      place: geo === undefined ? head.place : placeOf(geo),
    };
    return first;
  }

  function flush(epoch: number): void {
    if (pending === undefined) return;
    const { head } = appender;
    markChange(tx, tenant, stream, before, epoch);
    movePoint(tx, tenant, stream, before.place, head.place);
    placeEvents(tx, tenant, stream, before.length, pending, { ...head, epoch }, headKey);
  }

  return appender;
}

/**
 * Puts events with ready hashes behind the first `first` of a stream, and sets the head that then
 * is true. The caller has read the head before, or knows that nobody else writes.
 */
export function placeEvents(
  tx: Transaction,
  tenant: number,
  stream: StreamKey,
  first: number,
  events: readonly ChainedEvent[],
  head: StreamHead,
  headKey: Bytes = keys.head(tenant, stream),
): void {
  assert(first + events.length === head.length, "a head counts the events of its stream");
  placeSegments(tx, tenant, stream, head.generation, first, events);
  tx.set(headKey, encodeHead(head));
}

/** Puts them where nobody sees them, until a head has that generation and counts them. */
export function placeSegments(
  tx: Transaction,
  tenant: number,
  stream: StreamKey,
  generation: number,
  first: number,
  events: readonly ChainedEvent[],
): void {
  let index = first;
  for (const segment of cutIntoSegments(events)) {
    const key = keys.segment(tenant, stream, index, generation);
    setLargeValue(tx, tenant, key, encodeSegment(segment));
    index += segment.length;
  }
}

function cutIntoSegments(events: readonly ChainedEvent[]): (readonly ChainedEvent[])[] {
  if (events.length === 1) return [events];
  const segments: (readonly ChainedEvent[])[] = [];
  let from = 0;
  let bytes = 0;
  for (let index = 0; index < events.length; index++) {
    const event = events[index]!;
    if (bytes > 0 && bytes + event.bytes > SEGMENT_BYTES_TARGET) {
      segments.push(events.slice(from, index));
      from = index;
      bytes = 0;
    }
    bytes += event.bytes + EVENT_OVERHEAD_BYTES;
  }
  segments.push(events.slice(from));
  return segments;
}

/** Events from index `from` up to but not including `to`, stopped at about `bytesMax`. */
export interface EventWindow {
  readonly from: number;
  readonly to: number;
  readonly bytesMax: number;
  /** By the head that the window is of. Left out: the one that the stream has now. */
  readonly generation?: number;
}

/**
 * The events of the window, oldest first. Stops after the segment with which `bytesMax` is
 * reached, so that there is always at least one event; none where the stream was rewritten since.
 */
export async function readEvents(
  tx: Reads,
  tenant: number,
  stream: StreamKey,
  window: EventWindow,
): Promise<IndexedEvent[]> {
  if (window.from >= window.to) return [];
  const generation = window.generation ?? await readGeneration(tx, tenant, stream);
  // Most windows begin with a segment, which a single key finds for half of what a range costs.
  const key = keys.segment(tenant, stream, window.from, generation);
  const value = await tx.get(key);
  if (value === undefined) {
    return await readFromWithin(tx, tenant, stream, { ...window, generation });
  }
  const events = (await decodeSegments(tx, tenant, [{ key, value }], window)).flat();
  const from = window.from + events.length;
  // Of a large event, `value` is but the beginning.
  const decoded = events.reduce((sum, event) => sum + event.bytes, 0);
  const bytesMax = window.bytesMax - Math.max(decoded, key.length + value.length);
  if (from >= window.to || bytesMax <= 0) return events;
  const begin = keys.segment(tenant, stream, from, generation);
  const end = keys.segment(tenant, stream, window.to, generation);
  const pairs = await tx.getRange({ begin, end }, { bytesMax });
  const rest = { ...window, from, bytesMax };
  return [...events, ...(await decodeSegments(tx, tenant, pairs, rest)).flat()];
}

/** The same where the first event is not the first of its segment. */
async function readFromWithin(
  tx: Reads,
  tenant: number,
  stream: StreamKey,
  window: Required<EventWindow>,
): Promise<IndexedEvent[]> {
  const { from, to, bytesMax, generation } = window;
  const [holding] = await tx.getRange(segmentsUpTo(tenant, stream, generation, from), LAST);
  if (holding === undefined) return await explainMissing(tx, tenant, stream, generation);
  const end = keys.segment(tenant, stream, to, generation);
  const pairs = await tx.getRange({ begin: holding.key, end }, { bytesMax });
  return (await decodeSegments(tx, tenant, pairs, window)).flat();
}

async function readGeneration(tx: Reads, tenant: number, stream: StreamKey): Promise<number> {
  return (await readHead(tx, tenant, stream)).generation;
}

/** The events of an old generation go away piece by piece, the oldest first. */
async function explainMissing(
  tx: Reads,
  tenant: number,
  stream: StreamKey,
  generation: number,
): Promise<IndexedEvent[]> {
  const isOld = await readGeneration(tx, tenant, stream) > generation;
  assert(isOld, "a stream holds every event below its length");
  return [];
}

/**
 * One event; undefined where the stream has none at the index. Without a generation: of the one
 * that the stream has now.
 */
export async function readEvent(
  tx: Reads,
  tenant: number,
  stream: StreamKey,
  index: number,
  ofGeneration?: number,
): Promise<IndexedEvent | undefined> {
  const generation = ofGeneration ?? await readGeneration(tx, tenant, stream);
  const key = keys.segment(tenant, stream, index, generation);
  // Most begin a segment of their own, which a single key finds for half of what a range costs.
  const value = await tx.get(key);
  const pairs = value !== undefined
    ? [{ key, value }]
    : await tx.getRange(segmentsUpTo(tenant, stream, generation, index), LAST);
  const window = { from: index, to: index + 1, bytesMax: Infinity };
  return (await decodeSegments(tx, tenant, pairs, window))[0]?.[0];
}

/** The last one of them holds the event at the index, if any does. */
function segmentsUpTo(
  tenant: number,
  stream: StreamKey,
  generation: number,
  index: number,
): KeyRange {
  const { begin } = keys.segments(tenant, stream, generation);
  return { begin, end: keyAfter(keys.segment(tenant, stream, index, generation)) };
}

/** As {@link readEvents}, but the newest of the window when `bytesMax` binds; oldest first too. */
export async function readEventsBackwards(
  tx: Reads,
  tenant: number,
  stream: StreamKey,
  window: EventWindow,
): Promise<IndexedEvent[]> {
  if (window.from >= window.to) return [];
  const generation = window.generation ?? await readGeneration(tx, tenant, stream);
  const { begin } = keys.segments(tenant, stream, generation);
  const range = { begin, end: keys.segment(tenant, stream, window.to, generation) };
  const limit = window.to - window.from;
  const pairs = await tx.getRange(range, { reverse: true, bytesMax: window.bytesMax, limit });
  return (await decodeSegments(tx, tenant, pairs, window)).reverse().flat();
}

/** One list a segment, in the order of `pairs`. Large events count with their real size. */
async function decodeSegments(
  tx: Reads,
  tenant: number,
  pairs: readonly KeyValue[],
  window: EventWindow,
): Promise<IndexedEvent[][]> {
  const segments: IndexedEvent[][] = [];
  let bytes = 0;
  for (const { key, value } of pairs) {
    if (bytes >= window.bytesMax) break;
    const first = unpack(key).at(-1) as number;
    const events: IndexedEvent[] = [];
    for (
      const [offset, event] of decodeSegment(await wholeValue(tx, tenant, key, value)).entries()
    ) {
      const index = first + offset;
      if (index < window.from || index >= window.to) continue;
      events.push({ index, raw: event.raw, bytes: event.bytes, hash: event.hash });
      bytes += event.bytes;
    }
    if (events.length > 0) segments.push(events);
  }
  return segments;
}
