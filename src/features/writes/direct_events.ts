/**
 * Writes implied events in the transaction of their trigger instead of through the outbox.
 * Readers see no difference, and the single transaction keeps the effect exactly once; it is
 * only cheaper. See docs/reference/reactions.md.
 *
 * Only events that cannot fail and set nothing off themselves go this way
 * (`prepare_reactions.ts`), and only while nobody writes to their stream. A transaction that
 * has to run again, for whatever reason, uses the outbox. So an implied event never delays its
 * trigger and never prevents it from being written.
 */

import { encodeEvent, encodeMetadata } from "../../domain/event.ts";
import { impliedStamp, type OutboxPlace } from "../../domain/reaction/outbox_entry.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { StreamAppender } from "../../store/streams/streams.ts";
import type { WatchedTypes } from "../../store/reactions/watched_types.ts";
import type { PreparedEntry, PreparedWrite } from "./prepared_write.ts";
import { type TextMap, type Texts, TextSet } from "../../domain/lookup/text_map.ts";

/** Streams that one transaction opens for direct events at most, besides those of its writes. */
const STREAMS_MAX = 320;
const MS_PER_SECOND = 1000;

export const NO_STREAMS: Texts<StreamKey> = new TextSet();

/** Streams to which implied events may go directly, but only in the first run. */
export interface DirectRuns {
  readonly streams: Texts<StreamKey>;
  runs: number;
}

/** Open streams to which a transaction may still append implied events directly. */
export type DirectStreams = TextMap<StreamAppender, StreamKey>;

/**
 * Picks, for each group of writes, the streams to which it may append implied events directly.
 * No stream is picked twice, and none that is `taken`, that is, being written or waited for.
 */
export function directStreamsOf(
  groups: readonly (readonly PreparedWrite[])[],
  taken: () => TextSet<StreamKey>,
): Texts<StreamKey>[] {
  let used: TextSet<StreamKey> | undefined;
  return groups.map((group) => {
    let own: TextSet<StreamKey> | undefined;
    for (const { directStreams } of group) {
      if (directStreams === undefined) continue;
      used ??= taken();
      own ??= new TextSet();
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
 * Writes the event of an entry directly if it may, and returns its index. Undefined if it has to
 * go to the outbox; then every later event for the same stream goes there too, so nothing overtakes
 * it.
 */
export function appendDirect(
  streams: DirectStreams,
  watched: WatchedTypes,
  place: OutboxPlace,
  { entry, direct, sinceMs }: PreparedEntry,
): number | undefined {
  const { emission } = entry;
  const stream = streams.get(emission.key);
  if (stream === undefined) return undefined;
  const name = `${emission.aggregateType}.${emission.eventType}`;
  if (direct === undefined || watched.cancels.has(name) || watched.sagas.has(name)) {
    streams.delete(emission.key);
    return undefined;
  }
  const timestamp = Math.floor(sinceMs / MS_PER_SECOND);
  const { type, dataJson, geo } = direct;
  const metadata = encodeMetadata({ ...impliedStamp(place, entry), timestamp, geo });
  const event = encodeEvent({ key: emission.key, type, dataJson, metadataJson: metadata, geo });
  return stream.append([event], timestamp);
}
