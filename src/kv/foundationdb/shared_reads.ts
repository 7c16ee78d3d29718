/**
 * Lets snapshots that begin in the same turn of the event loop read in one native transaction,
 * which saves each of them a transaction of its own and a request for its version.
 *
 * Nobody reads at a version that is older than its beginning: snapshots wait for the end of the
 * turn, then all begin in one loop, and the first read in that loop is what asks for the version.
 * A snapshot that reads only later has a transaction of its own, because its first read must see
 * what was committed until then.
 */

import type { ClientDatabase, ClientTransaction } from "./client.ts";

/** A native transaction with several users. */
export interface SharedClient {
  readonly client: ClientTransaction;
  /** One of the users has given up; the last one cancels for all. */
  cancel(): void;
  /** One of the users needs it no more; the last one releases it. */
  leave(): void;
}

export interface SharedReads {
  /** Calls `run` at the end of this turn. */
  begin(run: () => void): void;
  /** The transaction of the snapshots that begin now; undefined outside of `run`. */
  join(): SharedClient | undefined;
}

export function openSharedReads(database: ClientDatabase): SharedReads {
  let waiting: (() => void)[] = [];
  let current: Shared | undefined;
  let isBeginning = false;

  function beginAll(): void {
    const runs = waiting;
    waiting = [];
    isBeginning = true;
    for (const run of runs) run();
    isBeginning = false;
    current?.own.leave();
    current = undefined;
  }

  return {
    begin(run) {
      if (waiting.length === 0) setImmediate(beginAll);
      waiting.push(run);
    },
    join() {
      if (!isBeginning) return undefined;
      current ??= share(database.createTransaction());
      return current.join();
    },
  };
}

interface Shared {
  /** That of the loop in which snapshots join, so it is not released before the last one joins. */
  readonly own: SharedClient;
  join(): SharedClient;
}

function share(client: ClientTransaction): Shared {
  let users = 0;
  /** Those that have not given up. */
  let waiting = 0;

  function join(): SharedClient {
    let isWaiting = true;
    users++;
    waiting++;
    function giveUp(): void {
      if (isWaiting) waiting--;
      isWaiting = false;
    }
    return {
      client,
      cancel() {
        giveUp();
        if (waiting === 0) client.cancel();
      },
      leave() {
        giveUp();
        users--;
        if (users === 0) client.release();
      },
    };
  }
  return { own: join(), join };
}
