/** A tree in memory that is changed anywhere equals a tree built at once from its content. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { merkleRoot, proveInclusion } from "../../../src/domain/audit/merkle.ts";
import {
  leafHash,
  NODE_BYTES,
  type PackedNodes,
  setNode,
} from "../../../src/domain/audit/chain.ts";
import {
  BLOCK_LEAVES,
  blockHash,
  blockOf,
  blockRow,
  buildRows,
  changeRows,
  indexOfNode,
  proveInBlock,
  rowsRoot,
  type TreeRows,
} from "../../../src/domain/audit/tree_rows.ts";
import golden from "../../golden/audit/merkle.json" with { type: "json" };

function packed(values: readonly string[]): PackedNodes {
  const nodes = new Uint8Array(values.length * NODE_BYTES);
  for (const [index, value] of values.entries()) setNode(nodes, index, leafHash(value));
  return nodes;
}

function numbered(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, at) => (from + at).toString(16).padStart(64, "0"));
}

/** Rows are changed in place, so a comparison must not share them. */
function textOf({ count, rows }: TreeRows): string[] {
  return [String(count), ...rows.map((row) => row.toHex())];
}

Deno.test("buildRows() over 1 to 70 leaves gives the oracle's roots", () => {
  for (const { count, root } of golden.trees) {
    assert.equal(rowsRoot(buildRows(packed(golden.values.slice(0, count)))), root);
  }
});

Deno.test("changeRows() after one leaf is changed, put in or taken out of 1 to 34 is a new tree", () => {
  for (let count = 1; count <= 34; count++) {
    const values = numbered(count);
    for (let at = 0; at <= count; at++) {
      const other = "f".repeat(64);
      const changed = at < count ? values.with(at, other) : values;
      const tree = () => buildRows(packed(values));
      const expect = (after: TreeRows, now: readonly string[]) =>
        assert.deepEqual(textOf(after), textOf(buildRows(packed(now))), `${count} at ${at}`);
      const indexes = at < count ? [at] : [];
      expect(changeRows(tree(), packed(changed), indexes, count), changed);
      const inserted = values.toSpliced(at, 0, other);
      expect(changeRows(tree(), packed(inserted), [], at), inserted);
      const removed = values.toSpliced(at, 1);
      if (removed.length > 0) expect(changeRows(tree(), packed(removed), [], at), removed);
    }
  }
});

Deno.test("changeRows() after any mixture of changes is a new tree", () => {
  const edits = fc.array(fc.record({ at: fc.nat(300), inserts: fc.boolean() }), { maxLength: 12 });
  fc.assert(fc.property(fc.integer({ min: 1, max: 300 }), edits, (count, list) => {
    let values = numbered(count);
    let movedFrom = Infinity;
    const changed = new Set<number>();
    for (const [number, { at, inserts }] of list.entries()) {
      const index = at % values.length;
      values = values.toSpliced(index, inserts ? 0 : 1, numbered(1, 1_000_000 + number)[0]!);
      if (inserts) movedFrom = Math.min(movedFrom, index);
      changed.add(index);
    }
    const before = [...changed].filter((index) => index < movedFrom).sort((a, b) => a - b);
    const after = changeRows(buildRows(packed(numbered(count))), packed(values), before, movedFrom);
    assert.deepEqual(textOf(after), textOf(buildRows(packed(values))));
  }));
});

Deno.test("proveInBlock() gives the proof of the whole tree, at every edge of the blocks", () => {
  const sizes = [1, 2, 70, BLOCK_LEAVES - 1, BLOCK_LEAVES, BLOCK_LEAVES + 1, 2 * BLOCK_LEAVES + 5];
  for (const count of sizes) {
    const values = numbered(count);
    const leaves = packed(values);
    const tree = buildRows(leaves.slice());
    assert.equal(rowsRoot(tree), merkleRoot(values));
    const edges = [0, 1, BLOCK_LEAVES - 1, BLOCK_LEAVES, count - 2, count - 1];
    for (const index of new Set(edges.filter((edge) => edge >= 0 && edge < count))) {
      const first = blockOf(index) * BLOCK_LEAVES;
      const block = leaves.slice(first * NODE_BYTES, (first + BLOCK_LEAVES) * NODE_BYTES);
      const proof = proveInBlock(index, block, blockRow(tree));
      assert.deepEqual(proof, proveInclusion(values, index), `${index} of ${count}`);
    }
  }
});

Deno.test("a tree made block by block is the tree, whatever its last block has", () => {
  for (const rest of [1, 2, 3, 512, 513, BLOCK_LEAVES - 1, BLOCK_LEAVES]) {
    const values = numbered(2 * BLOCK_LEAVES + rest);
    const leaves = packed(values);
    const row = new Uint8Array(3 * NODE_BYTES);
    for (const block of [0, 1, 2]) {
      const first = block * BLOCK_LEAVES * NODE_BYTES;
      const held = leaves.slice(first, first + BLOCK_LEAVES * NODE_BYTES);
      setNode(row, block, blockHash(buildRows(held)));
    }
    assert.deepEqual(row, blockRow(buildRows(leaves)));
    assert.equal(rowsRoot(buildRows(row)), merkleRoot(values));
  }
});

Deno.test("indexOfNode() finds each node of a row, and none that is half in it", () => {
  const values = numbered(70);
  const row = packed(values);
  for (const [index, value] of values.entries()) {
    assert.equal(indexOfNode(row, leafHash(value)), index);
  }
  assert.equal(indexOfNode(row, leafHash("f".repeat(64))), -1);
  const shifted = row.subarray(NODE_BYTES / 2, NODE_BYTES / 2 + NODE_BYTES).toHex();
  assert.equal(indexOfNode(row, shifted), -1);
});

Deno.test("a tree without leaves, or of half a leaf, is refused", () => {
  assert.throws(() => buildRows(new Uint8Array(0)));
  assert.throws(() => buildRows(new Uint8Array(NODE_BYTES + 1)));
});
