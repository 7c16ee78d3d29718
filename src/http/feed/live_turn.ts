/**
 * What a live answer waits for: something new, its time, the end of its client or of the process.
 * One timer serves a connection, whatever it waits for.
 */

import type { Follower } from "../../features/feed/follow_commits.ts";
import type { Call, Edge } from "../call.ts";

export interface LiveTurn {
  /**
   * Resolves when something may be new, with true, and at the latest after `ms`, with false. Also
   * when the client or the process is about to end.
   */
  wait(ms: number): Promise<boolean>;
  /** Whether the process is to end. */
  isStopping(): boolean;
  /** Call it once, when nobody waits any more. */
  end(): void;
}

/** `onStop` is called when the process is to end. */
export function openLiveTurn(
  { options }: Edge,
  { host, request }: Call,
  follower: Follower,
  onStop = () => {},
): LiveTurn {
  let wake = () => {};
  const wakeUp = () => wake();
  const forget = options.drain?.onStop(() => {
    onStop();
    wake();
  });
  request.signal.addEventListener("abort", wakeUp);
  /** One promise until it resolves: a wake that nobody waits for must not be lost. */
  let changed: Promise<void> | undefined;
  let isChanged = false;

  function listen(): void {
    changed ??= follower.changed().then(() => {
      changed = undefined;
      isChanged = true;
      wake();
    });
  }

  return {
    async wait(ms) {
      listen();
      if (!isChanged && ms > 0 && options.drain?.isStopping() !== true) {
        const woken = Promise.withResolvers<void>();
        wake = woken.resolve;
        const stopTimer = host.startTimer(ms, wake);
        await woken.promise;
        stopTimer();
        wake = () => {};
      }
      const wasChanged = isChanged;
      isChanged = false;
      return wasChanged;
    },
    isStopping: () => options.drain?.isStopping() ?? false,
    end() {
      forget?.();
      request.signal.removeEventListener("abort", wakeUp);
      follower.end();
      wake();
    },
  };
}
