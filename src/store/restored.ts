/** Marks a deployment that was restored from a backup and has not been resumed yet. */

import type { ReadTransaction, Transaction } from "../kv/engine.ts";
import { decodeRecord, encodeRecord } from "./json_record.ts";
import { keys } from "./keys.ts";

/** Times are in ISO 8601 UTC. */
export interface RestoredMark {
  readonly restored_at: string;
  /** The moment that the backup shows. */
  readonly moment: string;
}

export async function readRestored(
  tx: Pick<ReadTransaction, "get">,
): Promise<RestoredMark | undefined> {
  const value = await tx.get(keys.restored());
  return value && decodeRecord<RestoredMark>(value);
}

/** Undefined: it goes on as any other. Whoever follows pauses is told. */
export function setRestored(tx: Transaction, mark: RestoredMark | undefined): void {
  if (mark === undefined) tx.clear(keys.restored());
  else tx.set(keys.restored(), encodeRecord(mark));
  tx.add(keys.pauseSignal(), 1n);
}
