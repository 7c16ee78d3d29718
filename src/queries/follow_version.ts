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
  let freshUntilMs = -Infinity;
  let stopped = false;
  let wake = () => {};

  async function readOnce(): Promise<void> {
    const startedMs = host.nowMs();
    const value = await engine.snapshot((tx) => tx.get(key));
    const version = value === undefined ? "none" : value.toHex();
    if (version !== seen) onChange();
    seen = version;
    freshUntilMs = startedMs + FRESH_MS;
  }

  /** Reads until the watch has spoken; it was set before the first read, so none is missed. */
  async function readUntilChanged(watch: Watch): Promise<void> {
    let waiting = true;
    const over = watch.changed.then(() => waiting = false, () => waiting = false).then(() =>
      wake()
    );
    try {
      while (waiting && !stopped) {
        await readOnce();
        if (waiting && !stopped) await pause();
      }
    } finally {
      watch.cancel();
      await over;
    }
  }

  function pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, POLL_MS);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async function run(): Promise<void> {
    while (!stopped) {
      try {
        await readUntilChanged(engine.watch(key));
      } catch {
        // The store is away: memory ages until it is no longer used, and we ask again.
        if (!stopped) await pause();
      }
    }
  }

  const running = run();
  return {
    isFresh: (nowMs) => nowMs < freshUntilMs,
    close() {
      stopped = true;
      wake();
      return running;
    },
  };
}
