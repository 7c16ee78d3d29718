/**
 * Reads the events of a stream in both directions, from its segments and its head. The head may
 * have the newest events (`stream_head.ts`).
 */

import { assert } from "../../domain/assert.ts";
import type { ChainHash } from "../../domain/audit/chain.ts";
import { decodeEvent } from "../../domain/event.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { Bytes, KeyRange, KeyValue, ReadTransaction, Transaction } from "../../kv/engine.ts";
import { unpack } from "../../kv/tuple.ts";
import { clearPage, type ErasedStream } from "../erased_copies.ts";
import { keyAfter, keys } from "../keys.ts";
import { valueEdge, wholeValue } from "../large_value.ts";
import {
  type ChainedEvent,
  decodeHashes,
  decodeHead,
  decodeSegment,
  decodeTail,
  type StreamHead,
  tailOf,
} from "./stream_head.ts";

/** An event with its 0-based index in the stream. */
export interface IndexedEvent extends ChainedEvent {
  readonly index: number;
}

type Reads = Pick<ReadTransaction, "get" | "getRange">;

const LAST = { limit: 1, reverse: true };

/** The stream was rewritten while several transactions read it, so what they read is void. */
export class StreamRewritten extends Error {
  override readonly name = "StreamRewritten";
}

/** Events from index `from` up to but not including `to`, stopping at about `bytesMax`. */
export interface EventWindow {
  readonly from: number;
  readonly to: number;
  readonly bytesMax: number;
  /** The generation of the head that the window was made for; absent: the current one. */
  readonly generation?: number;
}

/**
 * The events of the window, oldest first. Stops after the segment that reaches `bytesMax`, so the
 * first event is always there. Empty if the stream was rewritten since the window was made.
 */
export async function readEvents(
  tx: Reads,
  tenant: number,
  stream: StreamKey,
  window: EventWindow,
): Promise<IndexedEvent[]> {
  const { from, to, bytesMax } = window;
  if (from >= to) return [];
  // Most windows begin with a segment, and reading its key costs less than reading a range.
  const { generation, held, value } = await readHeld(tx, tenant, stream, window);
  const end = Math.min(to, held.from);
  const stored = from < end
    ? await readSegments(tx, tenant, stream, { from, to: end, bytesMax, generation, value })
    : [];
  const isFull = stored.reduce((sum, { bytes }) => sum + bytes, 0) >= bytesMax;
  // If `bytesMax` or a rewrite ended the part in segments, there is a gap before the head's events.
  if (end === to || isFull || from + stored.length < end) return stored;
  return [...stored, ...held.within(from, to)];
}

/** The events that a head holds, if it has the generation that is read. */
interface HeldEvents {
  /** Index of the first of them; Infinity if there are none. */
  readonly from: number;
  within(from: number, to: number): IndexedEvent[];
}

const NONE_HELD: HeldEvents = { from: Infinity, within: () => [] };

/** The events in the head, and the segment with which the window begins, if one does. */
async function readHeld(
  tx: Reads,
  tenant: number,
  stream: StreamKey,
  { from: index, generation: asked }: Pick<EventWindow, "from" | "generation">,
): Promise<{ generation: number; held: HeldEvents; value: Bytes | undefined }> {
  const headKey = keys.head(tenant, stream);
  if (asked !== undefined) {
    // Both at once, because on a network each read waits for its reply.
    const [stored, value] = await Promise.all([
      tx.get(headKey),
      tx.get(keys.segment(tenant, stream, index, asked)),
    ]);
    return { generation: asked, held: heldIn(stored, decodeHead(stored), asked), value };
  }
  const stored = await tx.get(headKey);
  const head = decodeHead(stored);
  const { generation } = head;
  const held = heldIn(stored, head, generation);
  const isHeld = index >= held.from;
  const value = isHeld ? undefined : await tx.get(keys.segment(tenant, stream, index, generation));
  return { generation, held, value };
}

function heldIn(
  stored: Bytes | undefined,
  head: StreamHead,
  generation: number,
): HeldEvents {
  const tail = tailOf(stored, head);
  if (tail.length === 0 || head.generation !== generation) return NONE_HELD;
  const events = indexTail(head, tail);
  return {
    from: events[0]!.index,
    within: (from, to) => events.filter(({ index }) => index >= from && index < to),
  };
}

/** The events that a head holds, with their indexes in the stream. */
export function indexTail({ length }: StreamHead, tail: Bytes): IndexedEvent[] {
  const events = decodeTail(tail);
  const first = length - events.length;
  return events.map(({ raw, bytes, hash }, at) => ({ index: first + at, raw, bytes, hash }));
}

interface SegmentWindow extends Required<EventWindow> {
  /** The segment with which the window begins, if one does. */
  readonly value: Bytes | undefined;
}

/** The window's events that are in segments. */
async function readSegments(
  tx: Reads,
  tenant: number,
  stream: StreamKey,
  window: SegmentWindow,
): Promise<IndexedEvent[]> {
  const first = await findFirst(tx, tenant, stream, window);
  if (first === undefined) return await explainMissing(tx, tenant, stream, window.generation);
  const events = (await decodeSegments(tx, tenant, [first], window)).flat();
  if (events.length === 0) return [];
  const from = window.from + events.length;
  // Of a large event, the value is only the header; its pieces count too.
  const decoded = events.reduce((sum, event) => sum + event.bytes, 0);
  const bytesMax = window.bytesMax - Math.max(decoded, first.key.length + first.value.length);
  if (from >= window.to || bytesMax <= 0) return events;
  const begin = keys.segment(tenant, stream, from, window.generation);
  const end = keys.segment(tenant, stream, window.to, window.generation);
  const pairs = await tx.getRange({ begin, end }, { bytesMax });
  const rest = { ...window, from, bytesMax };
  return [...events, ...(await decodeSegments(tx, tenant, pairs, rest)).flat()];
}

/** The segment with the first event of the window. */
async function findFirst(
  tx: Reads,
  tenant: number,
  stream: StreamKey,
  { from, generation, value }: SegmentWindow,
): Promise<KeyValue | undefined> {
  if (value !== undefined) return { key: keys.segment(tenant, stream, from, generation), value };
  const [holding] = await tx.getRange(segmentsUpTo(tenant, stream, generation, from), LAST);
  return holding;
}

/**
 * The hashes of the window's events, like {@link readEvents}. Of a segment in pieces only the first
 * piece is read, and no event is decoded. `bytesMax` is about what is read.
 */
export async function readHashes(
  tx: Reads,
  tenant: number,
  stream: StreamKey,
  window: Required<EventWindow>,
): Promise<ChainHash[]> {
  const { from, to, bytesMax, generation } = window;
  const { held, value } = await readHeld(tx, tenant, stream, window);
  if (from >= held.from) return held.within(from, to).map(({ hash }) => hash);
  const first = await findFirst(tx, tenant, stream, { ...window, value });
  if (first === undefined) {
    await explainMissing(tx, tenant, stream, generation);
    return [];
  }
  const range = { begin: keyAfter(first.key), end: keys.segment(tenant, stream, to, generation) };
  const left = bytesMax - first.value.length;
  const others = left > 0 ? await tx.getRange(range, { bytesMax: left }) : [];
  const hashes: ChainHash[] = [];
  let bytes = 0;
  for (const { key, value } of [first, ...others]) {
    const begin = await valueEdge(tx, tenant, { key, value }, "first");
    const index = unpack(key).at(-1) as number;
    hashes.push(...decodeHashes(begin).slice(Math.max(0, from - index), to - index));
    bytes += begin.length;
    if (bytes >= bytesMax) break;
  }
  return hashes;
}

/** Events of an old generation may be gone: they are removed piece by piece, oldest first. */
async function explainMissing(
  tx: Reads,
  tenant: number,
  stream: StreamKey,
  generation: number,
): Promise<IndexedEvent[]> {
  const now = decodeHead(await tx.get(keys.head(tenant, stream)));
  assert(now.generation > generation, "a stream holds every event below its length");
  return [];
}

export interface EventPlace {
  readonly index: number;
  /** Absent: the current one. */
  readonly generation?: number;
}

/** One event; undefined if the stream has none at the index. */
export async function readEvent(
  tx: Reads,
  tenant: number,
  stream: StreamKey,
  place: EventPlace,
): Promise<IndexedEvent | undefined> {
  const { index } = place;
  const window = { from: index, to: index + 1, bytesMax: Infinity, generation: place.generation };
  // Many events are the first of a segment, and reading its key costs less than reading a range.
  const { generation, held, value } = await readHeld(tx, tenant, stream, window);
  if (index >= held.from) return held.within(index, index + 1)[0];
  const pairs = value !== undefined
    ? [{ key: keys.segment(tenant, stream, index, generation), value }]
    : await tx.getRange(segmentsUpTo(tenant, stream, generation, index), LAST);
  return (await decodeSegments(tx, tenant, pairs, window))[0]?.[0];
}

/**
 * The head as far as a fold needs it, when the stream had `atLength` events; its bytes are those of
 * all events. Undefined if the stream was rewritten since the newest head was read.
 */
export async function readHeadAfter(
  tx: Reads,
  tenant: number,
  stream: StreamKey,
  { newest, atLength }: { readonly newest: StreamHead; readonly atLength: number },
): Promise<StreamHead | undefined> {
  if (atLength === newest.length) return newest;
  const place = { index: atLength - 1, generation: newest.generation };
  const last = await readEvent(tx, tenant, stream, place);
  if (last === undefined) return undefined;
  return { ...newest, length: atLength, updatedAt: decodeEvent(last.raw).metadata.timestamp };
}

/** The segments up to the index. If one of them holds the event there, it is the last. */
function segmentsUpTo(
  tenant: number,
  stream: StreamKey,
  generation: number,
  index: number,
): KeyRange {
  const { begin } = keys.segments(tenant, stream, generation);
  return { begin, end: keyAfter(keys.segment(tenant, stream, index, generation)) };
}

/**
 * Like {@link readEvents}, but if not all events fit into `bytesMax`, it returns the newest ones of
 * the window. They too come oldest first.
 */
export async function readEventsBackwards(
  tx: Reads,
  tenant: number,
  stream: StreamKey,
  window: EventWindow,
): Promise<IndexedEvent[]> {
  const { from, to, bytesMax } = window;
  if (from >= to) return [];
  const stored = await tx.get(keys.head(tenant, stream));
  const head = decodeHead(stored);
  const generation = window.generation ?? head.generation;
  const held = heldIn(stored, head, generation);
  const newest = held.within(from, to);
  const left = bytesMax - newest.reduce((sum, { bytes }) => sum + bytes, 0);
  const end = Math.min(to, held.from);
  if (from >= end || left <= 0) return newest;
  const { begin } = keys.segments(tenant, stream, generation);
  const range = { begin, end: keys.segment(tenant, stream, end, generation) };
  const pairs = await tx.getRange(range, { reverse: true, bytesMax: left, limit: end - from });
  const rest = { from, to: end, bytesMax: left };
  const older = (await decodeSegments(tx, tenant, pairs, rest)).reverse().flat();
  return [...older, ...newest];
}

/** One list for each segment, in the order of `pairs`. A large event counts with all its pieces. */
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

/**
 * Removes the events of the generation that a stream had before an erasure, the oldest first, so
 * that a late reader finds nothing rather than something wrong.
 */
export async function removeOldEvents(
  tx: Transaction,
  { tenant, stream, generation }: ErasedStream,
): Promise<Bytes | undefined> {
  // Earlier erasures have removed the generations before that one.
  return await clearPage(tx, tenant, keys.segments(tenant, stream, generation - 1));
}

/** As many leading events as `bytesMax` allows, and at least one. */
export function withinBytes(events: readonly IndexedEvent[], bytesMax: number): IndexedEvent[] {
  let bytes = 0;
  const end = events.findIndex((event, index) => {
    bytes += event.bytes;
    return index > 0 && bytes > bytesMax;
  });
  return end === -1 ? [...events] : events.slice(0, end);
}
