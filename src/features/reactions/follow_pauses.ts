/**
 * Knows which environments are paused. Every node learns of a change within seconds.
 *
 * Each write asks, so the answer comes from memory.
 */

import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { keys } from "../../store/keys.ts";
import { listPauses, type ReactionPause } from "../../store/reactions/paused_reactions.ts";
import { readRestored } from "../../store/restored.ts";
import { followVersion } from "../base/follow_version.ts";

export interface PausedReactions {
  /** The paused environments, from memory; none before the first read. */
  readonly tenants: ReadonlySet<number>;
  /** Environments whose timers must be restored. */
  resuming(): readonly number[];
  /**
   * Resolves when all changes reported so far have been read. Throws if the store is
   * unavailable.
   */
  ready(): Promise<void>;
  /** Whether the deployment was restored and still waits, so that nothing may leave it. */
  isRestored(): Promise<boolean>;
  /** Call when this process has just changed a pause. */
  forget(): void;
  close(): Promise<void>;
}

export function followPauses(engine: Engine, host: Host): PausedReactions {
  let pauses: ReadonlyMap<number, ReactionPause> = new Map();
  const tenants = new Set<number>();
  let isRestored = false;
  /** The number of changes reported, and the number already read. */
  let heard = 1;
  let known = 0;

  async function ready(): Promise<void> {
    while (known < heard) {
      const upTo = heard;
      const [found, restored] = await engine.snapshot(
        async (tx) => [await listPauses(tx), await readRestored(tx)] as const,
      );
      if (upTo <= known) continue;
      pauses = found;
      isRestored = restored !== undefined;
      tenants.clear();
      for (const [tenant, { state }] of found) if (state === "paused") tenants.add(tenant);
      known = upTo;
    }
  }

  function forget(): void {
    heard++;
    // If the store is unavailable, the next caller of `ready` tries again.
    ready().catch(() => {});
  }

  const follower = followVersion(engine, host, keys.pauseSignal(), forget);

  return {
    tenants,
    resuming: () =>
      [...pauses].filter(([, { state }]) => state === "resuming").map(([tenant]) => tenant),
    ready,
    async isRestored() {
      await ready();
      return isRestored;
    },
    forget,
    close: follower.close,
  };
}
