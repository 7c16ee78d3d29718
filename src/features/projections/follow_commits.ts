/** Tells a worker when the commit log has new entries. */

import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { keys } from "../../store/keys.ts";
import { followVersion } from "../base/follow_version.ts";

/** Calls `wake` at once and after each such commit. Call the result to stop. */
export function followCommits(engine: Engine, host: Host, wake: () => void): () => Promise<void> {
  return followVersion(engine, host, keys.commitSignal(), wake).close;
}
