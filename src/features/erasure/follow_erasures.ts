/**
 * Clears cached data derived from events on every node when a stream is erased.
 *
 * The cached data would never be shown again, since it belongs to an older generation, but the
 * erased content would still be in memory.
 */

import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { keys } from "../../store/keys.ts";
import { followVersion } from "../base/follow_version.ts";

/** A cache that may hold data derived from events. */
export interface Memory {
  clear(): void;
}

/** Call the result to stop. */
export function followErasures(
  engine: Engine,
  host: Host,
  memories: readonly Memory[],
): () => Promise<void> {
  const follower = followVersion(engine, host, keys.erasureSignal(), () => {
    for (const memory of memories) memory.clear();
  });
  return follower.close;
}
