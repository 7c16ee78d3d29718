/**
 * Reads what an environment has become since an export has seen it, from the commit log: which
 * events came to which streams. It takes one transaction. If that reaches the end of the log, the
 * transaction also reads what the log does not tell, the specs and the pending work, so that all
 * of it belongs to one moment.
 */

import type { LogPlace } from "../../domain/feed/place.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { type LogRecord, readLog } from "../../store/feed/commit_log.ts";
import { BEFORE_COMMITS, isFeedPrepared, logEnd } from "../../store/feed/fill.ts";
import { isListedAfter } from "../../store/streams/aggregates.ts";
import type { StreamHead } from "../../store/streams/stream_head.ts";
import { readHead } from "../../store/streams/streams.ts";
import {
  type Delta,
  ExportDisturbed,
  readSpecState,
  rewritten,
  type SpecState,
} from "./read_streams.ts";
import { scanWork, type SegmentLimits, WORK_BEGIN, type WorkSegment } from "./scan_work.ts";
import { TextMap } from "../../domain/lookup/text_map.ts";

/**
 * What one transaction of the first round has seen: the streams up to `last` in the order of the
 * listing (behind those of the part before), as they were at a place of the log.
 */
export interface SeenPart {
  /** Undefined for the last part, which has all streams that are left. */
  readonly last: StreamKey | undefined;
  readonly place: LogPlace;
}

export interface ChangesStart {
  readonly tenant: number;
  /** What is logged up to here is in the file. */
  readonly after: LogPlace;
  /** In order. Some streams were seen later than at `after`. */
  readonly seen: readonly SeenPart[];
  readonly limits: SegmentLimits;
}

export interface Changes {
  /** The version of the store that was read. */
  readonly version: bigint;
  readonly deltas: readonly Delta[];
  /** How far the log was read, and where it ended. */
  readonly place: LogPlace;
  readonly end: LogPlace;
  /** Set if the log was read to its end. */
  readonly rest: RestOfMoment | undefined;
}

/** What the log does not tell. */
export interface RestOfMoment {
  readonly specs: SpecState;
  /** As far as the transaction could read it. */
  readonly work: WorkSegment;
}

/** Bytes of the log that are read at a time. Few records may name thousands of streams. */
const LOG_PAGE_BYTES = 64 * 1024;

/** New events of streams: from one index up to another, by stream. */
type Grown = TextMap<{ readonly from: number; readonly to: number }, StreamKey>;

/**
 * @throws {ExportDisturbed} if a stream was rewritten that the file has, or if nothing is logged.
 */
export function readChanges(
  engine: Engine,
  host: Host,
  { tenant, after, seen, limits }: ChangesStart,
): Promise<Changes> {
  return engine.snapshot(async (tx) => {
    const endMs = host.nowMs() + limits.milliseconds;
    const [version, end] = await Promise.all([tx.readVersion(), logEnd(tx, tenant)]);
    if (end === BEFORE_COMMITS && !await isFeedPrepared(tx)) throw notLogged();
    const grown: Grown = new TextMap();
    /** Of the streams that have grown, in the same order. */
    const heads: StreamHead[] = [];
    let place = after;
    // One page at least, so that each transaction gets on, however slow the store is.
    do {
      const page = { after: place, limit: limits.batch, bytesMax: LOG_PAGE_BYTES };
      const records = await readLog(tx, tenant, page);
      const fresh = records.flatMap((record) => addRecord(grown, record, seen));
      heads.push(...await Promise.all(fresh.map((key) => readHead(tx, tenant, key))));
      place = records.at(-1)?.place ?? place;
    } while (place < end && grown.size <= limits.heads && host.nowMs() < endMs);
    const deltas = [...grown].map(([key, span], at) => ({ key, head: heads[at]!, ...span }));
    const rest = place < end ? undefined : {
      specs: await readSpecState(tx, tenant),
      work: await scanWork(tx, host, tenant, { place: WORK_BEGIN, limits, endMs }),
    };
    return { version, deltas, place, end, rest };
  });
}

/** Nodes of a build from before the log write events that it does not tell. */
function notLogged(): ExportDisturbed {
  return new ExportDisturbed(
    "The store has no log of commits yet: the first server of this build makes it when it " +
      "starts. Start one, or stop all writers, and run the export again",
  );
}

/** Adds what the record says of the streams. Returns those that had not grown before. */
function addRecord(
  grown: Grown,
  { place, entries }: LogRecord,
  seen: readonly SeenPart[],
): StreamKey[] {
  const fresh: StreamKey[] = [];
  const isSeenByNone = place > seen.at(-1)!.place;
  for (const entry of entries) {
    const { kind, stream } = entry;
    // A stream that was touched has no new event.
    if (kind === "touched" || (!isSeenByNone && place <= seenAt(seen, stream))) continue;
    const span = grown.get(stream);
    if (kind === "erased") {
      // If its first event is not written yet, all are written as the markers that they became.
      if (span?.from !== 0) throw rewritten(stream);
      continue;
    }
    const { first, count } = entry;
    if (span === undefined) fresh.push(stream);
    else if (span.to !== first) {
      throw new Error(`The store is damaged: the log lacks events of ${stream} from ${span.to} on`);
    }
    grown.set(stream, { from: span?.from ?? first, to: first + count });
  }
  return fresh;
}

/** Where the log ended when the first round has seen the stream. */
function seenAt(seen: readonly SeenPart[], stream: StreamKey): LogPlace {
  let low = 0;
  let high = seen.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isListedAfter(stream, seen[middle]!.last!)) low = middle + 1;
    else high = middle;
  }
  return seen[low]!.place;
}
