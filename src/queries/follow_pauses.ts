/**
 * Which environments are paused, as every node knows it: what changes anywhere is heard of within
 * seconds. Asked with every write, so the answer is in memory.
 */

import type { Host } from "../host.ts";
import type { Engine } from "../kv/engine.ts";
import { keys } from "../store/keys.ts";
import { listPauses, type ReactionPause } from "../store/paused_reactions.ts";
import { followVersion } from "./follow_version.ts";

export interface PausedReactions {
  /** As far as is known: before the first reading nothing is. */
  isPaused(tenant: number): boolean;
  /** Environments whose timers are to be put back. */
  resuming(): readonly number[];
  /** Resolves when what is known is as it was told last. Throws where the store is away. */
  ready(): Promise<void>;
  /** Called where this process has just changed it. */
  forget(): void;
  close(): Promise<void>;
}

export function followPauses(engine: Engine, host: Host): PausedReactions {
  let pauses: ReadonlyMap<number, ReactionPause> = new Map();
  /** Changes that were heard of, and those that are known. */
  let heard = 1;
  let known = 0;

  async function ready(): Promise<void> {
    while (known < heard) {
      const upTo = heard;
      const found = await engine.snapshot(listPauses);
      if (upTo <= known) continue;
      pauses = found;
      known = upTo;
    }
  }

  function forget(): void {
    heard++;
    // Where the store is away, whoever asks next tries again.
    ready().catch(() => {});
  }

  const follower = followVersion(engine, host, keys.pauseSignal(), forget);

  return {
    isPaused: (tenant) => pauses.size > 0 && pauses.get(tenant)?.state === "paused",
    resuming: () =>
      [...pauses].filter(([, { state }]) => state === "resuming").map(([tenant]) => tenant),
    ready,
    forget,
    close: follower.close,
  };
}
