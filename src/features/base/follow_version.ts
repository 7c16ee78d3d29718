/**
 * Follows a counter in the store, so that caches filled under an older count can be cleared.
 *
 * A watch reports changes at once; a read every second covers a lost watch. While neither
 * works, `isFresh` is false and the caller must not trust its cache. This is how a revoked key
 * stops working within 5 s. See docs/reference/operators.md.
 */

import type { Host } from "../../host.ts";
import type { Bytes, Engine, Watch } from "../../kv/engine.ts";

/** The interval at which the counter is read even if no watch fired. */
const POLL_MS = 1_000;
/** How long caches may be used after such a read; below the promised 5 s. */
const FRESH_MS = 4_000;

export interface VersionFollower {
  /** True if the counter was read recently enough for caches to be used. */
  isFresh(nowMs: number): boolean;
  /** Resolves when no work of the follower is running. */
  close(): Promise<void>;
}

/** Calls `onChange` at the first read and at each change seen after it. */
export function followVersion(
  engine: Engine,
  host: Host,
  key: Bytes,
  onChange: () => void,
): VersionFollower {
  let seen: string | undefined;
  let readAtMs = -Infinity;
  let stopped = false;
  let wake = () => {};

  async function readOnce(): Promise<void> {
    const startedMs = host.nowMs();
    const value = await engine.snapshot((tx) => tx.get(key));
    const version = value === undefined ? "none" : value.toHex();
    if (version !== seen) onChange();
    seen = version;
    readAtMs = startedMs;
  }

  /**
   * Reads until the watch ends; returns true if it ended with a change. The watch may be armed
   * only after the first read and so miss a change before it; the next read finds that change.
   */
  async function readUntilEnded(watch: Watch): Promise<boolean> {
    let ended: "changed" | "lost" | undefined;
    const over = watch.changed.catch(() => false).then((isChanged) => {
      ended = isChanged ? "changed" : "lost";
      wake();
    });
    try {
      while (!stopped) {
        await readOnce();
        if (ended === undefined && !stopped) await pause();
        if (ended !== undefined) return ended === "changed";
      }
      return false;
    } finally {
      watch.cancel();
      await over;
    }
  }

  /** Waits until the next read is due, or until woken. */
  function pause(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = host.startTimer(POLL_MS, resolve);
      wake = () => {
        cancel();
        resolve();
      };
    });
  }

  async function run(): Promise<void> {
    while (!stopped) {
      const isChanged = await followOnce();
      // The store is unavailable or watches end at once: without a pause this loop would spin.
      if (!isChanged && !stopped) await pause();
    }
  }

  async function followOnce(): Promise<boolean> {
    try {
      return await readUntilEnded(engine.watch(key));
    } catch {
      // The store is unavailable: the caches age until they are no longer used.
      return false;
    }
  }

  const running = run();
  return {
    // If the clock was set back, the age of the read is unknown.
    isFresh: (nowMs) => nowMs >= readAtMs && nowMs < readAtMs + FRESH_MS,
    close() {
      stopped = true;
      wake();
      return running;
    },
  };
}
