/**
 * Builds an instance tree from the previous tree and the streams that have changed since. A
 * chunk with a changed stream is written as a change, or as a whole. A block with a changed
 * stream is rehashed as far as the change reaches. From the first new stream on, all blocks are
 * hashed anew, because the new stream moves those after it. See docs/reference/audit.md.
 *
 * Nothing is visible before the anchor is published, and a second try writes the same chunks or
 * more.
 */

import { type Frontier, frontierRoot } from "../../domain/audit/frontier.ts";
import { leafHash, setNode } from "../../domain/audit/chain.ts";
import {
  blockOfRows,
  blocksRoot,
  blockWith,
  hashBlock,
  type HashedBlock,
  joinBlocks,
  mergeEntries,
  type TreeBlock,
  type TreeEntry,
} from "../../domain/audit/tree_blocks.ts";
import {
  BLOCK_LEAVES,
  changeRows,
  indexOfNode,
  type TreeRows,
} from "../../domain/audit/tree_rows.ts";
import {
  changeOf,
  CHUNK_STREAMS_SPLIT,
  type ChunkShape,
  type ChunkText,
  imageOf,
  imagesOf,
  listChunks,
  readChunk,
  shapeOf,
} from "../../store/audit/tree_chunks.ts";
import type { TreeMemory } from "./tree_memory.ts";
import { type AddChunk, TREE_READS, type TreeBuild, writeChunks } from "./write_chunks.ts";

/** A stream that has changed since the previous tree, or is new. */
export interface TreeChange extends TreeEntry {
  /** As it is in the previous tree; undefined if it is not there. */
  readonly before: Frontier | undefined;
}

export interface NextTreeBuild extends TreeBuild {
  /** The blocks of the previous anchor. */
  readonly blocks: readonly TreeBlock[];
  /** Sorted by key; at least one. */
  readonly changes: readonly TreeChange[];
  /** Memory of the previous anchor. It is consumed. */
  readonly memory?: TreeMemory;
}

export interface BuiltTree {
  readonly root: string;
  readonly blocks: readonly TreeBlock[];
  /** Chunks that have to be published with the anchor. */
  readonly newChunks: readonly string[];
  readonly newStreams: number;
  readonly newEvents: number;
  /** Valid once the anchor is published. */
  readonly memory: TreeMemory;
}

/** Chunks kept in memory from the first half of the work for the second. */
const KEPT_CHUNKS = 1_000;

export async function buildTree(build: NextTreeBuild): Promise<BuiltTree> {
  const { number, changes } = build;
  const merged = await writeChunks(build, (add) => mergeChanges(build, add));
  const hashed = await hashBlocks(build, merged);
  const blocks = joinBlocks(hashed);
  let [newStreams, newEvents] = [0, 0];
  for (const { length, before } of changes) {
    if (before === undefined) newStreams++;
    newEvents += length - (before?.count ?? 0);
  }
  const rows = hashed.map((block) => "rows" in block ? block.rows : undefined);
  const known = rows.map((row, at) => row ?? build.memory?.blocks[at]);
  const memory = { anchor: number, chunks: merged.chunks, blocks: known };
  return {
    root: blocksRoot(blocks),
    blocks,
    newChunks: merged.split,
    newStreams,
    newEvents,
    memory,
  };
}

interface Merged {
  /** All chunks of the tree by their first keys. */
  chunks: Map<string, ChunkShape | undefined>;
  /** First keys of the chunks that were split off. */
  readonly split: string[];
  /** Entries of chunks that had to be read, for reuse. */
  readonly kept: Map<string, readonly TreeEntry[]>;
}

async function mergeChanges(build: NextTreeBuild, keepChunk: AddChunk): Promise<Merged> {
  const { engine, tenant, number, changes, memory } = build;
  const known = memory?.chunks ?? await listShapes(build);
  const merged: Merged = { chunks: new Map(known), split: [], kept: new Map() };

  async function add(text: ChunkText): Promise<void> {
    merged.chunks.set(text.low, text.shape);
    await keepChunk(text);
  }

  for (const { low, part } of partsOf([...known.keys()], changes)) {
    const shape = known.get(low);
    const blind = shape && changeOf(low, shape, part);
    if (blind !== undefined) {
      await add(blind);
      continue;
    }
    const before = await engine.snapshot(
      (tx) => readChunk(tx, tenant, low, number - 1),
      TREE_READS,
    );
    const after = mergeEntries(before.entries, part);
    const change = changeOf(low, shapeOf(before), part);
    if (change !== undefined) {
      keep(merged, low, after);
      await add(change);
      continue;
    }
    for (const { text, entries } of imagesOf(low, number, after)) {
      if (text.low !== low) merged.split.push(text.low);
      keep(merged, text.low, entries);
      await add(text);
    }
  }
  if (merged.split.length > 0) merged.chunks = inOrder(merged.chunks);
  return merged;
}

async function listShapes({ engine, tenant }: NextTreeBuild) {
  const chunks = await engine.snapshot((tx) => listChunks(tx, tenant));
  return inOrder(new Map(chunks.map(({ low }) => [low, undefined])));
}

function inOrder<T>(map: ReadonlyMap<string, T>): Map<string, T> {
  return new Map([...map].sort(([a], [b]) => a < b ? -1 : 1));
}

function keep({ kept }: Merged, low: string, entries: readonly TreeEntry[]): void {
  if (kept.size < KEPT_CHUNKS) kept.set(low, entries);
}

/** Groups the changes by the ranges that begin at `lows`; skips ranges without changes. */
function* partsOf<T extends { readonly key: string }>(
  lows: readonly string[],
  changes: readonly T[],
): Generator<{ readonly low: string; readonly index: number; readonly part: readonly T[] }> {
  let at = 0;
  for (const [index, low] of lows.entries()) {
    const next = lows[index + 1];
    const from = at;
    while (at < changes.length && (next === undefined || changes[at]!.key < next)) at++;
    if (at > from) yield { low, index, part: changes.slice(from, at) };
  }
}

/** The blocks of the new tree; blocks without changes are the old ones. */
async function hashBlocks(
  build: NextTreeBuild,
  merged: Merged,
): Promise<(TreeBlock | HashedBlock)[]> {
  const { blocks: before, changes, memory, pace } = build;
  const firstNew = changes.find((change) => change.before === undefined)?.key;
  const moved = firstNew === undefined ? before.length : Math.max(0, blockWith(before, firstNew));
  const blocks: (TreeBlock | HashedBlock)[] = before.slice(0, moved);
  for (const { index, part } of partsOf(before.map(({ first }) => first), changes)) {
    if (index >= moved) break;
    const { first } = before[index]!;
    const rows = memory?.blocks[index];
    const changed = rows && changeLeaves(rows, part);
    if (changed === undefined) {
      for await (const block of blocksBetween(build, merged, first, before[index + 1]?.first)) {
        blocks[index] = block;
      }
    } else blocks[index] = blockOfRows(first, changed);
    await pace();
  }
  if (moved === before.length) return blocks;
  // A new stream may come before the first of all.
  const from = moved === 0 ? "" : before[moved]!.first;
  for await (const block of blocksBetween(build, merged, from, undefined)) blocks.push(block);
  return blocks;
}

/**
 * Applies changes to the rows of a block, finding each leaf by its old hash. Undefined if a
 * leaf is missing.
 */
function changeLeaves(rows: TreeRows, changes: readonly TreeChange[]): TreeRows | undefined {
  const leaves = rows.rows[0]!;
  const indexes = changes.map(({ before }) => indexOfNode(leaves, leafHash(frontierRoot(before!))));
  if (indexes.includes(-1)) return undefined;
  for (const [at, { leaf }] of changes.entries()) setNode(leaves, indexes[at]!, leaf);
  return changeRows(rows, leaves, indexes, rows.count);
}

/** Cuts the streams from `from` up to but not including `to` into blocks, and hashes each. */
async function* blocksBetween(
  { engine, tenant, number, pace }: NextTreeBuild,
  { chunks, kept }: Merged,
  from: string,
  to: string | undefined,
): AsyncGenerator<HashedBlock> {
  const lows = [...chunks.keys()];
  let block: TreeEntry[] = [];
  for (const [index, low] of lows.entries()) {
    const next = lows[index + 1];
    if (next !== undefined && next <= from) continue;
    if (to !== undefined && low >= to) break;
    const entries = kept.get(low) ??
      (await engine.snapshot((tx) => readChunk(tx, tenant, low, number), TREE_READS)).entries;
    for (const entry of entries) {
      if (entry.key < from || (to !== undefined && entry.key >= to)) continue;
      block.push(entry);
      if (block.length < BLOCK_LEAVES) continue;
      yield hashBlock(block);
      block = [];
      await pace();
    }
  }
  if (block.length > 0) yield hashBlock(block);
}

type Pages = AsyncIterable<readonly TreeEntry[]> | Iterable<readonly TreeEntry[]>;

/**
 * Builds the first tree of an environment: over every stream, in key order. It works chunk by
 * chunk and block by block, and never has the whole tree in memory. `pages` has the streams by
 * key; at least one in all.
 */
export async function buildFirstTree(build: TreeBuild, pages: Pages): Promise<BuiltTree> {
  return await writeChunks(build, (add) => hashStreams(build, pages, add));
}

async function hashStreams(build: TreeBuild, pages: Pages, add: AddChunk): Promise<BuiltTree> {
  const chunks = new Map<string, ChunkShape>();
  const blocks: HashedBlock[] = [];
  let newStreams = 0;
  let newEvents = 0;

  async function addChunk(entries: readonly TreeEntry[]): Promise<void> {
    // Whatever comes before the first stream belongs to the first chunk.
    const text = imageOf(chunks.size === 0 ? "" : entries[0]!.key, build.number, entries);
    chunks.set(text.low, text.shape);
    await add(text);
  }

  const chunk: TreeEntry[] = [];
  const block: TreeEntry[] = [];
  for await (const page of pages) {
    for (const entry of page) {
      newStreams++;
      newEvents += entry.length;
      chunk.push(entry);
      block.push(entry);
      if (chunk.length === CHUNK_STREAMS_SPLIT) await addChunk(chunk.splice(0));
      if (block.length === BLOCK_LEAVES) blocks.push(hashBlock(block.splice(0)));
    }
    await build.pace();
  }
  if (chunk.length > 0) await addChunk(chunk);
  if (block.length > 0) blocks.push(hashBlock(block));
  const joined = joinBlocks(blocks);
  const memory = { anchor: build.number, chunks, blocks: blocks.map(({ rows }) => rows) };
  const newChunks = [...chunks.keys()];
  return { root: blocksRoot(joined), blocks: joined, newChunks, newStreams, newEvents, memory };
}
