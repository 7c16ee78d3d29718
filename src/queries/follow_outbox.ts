/** Tells a worker when a write has left what it set off to others. */

import type { Host } from "../host.ts";
import type { Engine } from "../kv/engine.ts";
import { keys } from "../store/keys.ts";
import { followVersion } from "./follow_version.ts";

/** Calls `wake` at once and after each such write; ends with the function it gives. */
export function followOutbox(engine: Engine, host: Host, wake: () => void): () => Promise<void> {
  return followVersion(engine, host, keys.outboxSignal(), wake).close;
}
