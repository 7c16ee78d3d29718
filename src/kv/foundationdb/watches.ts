/**
 * Waits for changes of keys in the whole cluster. One native watch serves all waiters of a key.
 * Commits of this process resolve watches at once, through {@link FoundationdbWatches.notify}.
 *
 * A native watch compares with the value at the version at which it is armed. So that no change
 * is lost between `watch()` and that version, calls that begin later wait for it. A watch that
 * fails, because the cluster recovers or has too many, counts as a change: the waiter looks and
 * watches again.
 */

import type { Bytes, Watch } from "../engine.ts";
import { hashOf, type Keyed } from "../key_map.ts";
import { openWatchedKeys, type WrittenKeys } from "../watched_keys.ts";
import type { ClientDatabase, ClientWatch, WatchingTransaction } from "./client.ts";
import type { Stalls } from "./stalls.ts";

export interface FoundationdbWatches {
  add(key: Bytes): Watch;
  /** Resolves when all watches see every later change; undefined when they do already. */
  armed(): Promise<unknown> | undefined;
  /** Resolves the watches of everything that was written with true. */
  notify(written: WrittenKeys): void;
  /** Resolves all watches with false, and then waits until the client has released each of them. */
  close(): Promise<void>;
}

export interface WatchesHome {
  readonly database: ClientDatabase;
  readonly stalls: Stalls;
  /** The key as it is stored. */
  stored(key: Bytes): Bytes;
  /**
   * Pause before a failed watch is reported as a change, so that waiters do not retry in a tight
   * loop.
   */
  readonly failurePauseMs?: number;
}

interface Entry extends Keyed {
  readonly ends: Set<(isChanged: boolean) => void>;
  isOver: boolean;
  /** Set while there is something to cancel. */
  cancel: (() => void) | undefined;
}

export function openFoundationdbWatches(home: WatchesHome): FoundationdbWatches {
  const { failurePauseMs = 500 } = home;
  const entries = openWatchedKeys<Entry>();
  const arming = new Set<Promise<void>>();
  const following = new Set<Promise<void>>();
  const closing = Promise.withResolvers<void>();
  let isClosed = false;

  function endEntry(entry: Entry, isChanged: boolean): void {
    if (entry.isOver) return;
    entry.isOver = true;
    entries.remove(entry);
    for (const end of entry.ends) end(isChanged);
    entry.cancel?.();
  }

  /** Never rejects. */
  async function follow(entry: Entry): Promise<void> {
    const armed = Promise.withResolvers<void>();
    arming.add(armed.promise);
    function settle(): void {
      arming.delete(armed.promise);
      armed.resolve();
    }
    try {
      const watch = await arm(entry);
      settle();
      if (watch !== undefined) await watch.promise;
    } catch {
      settle();
      // A waiter that looks at once would only meet the same failure.
      if (!entry.isOver) await pause(failurePauseMs, closing.promise);
    }
    entry.cancel = undefined;
    endEntry(entry, true);
  }

  /** Arms a native watch; cancels it if its entry has ended meanwhile. */
  async function arm(entry: Entry): Promise<ClientWatch | undefined> {
    const tx = home.database.createWatching();
    const calls = home.stalls.track(() => tx.cancel());
    let watch: ClientWatch | undefined;
    try {
      entry.cancel = () => tx.cancel();
      watch = tx.watch(home.stored(entry.key));
      // It must not reject unhandled while the commit is awaited.
      watch.promise.catch(() => {});
      await calls.answer(tx.commit());
    } catch (error) {
      await letGo(tx, watch);
      throw error;
    } finally {
      calls.end();
    }
    const armed = watch;
    entry.cancel = () => armed.cancel();
    if (entry.isOver) armed.cancel();
    return armed;
  }

  function add(key: Bytes): Watch {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    let entry = entries.get(key);
    if (entry === undefined) {
      entry = { key, hash: hashOf(key), ends: new Set(), isOver: false, cancel: undefined };
      entries.add(entry);
      const followed = follow(entry);
      following.add(followed);
      followed.finally(() => following.delete(followed));
    }
    const joined = entry;
    joined.ends.add(resolve);
    return {
      changed: promise,
      cancel() {
        resolve(false);
        if (joined.ends.delete(resolve) && joined.ends.size === 0) endEntry(joined, false);
      },
    };
  }

  function notify(written: WrittenKeys): void {
    for (const entry of entries.touchedBy(written)) endEntry(entry, true);
  }

  return {
    add,
    armed: () => arming.size === 0 ? undefined : Promise.all(arming),
    notify,
    async close() {
      if (!isClosed) {
        isClosed = true;
        closing.resolve();
        for (const entry of entries.all()) endEntry(entry, false);
      }
      await Promise.all(following);
    },
  };
}

/** A watch still pending when the process exits crashes it, so it is cancelled and awaited. */
async function letGo(tx: WatchingTransaction, watch: ClientWatch | undefined): Promise<void> {
  tx.cancel();
  watch?.cancel();
  await watch?.promise.catch(() => {});
}

async function pause(milliseconds: number, orUntil: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  await Promise.race([promise, orUntil]);
  clearTimeout(timer);
}
