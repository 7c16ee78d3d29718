/**
 * Tells whether cached states are still current where other processes write too. Whatever changes
 * a stream is in the commit log of its environment, so one read of what is new in the log answers
 * for all states that were asked for before it began.
 *
 * A mark is taken before the head of a stream is read, and stands until the log tells of that
 * stream. The head is not older than the part of the log that was known then, so what is new in
 * the log contains everything that the head does not. A mark that stands after a read of the log
 * which began after a request says that the state is what the request would find.
 *
 * Nothing is new in the log of a store that is still at the version of the last read.
 */

import { createRecentMap } from "../../domain/recent_map.ts";
import type { LogPlace } from "../../domain/feed/place.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { Engine, ReadTransaction } from "../../kv/engine.ts";
import { lastLogPlace, type LogRecord, readLogBehind } from "../../store/feed/commit_log.ts";
import { TextMap } from "../../domain/lookup/text_map.ts";

/** If more is new in the log, it costs more to read than the heads of some streams. */
const RECORDS_MAX = 64;
/** After that much was new, heads are read for so long. */
const PAUSE_MS = 1_000;
/** Reads of one log at a time. Who asks then waits until one ends, so that many share the next. */
const READS_MAX = 2;
/** Requests that come at longer intervals are answered as fast by the heads of their streams. */
const INTERVAL_MS_MAX = 0.5;
/** An interval counts as no longer than this, so that a pause is soon forgotten. */
const PAUSE_COUNTED_MS_MAX = 10;
/** The weight of the last interval in their average. */
const INTERVAL_WEIGHT = 1 / 16;
const ENVIRONMENTS_MAX = 1_000;
const MARKS_MAX = 50_000;

/** Stands for a stream to which nothing has happened. */
export interface Mark {
  readonly follower: Follower;
  isGone: boolean;
}

/** How far the log of an environment is known. */
interface Follower {
  readonly tenant: number;
  place: LogPlace;
  /** The version of the store up to which everything in the log is known. */
  version: bigint;
  /** Whether the last read found the store at a later one. */
  hasMoved: boolean;
  readonly marks: TextMap<Mark>;
  /** Too much was new, or the log was cleared: its marks say nothing. */
  isOver: boolean;
  /** The reads of the log that are under way. */
  readonly reading: Set<Promise<void>>;
  /** A read of the log that has not begun. */
  next: Catching | undefined;
  /** When somebody asked last, and the average interval until then. */
  askedMs: number;
  intervalMs: number;
}

/** A read of the log for everybody who asks before it begins. */
interface Catching {
  /** Resolves when the marks are up to date. */
  end: Promise<void>;
}

const NOT_BEGUN = Promise.resolve();

export interface LogMarks {
  /** To be called before the head of the stream is read. Undefined: nothing can be said. */
  mark(tenant: number, stream: StreamKey): Mark | undefined;
  /** Whether nothing has happened to the stream between the mark and this call. */
  stands(mark: Mark): Promise<boolean>;
}

/** For a store that no other process writes to: `durableVersion()` says more. */
const NO_MARKS: LogMarks = { mark: () => undefined, stands: () => Promise.resolve(false) };

/** @param nowMs a monotonic clock, in milliseconds. */
export function openLogMarks(engine: Engine, nowMs: () => number): LogMarks {
  if (!engine.capabilities.isShared) return NO_MARKS;
  const followers = createRecentMap<number, Follower>(ENVIRONMENTS_MAX);
  /** When an environment may be followed again. */
  const pauses = createRecentMap<number, number>(ENVIRONMENTS_MAX);

  /** The environments whose last place in the log is being read. */
  const starting = new Set<number>();

  async function start(tenant: number): Promise<void> {
    starting.add(tenant);
    const place = await engine.snapshot((tx) => lastLogPlace(tx, tenant))
      .finally(() => starting.delete(tenant));
    if (place === undefined) return;
    followers.set(tenant, {
      tenant,
      place,
      version: 0n,
      hasMoved: true,
      marks: new TextMap(),
      isOver: false,
      reading: new Set(),
      next: undefined,
      askedMs: nowMs(),
      intervalMs: 0,
    });
  }

  function mark(tenant: number, stream: StreamKey): Mark | undefined {
    const follower = followers.get(tenant);
    if (follower === undefined || follower.isOver) {
      const now = nowMs();
      if (starting.has(tenant) || (pauses.get(tenant) ?? -Infinity) > now) return undefined;
      pauses.set(tenant, now + PAUSE_MS);
      // If the store is away, the request that asks will find that itself.
      start(tenant).catch(() => {});
      return undefined;
    }
    let mark = follower.marks.get(stream);
    if (mark === undefined) {
      if (follower.marks.size >= MARKS_MAX) dropOldest(follower.marks);
      follower.marks.set(stream, mark = { follower, isGone: false });
    }
    return mark;
  }

  async function stands(mark: Mark): Promise<boolean> {
    const { follower } = mark;
    if (mark.isGone || follower.isOver) return false;
    noteAsked(follower, nowMs());
    const isAlone = follower.intervalMs > INTERVAL_MS_MAX && follower.reading.size === 0;
    if (isAlone) return false;
    await (follower.next ??= catchUp(follower)).end;
    return !mark.isGone && !follower.isOver;
  }

  function catchUp(follower: Follower): Catching {
    const { reading } = follower;
    const catching: Catching = { end: NOT_BEGUN };
    const isFree = reading.size < READS_MAX;
    catching.end = (isFree ? NOT_BEGUN : Promise.race(reading)).then(() => {
      const read = readNews(follower, catching);
      const ended = read.catch(() => {});
      reading.add(ended);
      void ended.then(() => reading.delete(ended));
      return read;
    });
    return catching;
  }

  async function readNews(follower: Follower, catching: Catching): Promise<void> {
    function begin(): void {
      if (follower.next === catching) follower.next = undefined;
    }
    try {
      await engine.snapshot((tx) => {
        // Whoever asks from now on needs a later read.
        begin();
        return followLog(tx, follower);
      });
    } finally {
      begin();
    }
  }

  async function followLog(tx: ReadTransaction, follower: Follower): Promise<void> {
    const { tenant, place, hasMoved } = follower;
    const read = () => readLogBehind(tx, tenant, place, RECORDS_MAX);
    // While others write, the log is asked for together with the version.
    const [version, asked] = await Promise.all([tx.readVersion(), hasMoved ? read() : undefined]);
    follower.hasMoved = version > follower.version;
    if (!follower.hasMoved) return;
    const { isKept, records } = asked ?? await read();
    if (!isKept || records.length === RECORDS_MAX) return end(follower);
    for (const record of records) note(follower, record);
    if (version > follower.version) follower.version = version;
  }

  function end(follower: Follower): void {
    follower.isOver = true;
    follower.marks.clear();
    pauses.set(follower.tenant, nowMs() + PAUSE_MS);
  }

  return { mark, stands };
}

function dropOldest(marks: TextMap<Mark>): void {
  for (const [stream, mark] of marks) {
    mark.isGone = true;
    marks.delete(stream);
    return;
  }
}

function noteAsked(follower: Follower, nowMs: number): void {
  const interval = Math.min(nowMs - follower.askedMs, PAUSE_COUNTED_MS_MAX);
  follower.askedMs = nowMs;
  follower.intervalMs += (interval - follower.intervalMs) * INTERVAL_WEIGHT;
}

/** Reads of the log may end in another order than they began: the place only moves on. */
function note(follower: Follower, { place, entries }: LogRecord): void {
  const { marks } = follower;
  for (const { stream } of entries) {
    const mark = marks.get(stream);
    if (mark === undefined) continue;
    mark.isGone = true;
    marks.delete(stream);
  }
  if (place > follower.place) follower.place = place;
}
