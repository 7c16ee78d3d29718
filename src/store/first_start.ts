/** Records where the keys of the first start were written, for later starts on other machines. */

import type { ReadTransaction, Transaction } from "../kv/engine.ts";
import { decodeRecord, encodeRecord } from "./json_record.ts";
import { keys } from "./keys.ts";

export interface FirstStartRecord {
  readonly instance_id: string;
  /** For people: a path and the name of a machine. */
  readonly place: string;
  /** ISO 8601 UTC. */
  readonly made_at: string;
}

export function storeFirstStart(tx: Transaction, record: FirstStartRecord): void {
  tx.set(keys.firstStart(), encodeRecord(record));
}

export async function readFirstStart(
  tx: Pick<ReadTransaction, "get">,
): Promise<FirstStartRecord | undefined> {
  const value = await tx.get(keys.firstStart());
  return value && decodeRecord<FirstStartRecord>(value);
}
