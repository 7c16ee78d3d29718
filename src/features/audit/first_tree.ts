/**
 * Builds the first tree of an environment: over every stream, in key order. It works chunk by
 * chunk and block by block, and never has the whole tree in memory.
 */

import {
  blocksRoot,
  hashBlock,
  type HashedBlock,
  joinBlocks,
  type TreeEntry,
} from "../../domain/audit/tree_blocks.ts";
import { BLOCK_LEAVES } from "../../domain/audit/tree_rows.ts";
import { CHUNK_STREAMS_SPLIT, type ChunkShape, imageOf } from "../../store/audit/tree_chunks.ts";
import type { BuiltTree } from "./build_tree.ts";
import { type AddChunk, type TreeBuild, writeChunks } from "./write_chunks.ts";

type Pages = AsyncIterable<readonly TreeEntry[]> | Iterable<readonly TreeEntry[]>;

/** `pages` has the streams by key; at least one in all. */
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
