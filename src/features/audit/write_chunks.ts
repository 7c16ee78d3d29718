/** Writes the chunks of a tree under construction, in transactions of about a megabyte. */

import type { Engine, SnapshotOptions, Transaction } from "../../kv/engine.ts";
import { type ChunkText, storeChunk } from "../../store/audit/tree_chunks.ts";
import type { Pace } from "./pace.ts";

export interface TreeBuild {
  readonly engine: Engine;
  readonly pace: Pace;
  readonly tenant: number;
  /** Number of the anchor being made. */
  readonly number: number;
  /** Called in each transaction that writes; throws if another process has taken over. */
  readonly guard: (tx: Transaction) => Promise<void>;
}

/**
 * Stores a chunk, now or together with later ones. Rejects if an earlier one could not be
 * stored.
 */
export type AddChunk = (text: ChunkText) => Promise<void>;

/**
 * Unsynced reads are safe here: nothing depends on them before the commit that publishes the
 * tree, and that commit is durable only after everything it has read.
 */
export const TREE_READS: SnapshotOptions = { isUnsynced: true };

const BATCH_BYTES = 1024 * 1024;

/**
 * Stores all chunks that `fill` adds, and goes on with the next while some are written and
 * synced. When this resolves or rejects, nothing is under way any more, so a second try of the
 * same tree cannot meet a late write of the first.
 */
export async function writeChunks<T>(
  { engine, pace, tenant, number, guard }: TreeBuild,
  fill: (add: AddChunk) => Promise<T>,
): Promise<T> {
  let batch: ChunkText[] = [];
  let bytes = 0;
  let writing: Promise<void> = Promise.resolve();

  async function write(): Promise<void> {
    await writing;
    const texts = batch;
    batch = [];
    bytes = 0;
    writing = engine.transact(async (tx) => {
      await guard(tx);
      for (const text of texts) storeChunk(tx, tenant, number, text);
    });
    // The next caller that awaits `writing` gets the error.
    writing.catch(() => {});
  }

  async function add(text: ChunkText): Promise<void> {
    batch.push(text);
    bytes += text.value.length;
    if (bytes >= BATCH_BYTES) await write();
    await pace();
  }

  try {
    const result = await fill(add);
    if (batch.length > 0) await write();
    await writing;
    return result;
  } finally {
    await writing.catch(() => {});
  }
}
