/** Deployed specs, and which one is current. */

import assert from "node:assert/strict";
import type { Engine } from "../../src/kv/engine.ts";
import { keys } from "../../src/store/keys.ts";
import {
  listSpecVersions,
  readCurrentSpecText,
  readSpecBytes,
  readSpecText,
  storeSpec,
} from "../../src/store/specs.ts";
import { withTemporaryEngine } from "../support/temporary_engine.ts";

function stored(version: number, fill: string) {
  const text = JSON.stringify({ agent_types: ["user"], description: fill });
  return { version, spec_hash: `hash-${version}`, created_at: "2026-01-01T00:00:00.000Z", text };
}

function store(engine: Engine, { text, ...version }: ReturnType<typeof stored>) {
  return engine.transact((tx) => Promise.resolve(storeSpec(tx, 1, version, text)));
}

Deno.test("readCurrentSpecText() gives the last one stored, also one of a megabyte", async () => {
  await withTemporaryEngine(async (engine) => {
    assert.equal(await engine.snapshot((tx) => readCurrentSpecText(tx, 1)), undefined);
    for (const [version, size] of [[1, 10], [2, 1_048_576], [3, 0]] as const) {
      const spec = stored(version, "x".repeat(size));
      await store(engine, spec);
      assert.deepEqual(await engine.snapshot((tx) => readCurrentSpecText(tx, 1)), spec);
    }
    assert.equal(await engine.snapshot((tx) => readCurrentSpecText(tx, 2)), undefined);
  });
});

Deno.test("readSpecBytes() gives the length of the text, and reads none of a long one", async () => {
  await withTemporaryEngine(async (engine) => {
    for (const [version, size] of [[1, 10], [2, 500_000]] as const) {
      const spec = stored(version, "ü".repeat(size));
      await store(engine, spec);
      const text = await engine.snapshot((tx) => readSpecText(tx, 1, version));
      assert.equal(text, spec.text);
      const bytes = await engine.snapshot((tx) => {
        const getRange = () => Promise.reject(new Error("the pieces are read"));
        return readSpecBytes({ get: (key) => tx.get(key), getRange }, 1, version);
      });
      assert.equal(bytes, new TextEncoder().encode(text).length);
    }
  });
});

Deno.test("listSpecVersions() gives the history, oldest first", async () => {
  await withTemporaryEngine(async (engine) => {
    for (let version = 1; version <= 12; version++) {
      await store(engine, stored(version, ""));
    }
    const versions = await engine.snapshot((tx) => listSpecVersions(tx, 1));
    assert.deepEqual(
      versions.map(({ version }) => version),
      Array.from({ length: 12 }, (_, index) => index + 1),
    );
    assert.equal("text" in versions[0]!, false);
    const page = await engine.snapshot((tx) => listSpecVersions(tx, 1, 3, 8));
    assert.deepEqual(page.map(({ version }) => version), [9, 10, 11]);
  });
});

Deno.test("storeSpec() touches the key that every node watches", async () => {
  await withTemporaryEngine(async (engine) => {
    const watch = engine.watch(keys.specVersion());
    await store(engine, stored(1, ""));
    assert.equal(await watch.changed, true);
  });
});
