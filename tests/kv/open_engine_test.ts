/** The choice of the engine. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { openEngine } from "../../src/kv/open_engine.ts";
import { StoreInUse } from "../../src/kv/sqlite/lock.ts";
import { read, write } from "../contract/engine_fixture.ts";
import { fakeHost } from "../support/fake_host.ts";

Deno.test("openEngine() opens the embedded store in its folder, made when missing", async () => {
  const directory = await Deno.makeTempDir({ prefix: "daybook_" });
  const dataDir = join(directory, "not", "there");
  const host = fakeHost();
  const engine = await openEngine({ store: "sqlite", dataDir }, host);
  await write(engine, "a=1");
  await assert.rejects(openEngine({ store: "sqlite", dataDir }, host), StoreInUse);
  await engine.close();
  const again = await openEngine({ store: "sqlite", dataDir }, host);
  assert.equal(await read(again, "a"), "1");
  await again.close();
  await Deno.remove(directory, { recursive: true });
});

Deno.test("openEngine() refuses FoundationDB at once when its cluster file is no good", async () => {
  const directory = await Deno.makeTempDir({ prefix: "daybook_" });
  const path = join(directory, "fdb.cluster");
  const open = () =>
    openEngine({ store: "foundationdb", dataDir: directory, fdbClusterFile: path }, fakeHost());
  await assert.rejects(open(), /no FoundationDB cluster file at .*FDB_CLUSTER_FILE/);
  for (const text of ["", "rubbish\n", "a:b@\n", "a:b@127.0.0.1\n", "a b:c@127.0.0.1:4500\n"]) {
    await Deno.writeTextFile(path, text);
    await assert.rejects(open(), /is no FoundationDB cluster file/, text);
  }
  await assert.rejects(
    openEngine(
      { store: "foundationdb", dataDir: directory, fdbClusterFile: directory },
      fakeHost(),
    ),
    /cannot be read/,
  );
  await Deno.remove(directory, { recursive: true });
});
