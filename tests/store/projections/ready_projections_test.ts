/** What can be read of projections is read from the store once after each change of any. */

import assert from "node:assert/strict";
import type { Pieces } from "../../../src/domain/fairness/pieces.ts";
import type { Engine, ReadTransaction } from "../../../src/kv/engine.ts";
import {
  clearProjection,
  type ProjectionRecord,
  setProjection,
} from "../../../src/store/projections/projections.ts";
import { listReadyProjections } from "../../../src/store/projections/ready_projections.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const TENANT = 3;
const AT_ONCE: Pieces = { rest: () => undefined };

function recordOf(name: string, number: number, ready = true): ProjectionRecord {
  const version = { version: 1, document: { name }, types: ["thing"], basis: "" };
  const columns = [{ name: "n", type: "integer" as const }];
  return {
    ...{ name, number, versions: 1, removing: [], isDeleted: false, deployed_at: "" },
    [ready ? "ready" : "building"]: { ...version, columns },
  };
}

async function put(engine: Engine, ...records: ProjectionRecord[]): Promise<void> {
  await engine.transact((tx) => {
    for (const record of records) setProjection(tx, TENANT, record);
    return Promise.resolve();
  });
}

/** Names the versions that can be read, and counts the definitions that were read for it. */
async function list(engine: Engine, names?: readonly string[], pieces = AT_ONCE) {
  let gets = 0;
  const found = await engine.snapshot((tx) => {
    const reads: Pick<ReadTransaction, "get" | "getRange"> = {
      get: (key) => (gets++, tx.get(key)),
      getRange: (range, options) => tx.getRange(range, options),
    };
    const wanted = { names: names && new Set(names), pieces };
    return listReadyProjections(engine, reads, TENANT, wanted);
  });
  // One of them was for the state of the definitions.
  return { found, names: found.map(({ name }) => name), definitions: gets - 1 };
}

Deno.test("definitions that are wanted are read once, and the others are not", async () => {
  await withTemporaryEngine(async (engine) => {
    await put(engine, recordOf("a", 1), recordOf("b", 2), recordOf("c", 3, false));
    const { names, definitions } = await list(engine, ["a", "x"]);
    assert.deepEqual([names, definitions], [["a"], 1]);
    assert.equal((await list(engine, ["a"])).definitions, 0);
    const all = await list(engine);
    assert.deepEqual([all.names, all.definitions], [["a", "b"], 2]);
    const again = await list(engine);
    assert.deepEqual([again.names, again.definitions], [["a", "b"], 0]);
    assert.deepEqual(again.found, all.found);
  });
});

Deno.test("a change of any definition is seen by the next read", async () => {
  await withTemporaryEngine(async (engine) => {
    await put(engine, recordOf("a", 1), recordOf("b", 2, false));
    await list(engine);
    await put(engine, recordOf("b", 2));
    assert.deepEqual((await list(engine)).names, ["a", "b"]);
    await put(engine, { ...recordOf("a", 1), broken: "its type is gone" });
    assert.equal((await list(engine, ["a"])).found[0]!.broken, "its type is gone");
    await engine.transact((tx) => Promise.resolve(clearProjection(tx, TENANT, "a")));
    assert.deepEqual((await list(engine)).names, ["b"]);
    await put(engine, { ...recordOf("b", 2), isDeleted: true });
    assert.deepEqual((await list(engine)).names, []);
  });
});

Deno.test("a read of an older moment does not show what was changed since", async () => {
  await withTemporaryEngine(async (engine) => {
    await put(engine, recordOf("a", 1));
    await engine.snapshot(async (tx) => {
      const wanted = { pieces: AT_ONCE };
      assert.equal((await listReadyProjections(engine, tx, TENANT, wanted)).length, 1);
      await put(engine, recordOf("b", 2));
      assert.deepEqual((await list(engine)).names, ["a", "b"]);
      assert.equal((await listReadyProjections(engine, tx, TENANT, wanted)).length, 1);
    });
    assert.deepEqual((await list(engine)).names, ["a", "b"]);
  });
});

Deno.test("queries that wait for their slices read each definition once together", async () => {
  await withTemporaryEngine(async (engine) => {
    await put(engine, ...Array.from({ length: 9 }, (_, i) => recordOf(`p${i}`, i)));
    let turn = Promise.resolve();
    // One goes on in each turn.
    const pieces = { rest: () => turn = turn.then(() => new Promise((go) => setTimeout(go, 15))) };
    const lists = await Promise.all(Array.from({ length: 6 }, () => list(engine, [], pieces)));
    assert(lists.every(({ definitions }) => definitions === 0));
    const all = await Promise.all(
      Array.from({ length: 6 }, () => list(engine, undefined, pieces)),
    );
    assert(all.every(({ names }) => names.length === 9));
    assert.equal(all.reduce((sum, { definitions }) => sum + definitions, 0), 9);
  });
});
