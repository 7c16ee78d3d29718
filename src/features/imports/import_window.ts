/**
 * Owns a window: the next lines of an import, checked, with their events grouped by stream. A
 * window is stored before the next one is begun.
 */

import type { ImportedEvent } from "../../domain/import/check_event.ts";
import type { FilePlace } from "../../domain/import/progress.ts";
import type { EncodedEvent } from "../../domain/event.ts";
import type { CompiledAggregateType } from "../../domain/spec/compiled.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import { EVENT_OVERHEAD_BYTES } from "../../store/streams/stream_head.ts";
import { TextMap } from "../../domain/lookup/text_map.ts";

/** Events of one stream, in file order. */
export interface WindowStream {
  readonly key: StreamKey;
  readonly aggregateType: string;
  readonly id: string;
  readonly owner: CompiledAggregateType;
  readonly events: EncodedEvent[];
  /** For each event: its Unix time in seconds, and its line. */
  readonly timestamps: number[];
  readonly lines: number[];
  /** Whether modules judge any of the events. */
  isJudged: boolean;
}

export interface ImportWindow {
  /** Sorted by key, so that streams stored together are adjacent. */
  readonly streams: readonly WindowStream[];
  readonly events: number;
  /** The place in the file where the window ends. */
  readonly end: FilePlace;
  readonly lines: number;
  /** Whether the file ends there as well. */
  readonly isLast: boolean;
}

export interface OpenWindow {
  /** The approximate number of bytes that storing the window takes. */
  readonly bytes: number;
  add(event: ImportedEvent, line: number): void;
  close(end: FilePlace, lines: number, isLast: boolean): ImportWindow;
}

/**
 * An upper estimate of what a stream adds to a transaction: head, segment, index entry, newest
 * point, guards and commit log, each with its key.
 */
export const STREAM_OVERHEAD_BYTES = 1_500;

export function openWindow(): OpenWindow {
  const streams = new TextMap<WindowStream, StreamKey>();
  let bytes = 0;
  let events = 0;
  return {
    get bytes() {
      return bytes;
    },
    add({ key, aggregateType, id, event, timestamp, owner, isJudged }, line) {
      let stream = streams.get(key);
      if (stream === undefined) {
        const none = { events: [], timestamps: [], lines: [], isJudged: false };
        stream = { key, aggregateType, id, owner, ...none };
        streams.set(key, stream);
        bytes += STREAM_OVERHEAD_BYTES;
      }
      stream.events.push(event);
      stream.timestamps.push(timestamp);
      stream.lines.push(line);
      if (isJudged) stream.isJudged = true;
      bytes += event.bytes + EVENT_OVERHEAD_BYTES;
      events++;
    },
    close(end, lines, isLast) {
      const sorted = [...streams.values()].sort((one, other) => one.key < other.key ? -1 : 1);
      return { streams: sorted, events, end, lines, isLast };
    },
  };
}

/** Events of one stream of a window, from index `from` up to but not including `to`. */
export interface WindowSlice {
  readonly stream: WindowStream;
  readonly from: number;
  readonly to: number;
}

/**
 * The events of a window after its first `done`, in slices of about `bytesMax` each. The order
 * depends on the lines alone, so a rerun cuts the same slices.
 */
export function* cutWindow(
  { streams }: ImportWindow,
  done: number,
  bytesMax: number,
): Generator<WindowSlice[]> {
  let piece: WindowSlice[] = [];
  let bytes = 0;
  let skip = done;
  for (const stream of streams) {
    const { events } = stream;
    let from = Math.min(skip, events.length);
    skip -= from;
    for (let to = from; to < events.length; to++) {
      if (to === from) bytes += STREAM_OVERHEAD_BYTES;
      bytes += events[to]!.bytes + EVENT_OVERHEAD_BYTES;
      if (bytes < bytesMax) continue;
      yield [...piece, { stream, from, to: to + 1 }];
      [piece, bytes, from] = [[], 0, to + 1];
    }
    if (from < events.length) piece.push({ stream, from, to: events.length });
  }
  if (piece.length > 0) yield piece;
}
