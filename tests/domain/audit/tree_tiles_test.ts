/** Proofs from the tiles of a growing tree, for the tree as it was at any earlier size. */

import assert from "node:assert/strict";
import { merkleRoot, proveInclusion, verifyInclusion } from "../../../src/domain/audit/merkle.ts";
import {
  leafHash,
  NODE_BYTES,
  type PackedNodes,
  setNode,
} from "../../../src/domain/audit/chain.ts";
import {
  proveFromTiles,
  TILE_NODES,
  tileHash,
  type TilePlace,
  tilesOfProof,
} from "../../../src/domain/audit/tree_tiles.ts";
import golden from "../../golden/audit/merkle.json" with { type: "json" };

type Tiles = ReadonlyMap<string, PackedNodes>;

/** All tiles of a tree: for each height the complete nodes, grouped into tiles. */
function tilesOver(values: readonly string[]): Tiles {
  const tiles = new Map<string, PackedNodes>();
  let nodes = values.map((value) => leafHash(value));
  for (let height = 0; nodes.length > 0; height++) {
    const above: string[] = [];
    for (let number = 0; number * TILE_NODES < nodes.length; number++) {
      const held = nodes.slice(number * TILE_NODES, (number + 1) * TILE_NODES);
      const tile = new Uint8Array(held.length * NODE_BYTES);
      for (const [at, node] of held.entries()) setNode(tile, at, node);
      tiles.set(`${height}/${number}`, tile);
      if (held.length === TILE_NODES) above.push(tileHash(tile));
    }
    nodes = above;
  }
  return tiles;
}

/** Reads only named tiles, and of each only what was complete in a tree of `count` leaves. */
function reader(tiles: Tiles, count: number, named: readonly TilePlace[]) {
  const known = new Set(named.map(({ height, number }) => `${height}/${number}`));
  return ({ height, number }: TilePlace): PackedNodes => {
    assert.ok(known.has(`${height}/${number}`), "a tile that was not named is not read");
    const full = Math.floor(count / TILE_NODES ** height) - number * TILE_NODES;
    return tiles.get(`${height}/${number}`)!.slice(0, Math.min(full, TILE_NODES) * NODE_BYTES);
  };
}

Deno.test("proveFromTiles() gives every proof of every tree of 1 to 70 leaves", () => {
  const tiles = tilesOver(golden.values);
  for (let count = 1; count <= golden.values.length; count++) {
    const values = golden.values.slice(0, count);
    for (let index = 0; index < count; index++) {
      const read = reader(tiles, count, tilesOfProof(count, index));
      assert.deepEqual(proveFromTiles(count, index, read), proveInclusion(values, index));
    }
  }
});

Deno.test("proveFromTiles() proves leaves in the trees of all earlier sizes, by few tiles", () => {
  const values = Array.from({ length: 70_000 }, (_, at) => at.toString(16).padStart(64, "0"));
  const tiles = tilesOver(values);
  assert.equal(tiles.get("2/0")!.length, NODE_BYTES, "65,536 leaves fill a node of height 2");
  for (const count of [255, 256, 257, 513, 65_535, 65_536, 65_537, 70_000]) {
    const root = merkleRoot(values.slice(0, count));
    for (const index of [0, 1, 255, 256, count >> 1, count - 2, count - 1]) {
      if (index >= count) continue;
      const named = tilesOfProof(count, index);
      assert.ok(named.length <= 5, `${index} of ${count} reads ${named.length} tiles`);
      const proof = proveFromTiles(count, index, reader(tiles, count, named));
      const claim = { value: values[index]!, index, count, root };
      assert.ok(verifyInclusion(claim, proof), `${index} of ${count}`);
    }
  }
});

Deno.test("a tile that lacks a node is refused", () => {
  const tile = tilesOver(golden.values).get("0/0")!.subarray(NODE_BYTES);
  assert.throws(() => proveFromTiles(70, 68, () => tile));
});
