/**
 * Decides when waiting writes are committed, and which of them together.
 *
 * Much of a commit's cost is the same for one write as for many. Clients that wait for their
 * answers tend to split into parts: while one part is on its way to the disk or the cluster, the
 * next one is prepared, each pays for a commit of its own, and nothing ever merges them. So the
 * next commit waits until as many writes are there as there were writers around the last one. If
 * no write arrives, it waits only for a moment. If a wait was in vain, some of the next commits do
 * not wait at all.
 */

import type { StreamKey } from "../../domain/identifier.ts";
import { limits } from "../../domain/limits.ts";
import type { Outcome } from "../../domain/refusal.ts";
import type { Written } from "../../domain/write/write.ts";
import type { PreparedWrite } from "./prepared_write.ts";
import { TextMap, type Texts } from "../../domain/lookup/text_map.ts";

export interface Gathering {
  /** A transaction with this many writes begins. */
  begin(writes: number): void;
  /** That transaction has ended; `waiting` other writes are waiting. */
  end(writes: number, waiting: number): void;
  /**
   * Called in a turn of the event loop. Answers whether to commit the waiting writes, to look
   * again in the next turn, or to look again when a write is submitted, a transaction ends or
   * {@link CHANGE_MS_MAX} have passed.
   * @param askedMs when this look was asked for, one turn before.
   */
  look(waiting: Waiting, askedMs: number): "commit" | "next_turn" | "next_change";
}

export interface Waiting {
  readonly writes: number;
  /** Stored size of their events. */
  readonly bytes: number;
}

/**
 * With this many writers, each one's share of a commit is small, and waiting longer does not
 * pay.
 */
const WRITERS_MAX = 128;
/** This much is worth a commit of its own: writing it takes longer than gathering could save. */
const BYTES_MAX = 256 * 1024;
/**
 * Milliseconds without a new write, in all, after which a commit takes the writes that are
 * there.
 */
const IDLE_MS_MAX = 0.4;
/** The same in turns, for a clock that stands still. */
const IDLE_TURNS_MAX = 300;
/**
 * Milliseconds of one turn after which nothing is waited for: whoever could come in that time has
 * come, and the next turn may be as long.
 */
const LONG_TURN_MS = 10;
/**
 * Milliseconds that writes wait for running transactions to end. There may always be one running:
 * other tenants' are counted too, and some are large.
 */
export const CHANGE_MS_MAX = 10;
/**
 * The most commits that skip waiting. After 1, 2, 3 waits in vain in a row, 1, 3, 7 commits
 * skip it, and so on.
 */
const SKIPPED_MAX = 31;

/** What arrived since a commit began to wait. */
interface Wait {
  readonly from: number;
  waiting: number;
  lookedMs: number;
  idleMs: number;
  idleTurns: number;
}

/** @param nowMs a monotonic clock, in milliseconds. */
export function openGathering(nowMs: () => number): Gathering {
  /** Writes in running transactions. */
  let underWay = 0;
  /** The highest number of writers seen since the last commit began. */
  let expected = 1;
  let isOutdated = false;
  let wait: Wait | undefined;
  /** When the writes that wait were first looked at beside a running transaction. */
  let besideMs: number | undefined;
  let skipped = 0;
  let toSkip = 0;

  function commit(): "commit" {
    wait = undefined;
    besideMs = undefined;
    isOutdated = true;
    return "commit";
  }

  /** Whether the commit has waited long enough, now that this many writes are there. */
  function isIdle(waiting: number): boolean {
    const now = nowMs();
    wait ??= { from: waiting, waiting, lookedMs: now, idleMs: 0, idleTurns: 0 };
    if (waiting === wait.waiting) {
      wait.idleMs += now - wait.lookedMs;
      wait.idleTurns++;
    }
    wait.waiting = waiting;
    wait.lookedMs = now;
    return wait.idleMs >= IDLE_MS_MAX || wait.idleTurns > IDLE_TURNS_MAX;
  }

  function noteWait({ from, waiting }: Wait): void {
    skipped = waiting > from ? 0 : Math.min(2 * skipped + 1, SKIPPED_MAX);
    toSkip = skipped;
  }

  return {
    begin(writes) {
      underWay += writes;
    },
    end(writes, waiting) {
      const writers = Math.min(underWay + waiting, WRITERS_MAX);
      expected = isOutdated ? writers : Math.max(expected, writers);
      isOutdated = false;
      underWay -= writes;
    },
    look({ writes: waiting, bytes }, askedMs) {
      if (bytes >= BYTES_MAX) return commit();
      if (nowMs() - askedMs >= LONG_TURN_MS) return commit();
      if (waiting >= expected) {
        skipped = toSkip = 0;
        return commit();
      }
      if (underWay > 0) {
        const now = nowMs();
        besideMs ??= now;
        return now - besideMs < CHANGE_MS_MAX ? "next_change" : commit();
      }
      if (toSkip > 0) {
        toSkip--;
        return commit();
      }
      if (!isIdle(waiting)) return "next_turn";
      noteWait(wait!);
      return commit();
    },
  };
}

/** Writes that share one transaction at most. */
const GROUP_WRITES_MAX = 500;
/** Streams that share one transaction at most: a conflict on one reruns it for all of them. */
const GROUP_STREAMS_MAX = 64;
/** Stored bytes of events that share one transaction at most; a larger write goes alone. */
const GROUP_BYTES_MAX = limits.writeStoredBytesMax / 4;

/** Writes that share a transaction; those to one stream are adjacent and in order. */
export interface WriteGroup {
  readonly writes: WaitingWrite[];
  /** The streams of the writes, each once. */
  readonly streams: StreamKey[];
}

/** A write that waits for its transaction. */
export interface WaitingWrite {
  readonly stream: StreamKey;
  readonly write: PreparedWrite;
  readonly resolve: (outcome: Outcome<Written>) => void;
  readonly reject: (error: unknown) => void;
}

/** The writes to one stream that can start now. */
interface Taken {
  readonly stream: StreamKey;
  readonly waiting: WaitingWrite[];
  bytes: number;
  isFull: boolean;
}

function hasRoom({ waiting, bytes, isFull }: Taken, write: PreparedWrite, max: number): boolean {
  if (isFull || waiting.length >= max) return false;
  return bytes === 0 || bytes + write.bytes <= GROUP_BYTES_MAX;
}

/** How much is taken at once. */
export interface GroupLimits {
  readonly groupsMax?: number;
  /** In each group. Default: 500. */
  readonly writesMax?: number;
}

/**
 * Takes the writes that can start now: all that wait for streams that are not being written, up
 * to one group per stream, and so many groups at most. The others stay in their order.
 */
export function takeGroups(
  waiting: readonly WaitingWrite[],
  busy: Texts<StreamKey>,
  { groupsMax = Infinity, writesMax = GROUP_WRITES_MAX }: GroupLimits = {},
): { readonly groups: readonly WriteGroup[]; readonly staying: WaitingWrite[] } {
  const byStream = new TextMap<Taken, StreamKey>();
  const staying: WaitingWrite[] = [];
  for (const one of waiting) {
    const { stream, write } = one;
    const taken = byStream.get(stream);
    if (busy.has(stream)) {
      staying.push(one);
    } else if (taken === undefined) {
      byStream.set(stream, { stream, waiting: [one], bytes: write.bytes, isFull: false });
    } else if (hasRoom(taken, write, writesMax)) {
      taken.waiting.push(one);
      taken.bytes += write.bytes;
    } else {
      // A full stream takes no later write either, because that would change their order.
      taken.isFull = true;
      staying.push(one);
    }
  }
  const groups = joinStreams(byStream.values(), writesMax);
  if (groups.length <= groupsMax) return { groups, staying };
  const first = groups.slice(0, groupsMax);
  const started = new Set(first.flatMap(({ writes }) => writes));
  return { groups: first, staying: waiting.filter((one) => !started.has(one)) };
}

/** Joins the writes of several streams while they fit into one group. */
function joinStreams(streams: Iterable<Taken>, writesMax: number): WriteGroup[] {
  const groups: WriteGroup[] = [];
  let room = { streams: 0, writes: 0, bytes: 0 };
  for (const { stream, waiting, bytes } of streams) {
    const fits = room.streams > 0 && room.writes >= waiting.length && room.bytes >= bytes;
    if (!fits) {
      room = { streams: GROUP_STREAMS_MAX, writes: writesMax, bytes: GROUP_BYTES_MAX };
      groups.push({ writes: [], streams: [] });
    }
    const group = groups.at(-1)!;
    group.writes.push(...waiting);
    group.streams.push(stream);
    room.streams--;
    room.writes -= waiting.length;
    room.bytes -= bytes;
  }
  return groups;
}
