/** A store on SQLite in a folder of its own that can be opened again and again. */

import { join } from "node:path";
import type { Engine } from "../../src/kv/engine.ts";
import { openSqliteEngine } from "../../src/kv/sqlite/engine.ts";
import type { Store } from "./subject.ts";

/** `wrap` wraps the engine at each opening. */
export async function sqliteStore(wrap = (engine: Engine): Engine => engine): Promise<Store> {
  const directory = await Deno.makeTempDir({ prefix: "daybook_" });
  return {
    open: () => Promise.resolve(wrap(openSqliteEngine({ path: join(directory, "store.sqlite") }))),
    dispose: () => Deno.remove(directory, { recursive: true }),
  };
}
