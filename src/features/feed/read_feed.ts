/**
 * Reads one page of the feed: the events that records of the commit log name, in their order. A
 * page ends early when it has read much, also if its filter lets little of that through. See
 * docs/reference/feed.md.
 */

import { assert } from "../../domain/assert.ts";
import { eventId, typeOfEvent } from "../../domain/event.ts";
import { openPieces, type Pieces, type Turns } from "../../domain/fairness/pieces.ts";
import type { FeedFilter } from "../../domain/feed/filter.ts";
import type { FeedEntry, FeedErasure, FeedPage } from "../../domain/feed/page.ts";
import {
  type FeedPosition,
  formatCursor,
  type LogPlace,
  WHOLE_RECORD,
} from "../../domain/feed/place.ts";
import { limits } from "../../domain/limits.ts";
import { splitStreamKey, type StreamKey } from "../../domain/identifier.ts";
import type { ReadTransaction } from "../../kv/engine.ts";
import {
  hasLogged,
  type LogEntry,
  type LogRecord,
  readLog,
  readLogAt,
} from "../../store/feed/commit_log.ts";
import { type IndexedEvent, readEvents } from "../../store/streams/stream_events.ts";

export interface PageToRead {
  readonly after: FeedPosition;
  /** Nothing behind this place; absent: all there is. */
  readonly until?: LogPlace;
  /** Undefined: all events. */
  readonly filter: FeedFilter | undefined;
  readonly limit: number;
  readonly bytesMax: number;
  /** What cursors of this feed end with. */
  readonly check: string;
  /**
   * Whether each read waits for a network, so that several are made at once. Otherwise a read is
   * work of this thread, and nothing is read before the page has room for it.
   */
  readonly isRemote?: boolean;
}

/** Records that are read first, for a long page, and the most that are read at once. */
const FIRST_RECORDS = 64;
const RECORDS_AT_ONCE = 256;
const RECORD_BYTES_AT_ONCE = 128 * 1024;
/** On a network each read waits for its reply; and each may bring large events. */
const STREAMS_AT_ONCE = 48;
const EVENTS_AT_ONCE = 64;
/** The most that is read at once of one stream. */
const STREAM_BYTES_MAX = 512 * 1024;
/** What one page looks at, besides what it returns. */
const LOOKED_AT_RECORDS_MAX = 4_000;
const LOOKED_AT_EVENTS_MAX = 10_000;
const LOOKED_AT_BYTES_MAX = 8 * 1024 * 1024;

/** What a record has for the page. */
type Item =
  | {
    readonly kind: "events";
    readonly stream: StreamKey;
    /** Undefined: all. */
    readonly eventTypes: ReadonlySet<string> | undefined;
    readonly from: number;
    readonly to: number;
    /** The position of the first of them. */
    readonly position: FeedPosition;
  }
  | { readonly kind: "erased"; readonly stream: StreamKey; readonly position: FeedPosition }
  /** Nothing that is wanted, up to here. */
  | { readonly kind: "passed"; readonly position: FeedPosition };

/** A page while it is made. */
interface Draft {
  readonly entries: FeedEntry[];
  readonly erased: FeedErasure[];
  /** Everything up to here is in the page or not wanted. */
  at: FeedPosition;
  /** Bytes of the entries. */
  bytes: number;
  lookedAtRecords: number;
  lookedAtEvents: number;
  lookedAtBytes: number;
  isFull: boolean;
}

interface Reading {
  readonly tx: ReadTransaction;
  readonly tenant: number;
  readonly page: PageToRead;
  readonly draft: Draft;
  readonly pieces: Pieces;
}

export async function readFeedPage(
  tx: ReadTransaction,
  turns: Turns,
  tenant: number,
  page: PageToRead,
): Promise<Omit<FeedPage, "isBuilding">> {
  const draft: Draft = {
    entries: [],
    erased: [],
    at: page.after,
    bytes: 0,
    lookedAtRecords: 0,
    lookedAtEvents: 0,
    lookedAtBytes: 0,
    isFull: false,
  };
  const reading = { tx, tenant, page, draft, pieces: openPieces(turns) };
  const { place, offset } = page.after;
  const begun = offset === WHOLE_RECORD ? undefined : await readLogAt(tx, tenant, place);
  if (begun !== undefined) await addRecords(reading, [begun]);
  let isAtEnd = false;
  let lastRead = place;
  let limit = Math.min(page.limit, FIRST_RECORDS);
  while (!draft.isFull && !isAtEnd) {
    const records = await readLog(tx, tenant, {
      after: draft.at.place,
      until: page.until,
      limit,
      bytesMax: RECORD_BYTES_AT_ONCE,
    });
    lastRead = records.at(-1)?.place ?? lastRead;
    if (records.length === 0) isAtEnd = true;
    else await addRecords(reading, records);
    // A page of which a filter lets little through looks at many records.
    limit = Math.min(2 * limit, RECORDS_AT_ONCE);
  }
  const isUpToDate = isAtEnd || (draft.at.place >= lastRead && await isLast(reading));
  const { entries, erased, at } = draft;
  return { entries, erased, next: formatCursor(at, page.check), isUpToDate };
}

/** Whether there is nothing for a page behind the position to which it has come. */
async function isLast({ tx, tenant, page, draft }: Reading): Promise<boolean> {
  const { place, offset } = draft.at;
  if (await hasLogged(tx, tenant, place, page.until)) return false;
  if (offset === WHOLE_RECORD) return true;
  const record = await readLogAt(tx, tenant, place);
  const length = record?.entries.reduce((sum, entry) => sum + offsetsOf(entry), 0) ?? 0;
  return offset + 1 >= length;
}

/** How many positions an entry takes. */
function offsetsOf(entry: LogEntry): number {
  if (entry.kind === "appended") return entry.count;
  return entry.kind === "erased" ? 1 : 0;
}

async function addRecords(reading: Reading, records: readonly LogRecord[]): Promise<void> {
  const { page, draft, pieces } = reading;
  draft.lookedAtRecords += records.length;
  const items = records.flatMap((record) => itemsOf(record, page));
  for (let at = 0; at < items.length && !draft.isFull;) {
    const batch = nextBatch(items, at, page, draft);
    const read = await Promise.all(batch.map((item) => readItem(reading, item)));
    for (const [number, item] of batch.entries()) {
      addItem(reading, item, read[number]!);
      if (draft.isFull) return;
      const rest = pieces.rest();
      if (rest !== undefined) await rest;
    }
    at += batch.length;
  }
  if (draft.lookedAtRecords >= LOOKED_AT_RECORDS_MAX) draft.isFull = true;
}

function itemsOf({ place, entries }: LogRecord, { after, filter }: PageToRead): Item[] {
  const done = place === after.place ? after.offset + 1 : 0;
  const items: Item[] = [];
  let offset = 0;
  for (const entry of entries) {
    const begin = offset;
    offset += offsetsOf(entry);
    if (offset <= done) continue;
    const { stream } = entry;
    // Without a filter, nobody needs the type.
    const type = filter && splitStreamKey(stream).type;
    if (type !== undefined && !filter!.has(type)) continue;
    const skipped = Math.max(0, done - begin);
    const position = { place, offset: begin + skipped };
    if (entry.kind === "erased") items.push({ kind: "erased", stream, position });
    else if (entry.kind === "appended") {
      const { first, count } = entry;
      const [from, to] = [first + skipped, first + count];
      const eventTypes = type === undefined ? undefined : filter!.get(type);
      items.push({ kind: "events", stream, eventTypes, from, to, position });
    }
  }
  // The record with which the page begins may have been done before.
  if (place === after.place && offset <= done) return items;
  const last = items.at(-1);
  const end = last === undefined ? 0 : last.position.offset + positionsOf(last);
  if (end < offset || items.length === 0) {
    items.push({ kind: "passed", position: { place, offset: WHOLE_RECORD } });
  }
  return items;
}

function positionsOf(item: Item): number {
  return item.kind === "events" ? item.to - item.from : 1;
}

/** As many items as are read at once; fewer, if they have enough events for the page. */
function nextBatch(
  items: readonly Item[],
  from: number,
  { limit, isRemote = false }: PageToRead,
  { entries }: Draft,
): readonly Item[] {
  const streamsMax = isRemote ? STREAMS_AT_ONCE : 1;
  const wanted = Math.min(limit - entries.length, EVENTS_AT_ONCE);
  let events = 0;
  let to = from;
  while (to < items.length && to - from < streamsMax && events < wanted) {
    events += positionsOf(items[to++]!);
  }
  return items.slice(from, to);
}

const NO_EVENTS: readonly IndexedEvent[] = [];

function readItem(
  { tx, tenant, page, draft }: Reading,
  item: Item,
): Promise<readonly IndexedEvent[]> {
  if (item.kind !== "events") return Promise.resolve(NO_EVENTS);
  const { from, stream } = item;
  const to = Math.min(item.to, from + limits.feedPageMax);
  // At least one byte: that brings one event, which shows that a page is full.
  const bytesMax = Math.min(page.bytesMax - draft.bytes + 1, STREAM_BYTES_MAX);
  return readEvents(tx, tenant, stream, { from, to, bytesMax });
}

function addItem(
  { page, draft }: Reading,
  item: Item,
  events: readonly IndexedEvent[],
): void {
  const { position } = item;
  if (item.kind === "passed") {
    draft.at = position;
    return;
  }
  if (item.kind === "erased") {
    draft.erased.push({ key: item.stream, cursor: formatCursor(position, page.check) });
    draft.at = position;
    return;
  }
  assert(events.length > 0, "the events that the log names are there");
  for (const [number, { index, raw, hash, bytes }] of events.entries()) {
    draft.lookedAtEvents++;
    draft.lookedAtBytes += bytes;
    const isWanted = item.eventTypes?.has(typeOfEvent(raw)) ?? true;
    const isBeyond = draft.entries.length > 0 && draft.bytes + bytes > page.bytesMax;
    if (isWanted && isBeyond) {
      draft.isFull = true;
      return;
    }
    const at = { ...position, offset: position.offset + number };
    if (isWanted) {
      const cursor = formatCursor(at, page.check);
      draft.entries.push({ cursor, key: item.stream, id: eventId(index), hash, raw });
      draft.bytes += bytes;
    }
    draft.at = at;
    if (draft.entries.length === page.limit) {
      draft.isFull = true;
      return;
    }
  }
  // What is missing is for the next page.
  if (events.length < item.to - item.from) draft.isFull = true;
  if (draft.lookedAtEvents >= LOOKED_AT_EVENTS_MAX) draft.isFull = true;
  if (draft.lookedAtBytes >= LOOKED_AT_BYTES_MAX) draft.isFull = true;
}
