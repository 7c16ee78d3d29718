/** The first tree of an environment covers all its streams, however they are paged. */

import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { buildFirstTree } from "../../../src/features/audit/first_tree.ts";
import { merkleRoot } from "../../../src/domain/audit/merkle.ts";
import { leafHash } from "../../../src/domain/audit/node_hash.ts";
import { findChunks, publishChunk, readChunk } from "../../../src/store/audit/tree_chunks.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const TENANT = 1;

Deno.test("buildFirstTree() is the tree over its pages, and keeps all of them in chunks", async () => {
  for (const [count, pageSize] of [[1, 1], [224, 10], [225, 224], [1_024, 250], [2_300, 1_025]]) {
    const roots = Array.from({ length: count! }, (_, at) => hash("sha256", `${at}`, "hex"));
    const entries = roots.map((root, at) => (
      { key: `order:${String(at).padStart(9, "0")}`, length: at + 1, leaf: leafHash(root) }
    ));
    const pages = Array.from(
      { length: Math.ceil(count! / pageSize!) },
      (_, at) => entries.slice(at * pageSize!, (at + 1) * pageSize!),
    );
    await withTemporaryEngine(async (engine) => {
      const pace = () => Promise.resolve();
      const build = { engine, pace, tenant: TENANT, number: 1, guard: () => Promise.resolve() };
      const tree = await buildFirstTree(build, [[], ...pages, []]);
      assert.equal(tree.root, merkleRoot(roots));
      assert.deepEqual([tree.newStreams, tree.newEvents], [count, count! * (count! + 1) / 2]);
      await engine.transact((tx) => {
        for (const low of tree.newChunks) publishChunk(tx, TENANT, low, 1);
        return Promise.resolve();
      });
      const kept = await engine.snapshot(async (tx) => {
        const lows = await findChunks(tx, TENANT, 1, "", undefined);
        return await Promise.all(lows.map((low) => readChunk(tx, TENANT, low, 1)));
      });
      assert.deepEqual(kept.flatMap((chunk) => chunk.entries), entries);
    });
  }
});
