/** The choice of the engine. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { openEngine } from "../../src/kv/open_engine.ts";
import { StoreInUse } from "../../src/kv/sqlite_lock.ts";
import { read, write } from "../contract/engine_contract.ts";

Deno.test("openEngine() opens the embedded store in its folder, made when missing", async () => {
  const directory = await Deno.makeTempDir({ prefix: "daybook_" });
  const dataDir = join(directory, "not", "there");
  const engine = await openEngine({ store: "sqlite", dataDir });
  await write(engine, "a=1");
  await assert.rejects(openEngine({ store: "sqlite", dataDir }), StoreInUse);
  await engine.close();
  const again = await openEngine({ store: "sqlite", dataDir });
  assert.equal(await read(again, "a"), "1");
  await again.close();
  await Deno.remove(directory, { recursive: true });
});

Deno.test("openEngine() says which setting helps when this build lacks an engine", async () => {
  const opening = openEngine({ store: "foundationdb", dataDir: "/nowhere" });
  await assert.rejects(opening, /no engine "foundationdb".*DAYBOOK_STORE=sqlite/);
});
