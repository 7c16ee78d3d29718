/** Tells a worker when something was put into the log of commits. */

import type { Host } from "../host.ts";
import type { Engine } from "../kv/engine.ts";
import { keys } from "../store/keys.ts";
import { followVersion } from "./follow_version.ts";

/** Calls `wake` at once and after each such commit; ends with the function it gives. */
export function followCommits(engine: Engine, host: Host, wake: () => void): () => Promise<void> {
  return followVersion(engine, host, keys.commitSignal(), wake).close;
}
