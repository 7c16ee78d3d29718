/**
 * An instance tree from the one before and what has changed: chunks in which a stream changed are
 * written anew or as changes, blocks in which one changed are hashed anew, and from the first new
 * stream on all blocks are, for it moves those behind it. Nothing of it is seen before the anchor
 * is published, and a second try writes the same or more.
 */

import {
  blocksRoot,
  blockWith,
  hashBlock,
  type HashedBlock,
  joinBlocks,
  mergeEntries,
  type TreeBlock,
  type TreeEntry,
} from "../../domain/audit/tree_blocks.ts";
import { BLOCK_LEAVES } from "../../domain/audit/tree_rows.ts";
import type { Engine, Transaction } from "../../kv/engine.ts";
import {
  changeOf,
  type Chunk,
  CHUNK_STREAMS_MAX,
  type ChunkText,
  imageOf,
  listChunks,
  NO_CHUNK,
  readChunk,
  storeChunk,
} from "../../store/tree_chunks.ts";
import type { Pace } from "./pace.ts";

export interface TreeBuild {
  readonly engine: Engine;
  readonly pace: Pace;
  readonly tenant: number;
  /** Of the anchor that is made. */
  readonly number: number;
  /** Blocks of the anchor before, empty for the first. */
  readonly blocks: readonly TreeBlock[];
  /** Streams changed or new, by key; at least one. */
  readonly changes: readonly TreeEntry[];
  /** Called in each transaction that writes; throws where another has taken over. */
  readonly guard: (tx: Transaction) => Promise<void>;
}

export interface BuiltTree {
  readonly root: string;
  readonly blocks: readonly TreeBlock[];
  /** Chunks that are to be published with the anchor. */
  readonly newChunks: readonly string[];
  readonly newStreams: number;
  readonly newEvents: number;
}

const BATCH_BYTES = 1024 * 1024;
/** Chunks kept from the first half of the work for the second. */
const KEPT_CHUNKS = 1_000;

export async function buildTree(build: TreeBuild): Promise<BuiltTree> {
  const chunks = await build.engine.snapshot((tx) => listChunks(tx, build.tenant));
  const lows = chunks.map(({ low }) => low);
  const merged = await mergeChanges(build, lows.length === 0 ? [""] : lows);
  const newChunks = lows.length === 0 ? ["", ...merged.split] : merged.split;
  const allLows = [...(lows.length === 0 ? [""] : lows), ...merged.split].sort();
  const blocks = await hashBlocks(build, allLows, merged);
  const { newStreams, newEvents } = merged;
  return { root: blocksRoot(blocks), blocks, newChunks, newStreams, newEvents };
}

interface Merged {
  /** The chunks that were split off. */
  readonly split: string[];
  readonly kept: Map<string, readonly TreeEntry[]>;
  firstNew: string | undefined;
  newStreams: number;
  newEvents: number;
}

async function mergeChanges(build: TreeBuild, lows: readonly string[]): Promise<Merged> {
  const { engine, pace, tenant, number, changes, guard } = build;
  const merged: Merged = {
    split: [],
    kept: new Map(),
    firstNew: undefined,
    newStreams: 0,
    newEvents: 0,
  };
  let batch: ChunkText[] = [];
  let bytes = 0;

  async function flush(): Promise<void> {
    const texts = batch;
    batch = [];
    bytes = 0;
    await engine.transact(async (tx) => {
      await guard(tx);
      for (const text of texts) storeChunk(tx, tenant, number, text);
    });
    await pace();
  }

  let at = 0;
  for (const [index, low] of lows.entries()) {
    const next = lows[index + 1];
    const from = at;
    while (at < changes.length && (next === undefined || changes[at]!.key < next)) at++;
    if (at === from) continue;
    const before = number === 1
      ? NO_CHUNK
      : await engine.snapshot((tx) => readChunk(tx, tenant, low, number - 1));
    for (const text of mergeChunk(merged, number, low, before, changes.slice(from, at))) {
      batch.push(text);
      bytes += text.value.length;
      if (bytes >= BATCH_BYTES) await flush();
      await pace();
    }
  }
  if (batch.length > 0) await flush();
  return merged;
}

/** The chunk with its changes, as it is to be written: in pieces where it has grown too large. */
function* mergeChunk(
  merged: Merged,
  number: number,
  low: string,
  before: Chunk,
  changes: readonly TreeEntry[],
): Generator<ChunkText> {
  const lengths = new Map(before.entries.map(({ key, length }) => [key, length]));
  for (const { key, length } of changes) {
    const old = lengths.get(key);
    if (old === undefined) {
      merged.newStreams++;
      // Changes come by key.
      merged.firstNew ??= key;
    }
    merged.newEvents += length - (old ?? 0);
  }
  const after = mergeEntries(before.entries, changes);
  if (after.length <= CHUNK_STREAMS_MAX) {
    keep(merged, low, after);
    yield changeOf(low, number, before, changes, after);
    return;
  }
  const size = CHUNK_STREAMS_MAX / 2;
  for (let from = 0; from < after.length; from += size) {
    const piece = after.slice(from, from + size);
    const pieceLow = from === 0 ? low : piece[0]!.key;
    if (from > 0) merged.split.push(pieceLow);
    keep(merged, pieceLow, piece);
    yield imageOf(pieceLow, number, piece);
  }
}

function keep({ kept }: Merged, low: string, entries: readonly TreeEntry[]): void {
  if (kept.size < KEPT_CHUNKS) kept.set(low, entries);
}

/** The blocks of the new tree: old ones as far as nothing in them is new. */
async function hashBlocks(
  build: TreeBuild,
  lows: readonly string[],
  merged: Merged,
): Promise<TreeBlock[]> {
  const { blocks: before, changes } = build;
  const moved = merged.firstNew === undefined
    ? before.length
    : Math.max(0, blockWith(before, merged.firstNew));
  const blocks = before.slice(0, moved);
  let at = 0;
  for (let number = 0; number < moved; number++) {
    const next = before[number + 1]?.first;
    const from = at;
    while (at < changes.length && (next === undefined || changes[at]!.key < next)) at++;
    if (at === from) continue;
    const { first } = before[number]!;
    for await (const block of blocksBetween(build, lows, merged, first, next)) {
      blocks[number] = block;
    }
  }
  if (moved < before.length || before.length === 0) {
    const first = before[moved]?.first ?? "";
    // A new stream may come before the first of all.
    const from = moved === 0 ? "" : first;
    for await (const block of blocksBetween(build, lows, merged, from, undefined)) {
      blocks.push(block);
    }
  }
  return joinBlocks(blocks);
}

/** Cuts the streams from `from` up to but not `to` into blocks, and hashes each. */
async function* blocksBetween(
  build: TreeBuild,
  lows: readonly string[],
  merged: Merged,
  from: string,
  to: string | undefined,
): AsyncGenerator<HashedBlock> {
  let block: TreeEntry[] = [];
  for (const [index, low] of lows.entries()) {
    const next = lows[index + 1];
    if (next !== undefined && next <= from) continue;
    if (to !== undefined && low >= to) break;
    const entries = merged.kept.get(low) ??
      (await build.engine.snapshot((tx) => readChunk(tx, build.tenant, low, build.number))).entries;
    for (const entry of entries) {
      if (entry.key < from || (to !== undefined && entry.key >= to)) continue;
      block.push(entry);
      if (block.length < BLOCK_LEAVES) continue;
      yield hashBlock(block);
      block = [];
      await build.pace();
    }
  }
  if (block.length > 0) yield hashBlock(block);
}
