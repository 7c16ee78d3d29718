/**
 * Reads one page of an aggregate's events, always oldest first, or only their number. See
 * docs/reference/reading.md.
 */

import { openPieces, type Turns } from "../../domain/fairness/pieces.ts";
import { eventId, parseStart } from "../../domain/event.ts";
import { limits } from "../../domain/limits.ts";
import {
  type AggregateName,
  type EventPage,
  type ReadEventsRequest,
} from "../../domain/reading.ts";
import { accept, type Outcome } from "../../domain/refusal.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Engine, ReadTransaction } from "../../kv/engine.ts";
import { locateStream, type SpecCache } from "../base/current_spec.ts";
import {
  type EventWindow,
  type IndexedEvent,
  readEvents,
  readEventsBackwards,
  withinBytes,
} from "../../store/streams/stream_events.ts";
import { readHead } from "../../store/streams/streams.ts";

export interface EventTools {
  readonly engine: Engine;
  readonly specs: SpecCache;
  readonly turns: Turns;
}

export async function readEventPage(
  { engine, specs, turns }: EventTools,
  tenant: Tenant,
  request: ReadEventsRequest,
): Promise<Outcome<EventPage>> {
  const spec = await specs.current(tenant.number);
  const located = locateStream(spec, request.aggregateType, request.id);
  if (!located.ok) return located;
  const start = parseStart(request.start);
  if (!start.ok) return start;
  const asked = request.count ?? limits.eventsPageDefault;
  const count = Math.min(asked, limits.eventsPageMax);
  const { key } = located.value;
  const wanted = { key, count, start: start.value, turns };
  const page = await engine.snapshot((tx) =>
    request.direction === "forwards"
      ? pageForwards(tx, tenant.number, wanted)
      : pageBackwards(tx, tenant.number, wanted)
  );
  return accept({ ...page, countLimit: count, countClamped: count < asked });
}

type Page = Pick<EventPage, "entries" | "truncated" | "truncatedBy" | "nextStart">;

interface PageRequest {
  readonly key: StreamKey;
  readonly count: number;
  readonly start: number | undefined;
  readonly turns: Turns;
}

/**
 * A page is read in portions, and others have their turn between two of them. Many pages may be
 * asked for in one turn, so the first portion is small.
 */
const FIRST_PORTION_BYTES = 64 * 1024;
const PORTION_BYTES = 512 * 1024;

/** As {@link readEvents} or {@link readEventsBackwards}, in time slices. */
async function readPortions(
  turns: Turns,
  window: EventWindow,
  readNext: (left: EventWindow) => Promise<IndexedEvent[]>,
  without: (left: EventWindow, read: readonly IndexedEvent[]) => EventWindow,
): Promise<IndexedEvent[][]> {
  const pieces = openPieces(turns);
  const portions: IndexedEvent[][] = [];
  let left = window;
  for (;;) {
    const bytesMax = portions.length === 0 ? FIRST_PORTION_BYTES : PORTION_BYTES;
    const portion = await readNext({ ...left, bytesMax: Math.min(left.bytesMax, bytesMax) });
    if (portion.length === 0) return portions;
    portions.push(portion);
    left = without(left, portion);
    if (left.from >= left.to || left.bytesMax <= 0) return portions;
    await pieces.rest();
  }
}

function bytesOf(events: readonly IndexedEvent[]): number {
  return events.reduce((sum, { bytes }) => sum + bytes, 0);
}

async function pageForwards(
  tx: ReadTransaction,
  tenant: number,
  { key, count, start, turns }: PageRequest,
): Promise<Page> {
  const { length, generation } = await readHead(tx, tenant, key);
  const from = start === undefined ? 0 : start + 1;
  const to = Math.min(length, from + count);
  const window = { from, to, bytesMax: limits.pageBytesMax, generation };
  const portions = await readPortions(
    turns,
    window,
    (left) => readEvents(tx, tenant, key, left),
    (left, read) => ({
      ...left,
      from: read.at(-1)!.index + 1,
      bytesMax: left.bytesMax - bytesOf(read),
    }),
  );
  const events = withinBytes(portions.flat(), limits.pageBytesMax);
  const last = events.at(-1);
  return page(events, last !== undefined && last.index < length - 1, last, count);
}

async function pageBackwards(
  tx: ReadTransaction,
  tenant: number,
  { key, count, start, turns }: PageRequest,
): Promise<Page> {
  const { length, generation } = await readHead(tx, tenant, key);
  const to = Math.min(length, start ?? length);
  const from = Math.max(0, to - count);
  const window = { from, to, bytesMax: limits.pageBytesMax, generation };
  const portions = await readPortions(
    turns,
    window,
    (left) => readEventsBackwards(tx, tenant, key, left),
    (left, read) => ({ ...left, to: read[0]!.index, bytesMax: left.bytesMax - bytesOf(read) }),
  );
  const newestFirst = portions.flatMap((portion) => portion.reverse());
  const events = withinBytes(newestFirst, limits.pageBytesMax).reverse();
  const first = events[0];
  return page(events, first !== undefined && first.index > 0, first, count);
}

/** `edge` is the event after which the next page continues. */
function page(
  events: readonly IndexedEvent[],
  truncated: boolean,
  edge: IndexedEvent | undefined,
  count: number,
): Page {
  const entries = events.map(({ index, hash, raw }) => ({ id: eventId(index), hash, raw }));
  if (!truncated) return { entries, truncated };
  const truncatedBy = events.length === count ? "count" : "bytes";
  return { entries, truncated, truncatedBy, nextStart: eventId(edge!.index) };
}

/** The number of events, from one small read: 0 for an aggregate without any. */
export async function readLength(
  engine: Engine,
  specs: SpecCache,
  tenant: Tenant,
  { aggregateType, id }: AggregateName,
): Promise<Outcome<number>> {
  const spec = await specs.current(tenant.number);
  const located = locateStream(spec, aggregateType, id);
  if (!located.ok) return located;
  const { key } = located.value;
  const head = await engine.snapshot((tx) => readHead(tx, tenant.number, key));
  return accept(head.length);
}
