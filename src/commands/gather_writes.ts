/**
 * When the writes that wait are committed, where this process alone writes. There one commit goes
 * after the other, and much of what it costs is the same for one write as for many. Clients that
 * wait for their answers come in halves all by themselves: one half is synced while the other is
 * prepared, each pays for a commit, and nothing ever brings them together. So the next commit waits
 * until as many writes are there as there were writers around the last one; but where nothing
 * comes, only for a moment, and where that was in vain, it does not wait for some commits.
 */

export interface Gathering {
  /** A transaction with so many writes begins. */
  begin(writes: number): void;
  /** It has ended, while so many other writes wait. */
  end(writes: number, waiting: number): void;
  /**
   * Asked in a turn of the event loop: to commit the writes that wait, to look again in the next
   * turn, or when one is submitted or a transaction ends.
   */
  look(waiting: Waiting): "commit" | "next_turn" | "next_change";
}

export interface Waiting {
  readonly writes: number;
  /** Of their events, as stored. */
  readonly bytes: number;
}

/** With so many a commit's own cost is little for each, and they should not wait for more. */
const WRITERS_MAX = 128;
/** So much is worth a commit of its own: its writing takes longer than all that is saved. */
const BYTES_MAX = 256 * 1024;
/** Turns in which nothing came, in all, before a commit; then it takes what is there. */
const IDLE_MS_MAX = 0.4;
/** The same for a clock that stands still. */
const IDLE_TURNS_MAX = 300;
/** Commits that do not wait after so many in a row that waited in vain: 1, 3, 7, and so on. */
const SKIPPED_MAX = 31;

/** Where others write too, nothing is gathered. */
export const NO_GATHERING: Gathering = { begin() {}, end() {}, look: () => "commit" };

/** What came since a commit began to wait. */
interface Wait {
  readonly from: number;
  waiting: number;
  lookedMs: number;
  idleMs: number;
  idleTurns: number;
}

/** @param nowMs a clock that only goes forward, in milliseconds. */
export function openGathering(nowMs: () => number): Gathering {
  /** Writes in transactions. */
  let underWay = 0;
  /** As many as there were since the last commit began. */
  let expected = 1;
  let isOutdated = false;
  let wait: Wait | undefined;
  let skipped = 0;
  let toSkip = 0;

  function commit(): "commit" {
    wait = undefined;
    isOutdated = true;
    return "commit";
  }

  /** Whether it has waited long enough, now that so many writes are there. */
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
      if (underWay > 0) return "next_change";
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
