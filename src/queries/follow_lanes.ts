/** Tells a worker when there may be deliveries to make in lanes that others have marked. */

import type { Host } from "../host.ts";
import type { Engine } from "../kv/engine.ts";
import { keys } from "../store/keys.ts";
import { followVersion } from "./follow_version.ts";

/** Calls `wake` at once and after each such commit; ends with the function it gives. */
export function followLanes(engine: Engine, host: Host, wake: () => void): () => Promise<void> {
  return followVersion(engine, host, keys.laneSignal(), wake).close;
}
