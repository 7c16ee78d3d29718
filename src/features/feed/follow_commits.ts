/**
 * Tells live readers in this process of new commits. However many follow an environment, its log
 * is looked at once in every few milliseconds, and only if the store may have changed.
 */

import { openFairLine } from "../../domain/fairness/fair_line.ts";
import { READ_STEPS_MAX } from "../../domain/fairness/owner_gate.ts";
import { openPieces, PIECE_MS_MAX, readySteps, type Turns } from "../../domain/fairness/pieces.ts";
import { FEED_START, type LogPlace } from "../../domain/feed/place.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { lastLogPlace, type LogRecord, readLog } from "../../store/feed/commit_log.ts";
import { TextMap, TextSet } from "../../domain/lookup/text_map.ts";

/** Waits for commits. Call `end` when nobody waits any more. */
export interface Follower {
  /**
   * Resolves when something was committed since the follower began or since the last call. So
   * begin first, then read, then wait: nothing is missed. Never resolves once it has ended.
   */
  changed(): Promise<void>;
  end(): void;
}

export interface CommitFollowers {
  /** `stream`: wakes only for commits to that stream. */
  follow(tenant: number, stream?: StreamKey): Follower;
  /** What the followers of an environment were told of; undefined if it has none. */
  seen(tenant: number): Seen | undefined;
  /** How many followers there are. */
  count(): number;
}

/** The pause between two looks: for a store with one owner, and for a shared one. */
const OWN_LOOK_MS = 10;
const SHARED_LOOK_MS = 50;
/** So many followers go on in one turn, or as many as fit into its piece. */
const WOKEN_PER_TURN = 32;
const RECORDS_AT_ONCE = 256;
const BYTES_AT_ONCE = 128 * 1024;

/** What followers were told of. */
export interface Seen {
  /** Grows with each change. */
  readonly changes: number;
  /** How far the log was looked at; undefined before the first look. */
  readonly place: LogPlace | undefined;
}

interface Waiter {
  isChanged: boolean;
  wake: (() => void) | undefined;
}

/** The followers of one environment. */
interface Followed extends Seen {
  place: LogPlace | undefined;
  changes: number;
  readonly all: Set<Waiter>;
  readonly byStream: TextMap<Set<Waiter>, StreamKey>;
  count: number;
}

type Parts = Turns & Pick<Host, "startTimer">;

export function openCommitFollowers(engine: Engine, host: Parts): CommitFollowers {
  const followed = new Map<number, Followed>();
  const lookMs = engine.capabilities.isShared ? SHARED_LOOK_MS : OWN_LOOK_MS;
  const goOnInTurn = openWakes(host);
  let isLooking = false;
  let seenVersion: number | undefined;
  let total = 0;
  /** Never the same for two changes, also if the environment had no followers in between. */
  let changes = 0;

  async function lookOn(): Promise<void> {
    while (followed.size > 0) {
      await new Promise<void>((resolve) => host.startTimer(lookMs, resolve));
      const version = engine.durableVersion();
      if (version !== undefined && version === seenVersion) continue;
      const pieces = openPieces(host);
      try {
        for (const [tenant, one] of followed) {
          await lookAt(engine, tenant, one, () => ++changes);
          await pieces.rest();
        }
        seenVersion = version;
      } catch {
        // The store is unavailable, as its readers hear themselves. The next look tries again.
      }
    }
    isLooking = false;
    seenVersion = undefined;
  }

  function placeOf(tenant: number): Followed {
    const before = followed.get(tenant);
    if (before !== undefined) return before;
    const one = {
      place: undefined,
      changes: ++changes,
      all: new Set<Waiter>(),
      byStream: new TextMap<Set<Waiter>, StreamKey>(),
      count: 0,
    };
    followed.set(tenant, one);
    // A look under way has perhaps passed this environment.
    seenVersion = undefined;
    if (!isLooking) {
      isLooking = true;
      void lookOn();
    }
    return one;
  }

  function follow(tenant: number, stream?: StreamKey): Follower {
    const one = placeOf(tenant);
    const waiter: Waiter = { isChanged: false, wake: undefined };
    const waiters = stream === undefined ? one.all : one.byStream.get(stream) ?? new Set();
    if (stream !== undefined) one.byStream.set(stream, waiters);
    waiters.add(waiter);
    one.count++;
    total++;

    return {
      changed: () =>
        new Promise((resolve) => {
          function goOn(): void {
            if (!waiters.has(waiter)) return;
            // What was committed until now is in the read that follows.
            waiter.isChanged = false;
            resolve();
          }
          const wake = () => goOnInTurn(tenant, goOn);
          if (waiter.isChanged) wake();
          else waiter.wake = wake;
        }),
      end() {
        if (!waiters.delete(waiter)) return;
        if (stream !== undefined && waiters.size === 0) one.byStream.delete(stream);
        one.count--;
        total--;
        if (one.count === 0) followed.delete(tenant);
      },
    };
  }

  return {
    follow,
    seen: (tenant) => followed.get(tenant),
    count: () => total,
  };
}

/**
 * Lets followers go on: so many in each turn, because thousands may wait for the same commit. What
 * they read may be long, so a turn of them also ends with its piece. The environments among them
 * take turns.
 */
function openWakes(turns: Turns): (tenant: number, goOn: () => void) => void {
  const line = openFairLine<number>();
  let left = WOKEN_PER_TURN;
  /** Whether some of those who wait in line are going on. */
  let isServing = false;

  async function move(): Promise<void> {
    for (let next: (() => void) | undefined; left < WOKEN_PER_TURN;) {
      await turns.yieldTurn();
      left = WOKEN_PER_TURN;
      isServing = true;
      const endMs = turns.monotonicMs() + PIECE_MS_MAX;
      while (left > 0 && (next = line.take(() => true)) !== undefined) {
        left--;
        next();
        await readySteps(READ_STEPS_MAX);
        if (turns.monotonicMs() >= endMs) left = 0;
      }
      isServing = false;
    }
  }

  return (tenant, goOn) => {
    if (left === 0 || isServing) return line.push(tenant, goOn);
    const isFirst = left === WOKEN_PER_TURN;
    left--;
    goOn();
    if (isFirst) void move();
  };
}

async function lookAt(
  engine: Engine,
  tenant: number,
  one: Followed,
  nextChange: () => number,
): Promise<void> {
  const { place } = one;
  if (place === undefined) {
    const last = await engine.snapshot((tx) => lastLogPlace(tx, tenant));
    one.place = last ?? FEED_START;
    // Who began before this look may have read before the commits that it passes over.
    one.changes = nextChange();
    wakeAll(one);
    return;
  }
  for (let after = place;;) {
    const page = { after, limit: RECORDS_AT_ONCE, bytesMax: BYTES_AT_ONCE };
    const records = await engine.snapshot((tx) => readLog(tx, tenant, page));
    if (records.length === 0) return;
    after = records.at(-1)!.place;
    one.place = after;
    one.changes = nextChange();
    tell(one, records);
  }
}

function wakeAll(one: Followed): void {
  wake(one.all);
  for (const waiters of one.byStream.values()) wake(waiters);
}

function tell(one: Followed, records: readonly LogRecord[]): void {
  wake(one.all);
  if (one.byStream.size === 0) return;
  // Each stream once: thousands may follow one that has many of the commits.
  const streams = new TextSet(
    records.flatMap(({ entries }) => entries.map(({ stream }) => stream)),
  );
  for (const stream of streams) {
    const waiters = one.byStream.get(stream);
    if (waiters !== undefined) wake(waiters);
  }
}

function wake(waiters: ReadonlySet<Waiter>): void {
  for (const waiter of waiters) {
    if (waiter.wake === undefined) waiter.isChanged = true;
    else {
      waiter.wake();
      waiter.wake = undefined;
    }
  }
}
