/** Writes the chunks of a tree in the making, in transactions of about a megabyte. */

import type { Engine, Transaction } from "../../kv/engine.ts";
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

export interface ChunkWriter {
  add(text: ChunkText): Promise<void>;
  /** Writes what is left. */
  end(): Promise<void>;
}

const BATCH_BYTES = 1024 * 1024;

export function openChunkWriter({ engine, pace, tenant, number, guard }: TreeBuild): ChunkWriter {
  let batch: ChunkText[] = [];
  let bytes = 0;

  async function end(): Promise<void> {
    if (batch.length === 0) return;
    const texts = batch;
    batch = [];
    bytes = 0;
    await engine.transact(async (tx) => {
      await guard(tx);
      for (const text of texts) storeChunk(tx, tenant, number, text);
    });
    await pace();
  }

  async function add(text: ChunkText): Promise<void> {
    batch.push(text);
    bytes += text.value.length;
    if (bytes >= BATCH_BYTES) await end();
    await pace();
  }

  return { add, end };
}
