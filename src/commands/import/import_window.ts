/**
 * A window: the next lines of an import, checked, with their events put together by stream. It is
 * what is stored before the next is looked at.
 */

import type { ImportedEvent } from "../../domain/import/check_event.ts";
import type { FilePlace } from "../../domain/import/progress.ts";
import type { EncodedEvent } from "../../domain/event.ts";
import type { CompiledAggregateType } from "../../domain/spec/compiled.ts";
import type { StreamKey } from "../../domain/stream_key.ts";
import { EVENT_OVERHEAD_BYTES } from "../../store/segment.ts";

/** Events of one stream, in the order of the file. */
export interface WindowStream {
  readonly key: StreamKey;
  readonly aggregateType: string;
  readonly id: string;
  readonly owner: CompiledAggregateType;
  readonly events: EncodedEvent[];
  /** Unix seconds, and the line, of each. */
  readonly timestamps: number[];
  readonly lines: number[];
  /** Whether modules judge any of them. */
  isJudged: boolean;
}

export interface ImportWindow {
  /** In the order of their keys: so those that are stored together lie side by side. */
  readonly streams: readonly WindowStream[];
  readonly events: number;
  /** Where it ends. */
  readonly end: FilePlace;
  readonly lines: number;
  /** Whether the file ends there too. */
  readonly isLast: boolean;
}

export interface OpenWindow {
  /** What storing it would take, about. */
  readonly bytes: number;
  add(event: ImportedEvent, line: number): void;
  close(end: FilePlace, lines: number, isLast: boolean): ImportWindow;
}

/**
 * What a stream adds to a transaction, at most about: head, segment, place in the index, newest
 * point, guards and the log of commits, each with its key.
 */
export const STREAM_OVERHEAD_BYTES = 1_500;

export function openWindow(): OpenWindow {
  const streams = new Map<StreamKey, WindowStream>();
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

/** Some events of one stream of a window, from the one at `from` on, up to that at `to`. */
export interface WindowSlice {
  readonly stream: WindowStream;
  readonly from: number;
  readonly to: number;
}

/**
 * The events of a window after its first `done`, in pieces that take about `bytesMax` each. In the
 * order of the streams, which follows from the lines alone: a rerun finds the same.
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
