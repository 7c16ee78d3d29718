/** The one place that knows which engines there are. Called by `main.ts` and by tests. */

import { join } from "node:path";
import type { Engine } from "./engine.ts";
import { openSqliteEngine } from "./sqlite.ts";

export interface EngineChoice {
  readonly store: "sqlite" | "foundationdb";
  /** Folder of the embedded store; made when missing. */
  readonly dataDir: string;
}

/**
 * Opens the engine of a deployment.
 * @throws {StoreInUse} when another process has the embedded store open.
 * @throws {Error} when this build does not have the engine.
 */
export function openEngine({ store, dataDir }: EngineChoice): Promise<Engine> {
  // A promise although nothing here waits: an engine on a network does.
  return Promise.resolve().then(() => {
    if (store === "sqlite") return openSqliteEngine({ path: join(dataDir, "daybook.sqlite") });
    throw new Error(
      `This build has no engine "${store}". Set DAYBOOK_STORE=sqlite to use the embedded store`,
    );
  });
}
