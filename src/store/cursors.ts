/**
 * How far each reader of the commit log has come. The transaction that does a reader's work also
 * reads the cursor and moves it, so nothing is done twice or left out.
 */

import type { Bytes, ReadTransaction, Transaction } from "../kv/engine.ts";
import { keys } from "./keys.ts";

/** One shard of the log, as one reader sees it. */
export interface CursorName {
  readonly tenant: number;
  readonly consumer: string;
  readonly shard: number;
}

/** The position of the last commit that is done; undefined at the start. Guarded. */
export function readCursor(
  tx: Pick<ReadTransaction, "get">,
  { tenant, consumer, shard }: CursorName,
): Promise<Bytes | undefined> {
  return tx.get(keys.cursor(tenant, consumer, shard));
}

/** Call this in the transaction of the effect. */
export function moveCursor(
  tx: Transaction,
  { tenant, consumer, shard }: CursorName,
  position: Bytes,
): void {
  tx.set(keys.cursor(tenant, consumer, shard), position);
}

/** For a reader that no longer exists. */
export function clearCursors(tx: Transaction, tenant: number, consumer: string): void {
  tx.clearRange(keys.cursors(tenant, consumer));
}
