/**
 * Reads the events of a stream in both directions: from segments, and from its head those that are
 * there (`stream_tail.ts`).
 */

import { assert } from "../domain/assert.ts";
import type { StreamKey } from "../domain/stream_key.ts";
import type { Bytes, KeyRange, KeyValue, ReadTransaction } from "../kv/engine.ts";
import { unpack } from "../kv/tuple.ts";
import { keyAfter, keys } from "./keys.ts";
import { wholeValue } from "./large_value.ts";
import { type ChainedEvent, decodeSegment } from "./segment.ts";
import { decodeHead, type StreamHead, tailOf } from "./stream_head.ts";
import { decodeTail } from "./stream_tail.ts";

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
  const { from, to, bytesMax } = window;
  if (from >= to) return [];
  // Most windows begin with a segment, which a single key finds for half of what a range costs.
  const { generation, held, value } = await readHeld(tx, tenant, stream, from, window.generation);
  const end = Math.min(to, held.from);
  const stored = from < end
    ? await readSegments(tx, tenant, stream, { from, to: end, bytesMax, generation }, value)
    : [];
  const isFull = stored.reduce((sum, { bytes }) => sum + bytes, 0) >= bytesMax;
  // What a ceiling has ended, or a rewrite, has a gap behind it.
  if (end === to || isFull || from + stored.length < end) return stored;
  return [...stored, ...held.within(from, to)];
}

/** The events of a head, of the generation that is read. */
interface HeldEvents {
  /** Index of the first of them; Infinity for none. */
  readonly from: number;
  within(from: number, to: number): IndexedEvent[];
}

const NONE_HELD: HeldEvents = { from: Infinity, within: () => [] };

/** The events in the head, and the segment that begins with `index`, if one does. */
async function readHeld(
  tx: Reads,
  tenant: number,
  stream: StreamKey,
  index: number,
  asked: number | undefined,
): Promise<{ generation: number; held: HeldEvents; value: Bytes | undefined }> {
  const headKey = keys.head(tenant, stream);
  if (asked !== undefined) {
    // At once: on a network each read waits for its reply.
    const [stored, value] = await Promise.all([
      tx.get(headKey),
      tx.get(keys.segment(tenant, stream, index, asked)),
    ]);
    return { generation: asked, held: heldIn(stored, asked), value };
  }
  const stored = await tx.get(headKey);
  const { generation } = decodeHead(stored);
  const value = await tx.get(keys.segment(tenant, stream, index, generation));
  return { generation, held: heldIn(stored, generation), value };
}

function heldIn(stored: Bytes | undefined, generation: number): HeldEvents {
  const head = decodeHead(stored);
  const tail = tailOf(stored, head);
  if (tail.length === 0 || head.generation !== generation) return NONE_HELD;
  const events = indexTail(head, tail);
  return {
    from: events[0]!.index,
    within: (from, to) => events.filter(({ index }) => index >= from && index < to),
  };
}

/** The events of a head, as they are in its stream. */
export function indexTail({ length }: StreamHead, tail: Bytes): IndexedEvent[] {
  const events = decodeTail(tail);
  const first = length - events.length;
  return events.map(({ raw, bytes, hash }, at) => ({ index: first + at, raw, bytes, hash }));
}

/** Those of the window that are in segments; `value` is the one that begins with the window. */
async function readSegments(
  tx: Reads,
  tenant: number,
  stream: StreamKey,
  window: Required<EventWindow>,
  value: Bytes | undefined,
): Promise<IndexedEvent[]> {
  if (value === undefined) return await readFromWithin(tx, tenant, stream, window);
  const key = keys.segment(tenant, stream, window.from, window.generation);
  const events = (await decodeSegments(tx, tenant, [{ key, value }], window)).flat();
  const from = window.from + events.length;
  // Of a large event, `value` is but the beginning.
  const decoded = events.reduce((sum, event) => sum + event.bytes, 0);
  const bytesMax = window.bytesMax - Math.max(decoded, key.length + value.length);
  if (from >= window.to || bytesMax <= 0) return events;
  const begin = keys.segment(tenant, stream, from, window.generation);
  const end = keys.segment(tenant, stream, window.to, window.generation);
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

/** The events of an old generation go away piece by piece, the oldest first. */
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
  // Many begin a segment of their own, which a single key finds for half of what a range costs.
  const { generation, held, value } = await readHeld(tx, tenant, stream, index, ofGeneration);
  if (index >= held.from) return held.within(index, index + 1)[0];
  const pairs = value !== undefined
    ? [{ key: keys.segment(tenant, stream, index, generation), value }]
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
  const { from, to, bytesMax } = window;
  if (from >= to) return [];
  const stored = await tx.get(keys.head(tenant, stream));
  const generation = window.generation ?? decodeHead(stored).generation;
  const held = heldIn(stored, generation);
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
