/**
 * What was made of events and is in memory is forgotten on every node when a stream is erased. It
 * would never be shown again, for it is of another generation; but it would be there.
 */

import type { Host } from "../host.ts";
import type { Engine } from "../kv/engine.ts";
import { keys } from "../store/keys.ts";
import { followVersion } from "./follow_version.ts";

/** Something in memory that may be of events. */
export interface Memory {
  clear(): void;
}

/** Ends with the result. */
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
