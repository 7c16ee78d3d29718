/**
 * A Merkle tree that grows at its end, in pieces that never change once they are full: tiles of
 * {@link TILE_NODES} nodes. A proof of any leaf in the tree of the first n leaves, for any n, needs
 * at most two tiles for each {@link TILE_HEIGHT} levels. For the events of long streams.
 *
 * Tile (height, number) holds the nodes `number * TILE_NODES` and on of the level
 * `height * TILE_HEIGHT`, packed; the last one of a height holds those that are full so far.
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
} from "./node_hash.ts";

/** Levels between a tile and the one above. */
export const TILE_HEIGHT = 8;
export const TILE_NODES = 2 ** TILE_HEIGHT;

/** Stands for a node while it is only asked which ones are read. */
const BLANK: NodeHash = "00".repeat(NODE_BYTES);

export interface TilePlace {
  readonly height: number;
  readonly number: number;
}

/**
 * The tiles that the proof of leaf `index` in the tree of the first `count` leaves reads, each
 * once. Of the last tile of a height at most the first `floor(count / 256^height)` nodes, counted
 * over all tiles of that height, are looked at: it may have grown since.
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

/** The proof, from the tiles that {@link tilesOfProof} has named. */
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

/** The node of a full tile that stands in the tile above. */
export function tileHash(tile: PackedNodes): NodeHash {
  return subtreeHash(tile, 0, TILE_HEIGHT);
}

function tileOf(level: number, index: number): TilePlace {
  const height = Math.floor(level / TILE_HEIGHT);
  return { height, number: Math.floor(index * 2 ** (level % TILE_HEIGHT) / TILE_NODES) };
}

/** Reads any node of the tree of `count` leaves, given those whose subtrees are full. */
function edgeReader(count: number, readFull: NodeReader): NodeReader {
  /** By level, for each has one node at most that is not full: the last. */
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

/** The node `height` levels above the `2 ** height` packed nodes that begin at `first`. */
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
