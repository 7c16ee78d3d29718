/**
 * A Merkle tree that grows at its end, stored in tiles; for the events of long streams.
 *
 * A tile holds {@link TILE_NODES} nodes and never changes once it is full. A proof of any leaf
 * in the tree of the first n leaves, for any n, needs at most two tiles for each {@link
 * TILE_HEIGHT} levels.
 *
 * Tile (height, number) holds the nodes from `number * TILE_NODES` on of the level `height *
 * TILE_HEIGHT`, packed. The last tile of a height holds the nodes that are complete so far.
 */

import { assert } from "../assert.ts";
import { type InclusionProof, type NodeReader, proveFromNodes } from "./merkle.ts";
import {
  NODE_BYTES,
  nodeAt,
  type NodeHash,
  type PackedNodes,
  packedParentHash,
  parentHash,
} from "./chain.ts";

/** Levels between a tile and the one above. */
export const TILE_HEIGHT = 8;
export const TILE_NODES = 2 ** TILE_HEIGHT;

/** A placeholder node, used to find out which tiles a proof reads. */
const BLANK: NodeHash = "00".repeat(NODE_BYTES);

export interface TilePlace {
  readonly height: number;
  readonly number: number;
}

/**
 * The tiles that the proof of leaf `index` reads in the tree of the first `count` leaves, each
 * once. The last tile of a height may have grown since; of that height only the first
 * `floor(count / 256^height)` nodes are read, counted over all its tiles.
 */
export function tilesOfProof(count: number, index: number): TilePlace[] {
  const places = new Map<string, TilePlace>();
  proveFromNodes(
    count,
    index,
    edgeReader(count, (level, at) => {
      const place = tileOf(level, at);
      places.set(`${place.height}/${place.number}`, place);
      return BLANK;
    }),
  );
  return [...places.values()];
}

/** The proof, built from the tiles that {@link tilesOfProof} named. */
export function proveFromTiles(
  count: number,
  index: number,
  tile: (place: TilePlace) => PackedNodes,
): InclusionProof {
  return proveFromNodes(
    count,
    index,
    edgeReader(count, (level, at) => {
      const place = tileOf(level, at);
      const first = at * 2 ** (level % TILE_HEIGHT) - place.number * TILE_NODES;
      return subtreeHash(tile(place), first, level % TILE_HEIGHT);
    }),
  );
}

/** The node in the tile above that a full tile hashes to. */
export function tileHash(tile: PackedNodes): NodeHash {
  return subtreeHash(tile, 0, TILE_HEIGHT);
}

function tileOf(level: number, index: number): TilePlace {
  const height = Math.floor(level / TILE_HEIGHT);
  return { height, number: Math.floor(index * 2 ** (level % TILE_HEIGHT) / TILE_NODES) };
}

/** Reads any node of the tree of `count` leaves, given a reader for the nodes of full subtrees. */
function edgeReader(count: number, readFull: NodeReader): NodeReader {
  /** By level: each level has at most one node whose subtree is not full, its last. */
  const edges: NodeHash[] = [];

  function read(level: number, index: number): NodeHash {
    if ((index + 1) * 2 ** level <= count) return readFull(level, index);
    return edges[level] ??= edge(level, index);
  }

  function edge(level: number, index: number): NodeHash {
    const left = read(level - 1, 2 * index);
    const hasRight = (2 * index + 1) * 2 ** (level - 1) < count;
    return parentHash(left, hasRight ? read(level - 1, 2 * index + 1) : left);
  }
  return read;
}

/** The node `height` levels above the `2 ** height` packed nodes from `first` on. */
function subtreeHash(nodes: PackedNodes, first: number, height: number): NodeHash {
  assert(
    (first + 2 ** height) * NODE_BYTES <= nodes.length,
    "a tile holds every node that is full",
  );
  if (height === 0) return nodeAt(nodes, first);
  if (height === 1) return packedParentHash(nodes, first);
  const half = 2 ** (height - 1);
  return parentHash(
    subtreeHash(nodes, first, height - 1),
    subtreeHash(nodes, first + half, height - 1),
  );
}
