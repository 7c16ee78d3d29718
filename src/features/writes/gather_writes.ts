/**
 * Decides when waiting writes are committed.
 *
 * Much of a commit's cost is the same for one write as for many. Clients that wait for their
 * answers tend to split into parts: while one part is on its way to the disk or the cluster, the
 * next one is prepared, each pays for a commit of its own, and nothing ever merges them. So the
 * next commit waits until as many writes are there as there were writers around the last one. If
 * no write arrives, it waits only for a moment. If a wait was in vain, some of the next commits do
 * not wait at all.
 */

export interface Gathering {
  /** A transaction with this many writes begins. */
  begin(writes: number): void;
  /** That transaction has ended; `waiting` other writes are waiting. */
  end(writes: number, waiting: number): void;
  /**
   * Called in a turn of the event loop. Answers whether to commit the waiting writes, to look
   * again in the next turn, or to look again when a write is submitted, a transaction ends or
   * {@link CHANGE_MS_MAX} have passed.
   */
  look(waiting: Waiting): "commit" | "next_turn" | "next_change";
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
    look({ writes: waiting, bytes }) {
      if (bytes >= BYTES_MAX) return commit();
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
