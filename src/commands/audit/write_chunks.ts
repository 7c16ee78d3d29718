/** Writes the chunks of a tree in the making, in transactions of about a megabyte. */

import type { Engine, SnapshotOptions, Transaction } from "../../kv/engine.ts";
import { type ChunkText, storeChunk } from "../../store/tree_chunks.ts";
import type { Pace } from "./pace.ts";

export interface TreeBuild {
  readonly engine: Engine;
  readonly pace: Pace;
  readonly tenant: number;
  /** Of the anchor that is made. */
  readonly number: number;
  /** Called in each transaction that writes; throws where another has taken over. */
  readonly guard: (tx: Transaction) => Promise<void>;
}

/** Keeps a chunk, now or with others that follow. Rejects where one before could not be kept. */
export type AddChunk = (text: ChunkText) => Promise<void>;

/** What is read for a tree is told to nobody before the commit that publishes it. */
export const TREE_READS: SnapshotOptions = { isUnsynced: true };

const BATCH_BYTES = 1024 * 1024;

/**
 * Keeps all chunks that `fill` adds. While some are being written and synced it goes on with the
 * next; when this resolves or rejects nothing is under way any more, so a second try of the same
 * tree cannot meet a late write of the first.
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
    // Told to whoever waits for it next.
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
