/**
 * Tiles of streams' Merkle trees (`domain/audit/tree_tiles.ts`), written in the background. Only
 * long streams have them. They only save reading: a tile that is missing follows from the
 * events.
 */

import { leafHash, NODE_BYTES, type PackedNodes, setNode } from "../../domain/audit/chain.ts";
import { TILE_NODES, tileHash, type TilePlace } from "../../domain/audit/tree_tiles.ts";
import type { Pieces } from "../../domain/fairness/pieces.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { Bytes, ReadTransaction, Transaction } from "../../kv/engine.ts";
import { unpack } from "../../kv/tuple.ts";
import { clearPage, type ErasedStream } from "../erased_copies.ts";
import { keys } from "../keys.ts";
import { readHashes, StreamRewritten } from "./stream_events.ts";

type Reads = Pick<ReadTransaction, "get" | "getRange">;

/** A stream in one of its generations. */
export interface TiledStream {
  readonly tenant: number;
  readonly key: StreamKey;
  readonly generation: number;
}

/** Bytes of segments that are read in one piece, for the hashes that are in them. */
const WINDOW_BYTES = 512 * 1024;

/** How many tiles of leaves are stored; they are full and follow each other. */
export async function countTiles(tx: Reads, stream: TiledStream): Promise<number> {
  const { tenant, key, generation } = stream;
  const range = keys.tiles(tenant, key, generation, 0);
  const [last] = await tx.getRange(range, { limit: 1, reverse: true });
  return last === undefined ? 0 : (unpack(last.key).at(-1) as number) + 1;
}

/** The length of a stream whose tiles are read, and the slices in which they are. */
export interface TileReading {
  readonly length: number;
  readonly pieces: Pieces;
}

/** The tile's nodes that are full in a stream of `length` events; computed if it is not stored. */
export async function readTile(
  tx: Reads,
  stream: TiledStream,
  { height, number }: TilePlace,
  reading: TileReading,
): Promise<PackedNodes> {
  const first = number * TILE_NODES;
  const full = Math.floor(reading.length / TILE_NODES ** height);
  const nodes = Math.min(TILE_NODES, full - first);
  const { tenant, key, generation } = stream;
  const stored = await tx.get(keys.tile(tenant, key, generation, height, number));
  if (stored !== undefined && stored.length >= nodes * NODE_BYTES) return stored;
  const tile = new Uint8Array(nodes * NODE_BYTES);
  for (let at = 0; at < nodes;) {
    await reading.pieces.rest();
    if (height > 0) {
      const place = { height: height - 1, number: first + at };
      setNode(tile, at, tileHash(await readTile(tx, stream, place, reading)));
      at++;
    } else {
      const leaves = await readLeaves(tx, stream, first + at, first + nodes);
      tile.set(leaves, at * NODE_BYTES);
      at += leaves.length / NODE_BYTES;
    }
  }
  return tile;
}

/**
 * The leaves of the next events from `from` on and before `to`: of at least one, and of as many as
 * one piece may read.
 * @throws {StreamRewritten} when the stream has another generation by now.
 */
export async function readLeaves(
  tx: Reads,
  { tenant, key, generation }: TiledStream,
  from: number,
  to: number,
): Promise<PackedNodes> {
  const window = { from, to, bytesMax: WINDOW_BYTES, generation };
  const hashes = await readHashes(tx, tenant, key, window);
  if (hashes.length === 0) throw new StreamRewritten(`${key} was rewritten`);
  const leaves = new Uint8Array(hashes.length * NODE_BYTES);
  for (const [at, hash] of hashes.entries()) setNode(leaves, at, leafHash(hash));
  return leaves;
}

/** Adds the next full tile of leaves, and its hash to the tiles above. */
export async function addTile(
  tx: Transaction,
  { tenant, key, generation }: TiledStream,
  number: number,
  leaves: PackedNodes,
): Promise<void> {
  let nodes = leaves;
  let at = number;
  for (let height = 0;; height++) {
    tx.set(keys.tile(tenant, key, generation, height, at), nodes);
    if (nodes.length < TILE_NODES * NODE_BYTES) return;
    const above = { number: Math.floor(at / TILE_NODES), place: at % TILE_NODES };
    const parent = keys.tile(tenant, key, generation, height + 1, above.number);
    const before = await tx.get(parent);
    const grown = new Uint8Array((above.place + 1) * NODE_BYTES);
    grown.set((before ?? new Uint8Array(0)).subarray(0, above.place * NODE_BYTES));
    setNode(grown, above.place, tileHash(nodes));
    nodes = grown;
    at = above.number;
  }
}

/** All stored tiles of one height. */
export async function listTiles(
  tx: Reads,
  { tenant, key, generation }: TiledStream,
  height: number,
): Promise<{ readonly number: number; readonly tile: PackedNodes }[]> {
  const pairs = await tx.getRange(keys.tiles(tenant, key, generation, height));
  return pairs.map(({ key, value }) => ({ number: unpack(key).at(-1) as number, tile: value }));
}

/** Removes the tiles of the generations that a stream had before an erasure. */
export async function removeOldTiles(
  tx: Transaction,
  { tenant, stream, generation }: ErasedStream,
): Promise<Bytes | undefined> {
  const { begin } = keys.streamTiles(tenant, stream);
  const { begin: end } = keys.tiles(tenant, stream, generation, 0);
  return await clearPage(tx, tenant, { begin, end });
}
