/**
 * Implied events that are written in the transaction of their trigger, instead of leaving an entry
 * in the outbox for a second one. Decisions, section 11: readers see no difference, and what one
 * transaction does is there once; it costs less.
 *
 * Only what cannot fail and sets nothing off itself goes this way (`prepare_reactions.ts`), and
 * only while nobody writes to its stream: a transaction that runs again, for whatever reason, uses
 * the outbox. So an implied event never delays its trigger, and never keeps it from being written.
 */

import { encodeEvent, encodeMetadata } from "../domain/event.ts";
import { impliedStamp, type OutboxPlace } from "../domain/reaction/outbox_entry.ts";
import type { StreamKey } from "../domain/stream_key.ts";
import type { Transaction } from "../kv/engine.ts";
import type { StreamAppender } from "../store/streams.ts";
import type { WatchedTypes } from "../store/watched_types.ts";
import { appendEvents } from "./append_events.ts";
import type { PreparedEntry, PreparedWrite } from "./prepared_write.ts";

/** Streams of implied events that one transaction has beside those of its writes, at most. */
const STREAMS_MAX = 320;
const MS_PER_SECOND = 1000;

export const NO_STREAMS: ReadonlySet<StreamKey> = new Set();

/** Streams to which a transaction may still append what its writes imply, opened. */
export type DirectStreams = Map<StreamKey, StreamAppender>;

/**
 * For each group of writes, the streams to which it may append what its writes imply: not one that
 * is `taken`, where something is being written or waits to be, and none of two groups.
 */
export function directStreamsOf(
  groups: readonly (readonly PreparedWrite[])[],
  taken: () => Set<StreamKey>,
): ReadonlySet<StreamKey>[] {
  let used: Set<StreamKey> | undefined;
  return groups.map((group) => {
    let own: Set<StreamKey> | undefined;
    for (const { directStreams } of group) {
      if (directStreams === undefined) continue;
      used ??= taken();
      own ??= new Set();
      for (const stream of directStreams) {
        if (own.size === STREAMS_MAX || used.has(stream)) continue;
        own.add(stream);
      }
    }
    for (const stream of own ?? []) used!.add(stream);
    return own ?? NO_STREAMS;
  });
}

/**
 * Writes the event of an entry, where that may be. False where it is for the outbox, and then so is
 * all that follows it to the same stream: nothing overtakes it.
 */
export function appendDirect(
  tx: Transaction,
  streams: DirectStreams,
  watched: WatchedTypes,
  place: OutboxPlace,
  { entry, direct, sinceMs }: PreparedEntry,
): boolean {
  const { emission } = entry;
  const stream = streams.get(emission.key);
  if (stream === undefined) return false;
  const name = `${emission.aggregateType}.${emission.eventType}`;
  if (direct === undefined || watched.cancels.has(name) || watched.sagas.has(name)) {
    streams.delete(emission.key);
    return false;
  }
  const timestamp = Math.floor(sinceMs / MS_PER_SECOND);
  const { type, dataJson, geo } = direct;
  const metadata = encodeMetadata({ ...impliedStamp(place, entry), timestamp, geo });
  const event = encodeEvent(emission.key, type, dataJson, metadata, geo);
  appendEvents(tx, place.tenant, stream, emission, [event], timestamp);
  return true;
}
