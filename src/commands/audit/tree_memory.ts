/**
 * What a process remembers of the newest trees that it has made: the nodes of their blocks, and how
 * their chunks are kept. With it an anchor reads, hashes and writes what has changed and no more.
 * Without it, after a start or where another process has made the last one, it reads the chunks.
 */

import { LRUCache } from "lru-cache";
import type { TreeRows } from "../../domain/audit/tree_rows.ts";
import type { ChunkShape } from "../../store/tree_chunks.ts";

export interface TreeMemory {
  /** Number of the anchor whose tree it is. */
  readonly anchor: number;
  /** All chunks by their first keys, in order, with what is known of them. */
  readonly chunks: ReadonlyMap<string, ChunkShape | undefined>;
  /** All blocks in order, those that are known. */
  readonly blocks: readonly (TreeRows | undefined)[];
}

export interface TreeMemories {
  /** Takes it out, for it is used up: what becomes of it is true once the anchor is published. */
  take(tenant: number, anchor: number): TreeMemory | undefined;
  keep(tenant: number, memory: TreeMemory): void;
}

/** Trees of a million streams in all. A larger one is not remembered. */
const BYTES_MAX = 72 * 1024 * 1024;
/** An entry of a map, its key and a small object. */
const CHUNK_BYTES = 250;

export function openTreeMemories(): TreeMemories {
  const memories = new LRUCache<number, TreeMemory>({
    maxSize: BYTES_MAX,
    sizeCalculation: bytesOf,
  });
  return {
    take(tenant, anchor) {
      const memory = memories.get(tenant);
      memories.delete(tenant);
      return memory?.anchor === anchor ? memory : undefined;
    },
    keep: (tenant, memory) => void memories.set(tenant, memory),
  };
}

function bytesOf({ chunks, blocks }: TreeMemory): number {
  const rows = blocks.flatMap((block) => block?.rows ?? []);
  return 1 + CHUNK_BYTES * chunks.size + rows.reduce((sum, { length }) => sum + length, 0);
}
