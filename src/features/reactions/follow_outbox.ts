/** Tells a worker when a write has left entries in the outbox for others. */

import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { keys } from "../../store/keys.ts";
import { followVersion } from "../base/follow_version.ts";

/** Calls `wake` at once and after each such write. Call the result to stop. */
export function followOutbox(engine: Engine, host: Host, wake: () => void): () => Promise<void> {
  return followVersion(engine, host, keys.outboxSignal(), wake).close;
}
