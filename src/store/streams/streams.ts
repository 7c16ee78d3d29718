/**
 * Appends events to streams, extending their chain hashes and their heads. See
 * docs/reference/writing.md and docs/reference/audit.md.
 */

import { assert } from "../../domain/assert.ts";
import { type ChainHash, extendChain } from "../../domain/audit/chain.ts";
import { addLeaf } from "../../domain/audit/frontier.ts";
import type { EncodedEvent } from "../../domain/event.ts";
import type { Steps } from "../../domain/fairness/pieces.ts";
import { geoPlaceOf } from "../../domain/geo/cells.ts";
import type { GeoPoint } from "../../domain/geo/point.ts";
import { splitStreamKey, type StreamKey } from "../../domain/identifier.ts";
import type { Bytes, ReadTransaction, Transaction } from "../../kv/engine.ts";
import { markChange, readRewrites } from "./audit_cuts.ts";
import { movePoint } from "./geo_index.ts";
import { keys } from "../keys.ts";
import { setLargeValue } from "../large_value.ts";
import {
  type ChainedEvent,
  decodeHead,
  decodeTail,
  encodeHead,
  encodeSegment,
  EVENT_OVERHEAD_BYTES,
  extendTail,
  sealTail,
  SEGMENT_BYTES_TARGET,
  segmentBytes,
  type StreamHead,
  type StreamWrite,
  tailCount,
  tailOf,
} from "./stream_head.ts";
import { indexAggregate } from "./aggregates.ts";
import { enqueueStreamRebuild, REBUILD_EVERY_BYTES } from "./rebuilds.ts";

type Reads = Pick<ReadTransaction, "get">;

export function readHead(tx: Reads, tenant: number, stream: StreamKey): Promise<StreamHead> {
  return tx.get(keys.head(tenant, stream)).then(decodeHead);
}

/**
 * Whether the stream still has that generation. Guarded against rewrites, not against writes,
 * for transactions that store what was made from its events.
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
 * Appends to one stream within one transaction, any number of times, and writes the result once:
 * all events of the transaction share segments, and the head is set once.
 */
export interface StreamAppender {
  readonly key: StreamKey;
  /** The head as it was when the stream was opened. */
  readonly before: StreamHead;
  readonly head: StreamHead;
  /** What was appended so far; undefined if nothing was. */
  readonly added: readonly ChainedEvent[] | undefined;
  /**
   * Returns the index of the first appended event. Timestamps are in Unix seconds: that of the
   * last event, and that of the first.
   */
  append(events: readonly EncodedEvent[], timestamp: number, firstTimestamp?: number): number;
  /** Hashes events step by step. If they are the next to be appended, that is done then. */
  chainAheadSteps(events: readonly EncodedEvent[]): Steps<void>;
  /**
   * Writes the result, in the epoch that the transaction has read (`audit_cuts.ts`), and all else
   * that the store keeps about the aggregate.
   */
  flush(epoch: number): void;
}

/** Events that are hashed in one step. */
const EVENTS_PER_STEP = 16;
/** An event of more bytes is a step of its own. */
const STEP_BYTES = 4 * 1024;

/**
 * Opens streams for appending, in their order. Reads all their heads at once, which guards them.
 */
export async function openStreams(
  tx: Transaction,
  tenant: number,
  streams: readonly StreamKey[],
): Promise<StreamAppender[]> {
  const headKeys: Bytes[] = [];
  const reads: Promise<Bytes | undefined>[] = [];
  for (const stream of streams) {
    const key = keys.head(tenant, stream);
    headKeys.push(key);
    reads.push(tx.get(key));
  }
  const heads = await Promise.all(reads);
  const appenders: StreamAppender[] = [];
  for (let index = 0; index < heads.length; index++) {
    const write = { tx, tenant, stream: streams[index]! };
    appenders.push(appenderTo(write, headKeys[index]!, heads[index]));
  }
  return appenders;
}

/**
 * The head is a field that is replaced. An accessor would give each appender a hidden class of
 * its own, made in the old generation of the heap, which keeps the accessor and all it closes
 * over until the next full collection.
 */
function appenderTo(
  write: StreamWrite,
  headKey: Bytes,
  stored: Bytes | undefined,
): StreamAppender {
  const { tx, tenant, stream } = write;
  const before = decodeHead(stored);
  let pending: ChainedEvent[] | undefined;
  let ahead: ChainedEvents | undefined;
  const appender: { -readonly [Field in keyof StreamAppender]: StreamAppender[Field] } = {
    key: stream,
    before,
    head: before,
    added: undefined,
    append,
    chainAheadSteps,
    flush,
  };

  function* chainAheadSteps(events: readonly EncodedEvent[]): Steps<void> {
    const chained = beginChain(appender.head, events);
    for (const event of events) {
      addToChain(chained, event);
      if (event.bytes > STEP_BYTES || chained.events.length % EVENTS_PER_STEP === 0) yield;
    }
    ahead = chained;
  }

  function append(
    events: readonly EncodedEvent[],
    timestamp: number,
    firstTimestamp = timestamp,
  ): number {
    const { head } = appender;
    const first = head.length;
    const isReady = ahead?.of === events && ahead.from === head;
    const chained = isReady ? ahead! : beginChain(head, events);
    if (!isReady) { for (const event of events) addToChain(chained, event); }
    if (pending === undefined) appender.added = pending = chained.events;
    else for (const event of chained.events) pending.push(event);
    const { tip, peaks, bytes, geo } = chained;
    appender.head = {
      length: first + events.length,
      bytes,
      createdAt: first === 0 ? firstTimestamp : head.createdAt,
      updatedAt: timestamp,
      generation: head.generation,
      epoch: head.epoch,
      tip,
      peaks,
      place: geo === undefined ? head.place : geoPlaceOf(geo),
    };
    return first;
  }

  function flush(epoch: number): void {
    if (pending === undefined) return;
    const { head } = appender;
    markChange(write, before, epoch);
    if (before.length === 0) {
      const { type, id } = splitStreamKey(stream);
      indexAggregate(tx, tenant, type, id);
    }
    const rebuilds = Math.floor(before.bytes / REBUILD_EVERY_BYTES);
    if (head.bytes >= (rebuilds + 1) * REBUILD_EVERY_BYTES) {
      enqueueStreamRebuild(tx, tenant, stream);
    }
    if (before.place !== head.place) {
      movePoint(tx, tenant, stream, { before: before.place, after: head.place });
    }
    const tail = placeBehind(write, before, tailOf(stored, before), pending);
    tx.set(headKey, encodeHead({ ...head, epoch }, tail));
  }

  return appender;
}

/** Events with their hashes, and the head of their stream as it is behind them. */
interface ChainedEvents {
  readonly of: readonly EncodedEvent[];
  /** The head before them. */
  readonly from: StreamHead;
  readonly events: ChainedEvent[];
  readonly peaks: string[];
  tip: ChainHash | undefined;
  bytes: number;
  geo: GeoPoint | undefined;
}

function beginChain(from: StreamHead, of: readonly EncodedEvent[]): ChainedEvents {
  const { tip, bytes } = from;
  return { of, from, events: [], peaks: [...from.peaks], tip, bytes, geo: undefined };
}

function addToChain(chained: ChainedEvents, event: EncodedEvent): void {
  const { from, events, peaks } = chained;
  const hash = extendChain(chained.tip, event.raw);
  addLeaf(peaks, from.length + events.length, hash);
  events.push({ raw: event.raw, bytes: event.bytes, hash });
  chained.tip = hash;
  chained.bytes += event.bytes;
  if (event.geo !== undefined) chained.geo = event.geo;
}

/** Stores events behind the tail. Returns the tail that the head then has; undefined for none. */
function placeBehind(
  write: StreamWrite,
  { length, generation }: StreamHead,
  tail: Bytes,
  events: readonly ChainedEvent[],
): Bytes | undefined {
  const extended = events.length === 1 ? extendTail(tail, events[0]!) : undefined;
  if (extended !== undefined) return extended;
  const count = tailCount(tail);
  const first = length - count;
  if (count > 0 && tail.length + segmentBytes(events) <= SEGMENT_BYTES_TARGET) {
    const { tx, tenant, stream } = write;
    const key = keys.segment(tenant, stream, first, generation);
    setLargeValue(tx, tenant, key, sealTail(tail, events));
  } else {
    const all = count === 0 ? events : [...decodeTail(tail), ...events];
    placeSegments(write, generation, first, all);
  }
  return undefined;
}

/**
 * Puts events with ready hashes behind the first `first` of a stream, and sets the head that is
 * right then. The caller knows that nobody else writes, and that all earlier events are in
 * segments.
 */
export function placeEvents(
  write: StreamWrite,
  first: number,
  events: readonly ChainedEvent[],
  head: StreamHead,
): void {
  assert(first + events.length === head.length, "a head counts the events of its stream");
  placeSegments(write, head.generation, first, events);
  write.tx.set(keys.head(write.tenant, write.stream), encodeHead(head));
}

/** Puts events where no reader sees them until a head has that generation and counts them. */
export function placeSegments(
  { tx, tenant, stream }: StreamWrite,
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
