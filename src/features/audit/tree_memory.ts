/**
 * Remembers the newest trees that this process has made: block nodes and chunk shapes. With
 * that, an anchor reads, hashes and writes only what has changed. Without it, after a start or
 * when another process made the last anchor, it reads the chunks.
 */

import { LRUCache } from "lru-cache";
import type { TreeRows } from "../../domain/audit/tree_rows.ts";
import type { ChunkShape } from "../../store/audit/tree_chunks.ts";

export interface TreeMemory {
  /** The number of the anchor whose tree it is. */
  readonly anchor: number;
  /** All chunks by their first keys, in order, with what is known of them. */
  readonly chunks: ReadonlyMap<string, ChunkShape | undefined>;
  /** All blocks in order; undefined for those that are not known. */
  readonly blocks: readonly (TreeRows | undefined)[];
}

export interface TreeMemories {
  /**
   * Takes the memory out, because it is consumed: its changed form is only valid once the
   * anchor is published.
   */
  take(tenant: number, anchor: number): TreeMemory | undefined;
  keep(tenant: number, memory: TreeMemory): void;
}

/** Enough for trees of a million streams in all. A larger tree is not remembered. */
const BYTES_MAX = 72 * 1024 * 1024;
/** A map entry, its key and a small object. */
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
