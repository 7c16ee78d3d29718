/** The memory of trees: one for each environment, used once, and only for its own anchor. */

import assert from "node:assert/strict";
import { openTreeMemories, type TreeMemory } from "../../../src/features/audit/tree_memory.ts";
import { buildRows } from "../../../src/domain/audit/tree_rows.ts";

const MIB = 1024 * 1024;

/** A memory of about this many bytes: two nodes for each leaf. */
function memoryOf(anchor: number, bytes: number): TreeMemory {
  const leaves = new Uint8Array(bytes / 2);
  return {
    anchor,
    chunks: new Map(),
    blocks: [{ ...buildRows(leaves.slice(0, 32)), rows: [leaves, leaves] }],
  };
}

Deno.test("a tree is taken once, and only as that of its anchor", () => {
  const memories = openTreeMemories();
  const memory = memoryOf(3, 64);
  memories.keep(1, memory);
  assert.equal(memories.take(2, 3), undefined);
  assert.equal(memories.take(1, 3), memory);
  assert.equal(memories.take(1, 3), undefined);
  memories.keep(1, memory);
  assert.equal(memories.take(1, 4), undefined);
  assert.equal(memories.take(1, 3), undefined);
});

Deno.test("trees are remembered as far as there is room, those used last", () => {
  const memories = openTreeMemories();
  for (const tenant of [1, 2, 3]) memories.keep(tenant, memoryOf(1, 30 * MIB));
  assert.equal(memories.take(1, 1), undefined);
  assert.ok(memories.take(2, 1));
  memories.keep(4, memoryOf(1, 80 * MIB));
  assert.equal(memories.take(4, 1), undefined);
  assert.ok(memories.take(3, 1));
});
