/** An empty engine on SQLite in a folder that goes away, for every test that needs a store. */

import { join } from "node:path";
import type { Engine } from "../../src/kv/engine.ts";
import { openSqliteEngine } from "../../src/kv/sqlite.ts";

export interface TemporaryEngine {
  readonly engine: Engine;
  /** Removed by `dispose`. */
  readonly directory: string;
  /** Closes the engine, if that was not done yet, and removes the folder. */
  dispose(): Promise<void>;
}

/** Opens an empty engine. Call `dispose` in the end, or use {@link withTemporaryEngine}. */
export async function temporaryEngine(): Promise<TemporaryEngine> {
  const directory = await Deno.makeTempDir({ prefix: "daybook_" });
  const engine = openSqliteEngine({ path: join(directory, "store.sqlite") });
  return {
    engine,
    directory,
    async dispose() {
      await engine.close();
      await Deno.remove(directory, { recursive: true });
    },
  };
}

/** Runs `body` with an empty engine that is gone afterwards, whatever happens. */
export async function withTemporaryEngine<T>(body: (engine: Engine) => Promise<T>): Promise<T> {
  const { engine, dispose } = await temporaryEngine();
  try {
    return await body(engine);
  } finally {
    await dispose();
  }
}
