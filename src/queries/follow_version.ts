/**
 * Follows a counter of the store, so that what was remembered under an older count is forgotten.
 * A watch tells at once; a read each second covers a lost watch. While neither works, the caller
 * is told that nothing remembered may be trusted. Decisions: "Revocation works ... within 5 s".
 */

import type { Host } from "../host.ts";
import type { Bytes, Engine, Watch } from "../kv/engine.ts";

/** How often the counter is read although no watch spoke. */
const POLL_MS = 1_000;
/** For how long after such a read memory may be used: below the 5 s promised. */
const FRESH_MS = 4_000;

export interface VersionFollower {
  /** True while the counter was read recently enough for memory to be used. */
  isFresh(nowMs: number): boolean;
  /** Resolves when nothing of it runs any more. */
  close(): Promise<void>;
}

/** `onChange` is called with the first reading and with each change seen after it. */
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
   * Reads until the watch has ended; true when that was a change. A watch may be armed only after
   * the first read, and so miss a change before it: the next reading finds that.
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

  /** Until the next reading is due, or less when woken. */
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
      // The store is away, or watches end at once: asking again at once might go on for ever.
      if (!isChanged && !stopped) await pause();
    }
  }

  async function followOnce(): Promise<boolean> {
    try {
      return await readUntilEnded(engine.watch(key));
    } catch {
      // The store is away: memory ages until it is no longer used.
      return false;
    }
  }

  const running = run();
  return {
    // A clock that was set back tells nothing of how old the reading is.
    isFresh: (nowMs) => nowMs >= readAtMs && nowMs < readAtMs + FRESH_MS,
    close() {
      stopped = true;
      wake();
      return running;
    },
  };
}
