/**
 * Finds awaited events that are written but have not been shown to the sagas yet. A saga whose
 * time is over looks here first, so that the order of commits decides, not how far the workers
 * are.
 */

import type { WaitingEntry } from "../../domain/reaction/outbox_entry.ts";
import type { StreamKey } from "../../domain/stream_key.ts";
import type { ReadTransaction } from "../../kv/engine.ts";
import { unpack } from "../../kv/tuple.ts";
import { decodeRecord } from "../json_record.ts";
import { keys } from "../keys.ts";
import { outboxShard } from "./outbox.ts";

/** Most entries of one stream that are looked through. */
const ENTRIES_MAX = 1_000;
/** No event has this index. */
const INDEX_END = Number.MAX_SAFE_INTEGER;
const OBJECT_BEGIN = "{".charCodeAt(0);

export interface AwaitedEvents {
  readonly key: StreamKey;
  readonly eventTypes: readonly string[];
  /** Index of the first event that counts. */
  readonly from: number;
}

/**
 * Index of the first awaited event that waits to be shown. Guarded: a write meanwhile conflicts.
 */
export async function findArrival(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  { key: stream, eventTypes, from }: AwaitedEvents,
): Promise<number | undefined> {
  const shard = outboxShard({ tenant, stream, index: from, number: 0 });
  const begin = keys.outbox(shard, tenant, stream, from, 0);
  const end = keys.outbox(shard, tenant, stream, INDEX_END, 0);
  const pairs = await tx.getRange({ begin, end }, { limit: ENTRIES_MAX });
  for (const { key, value } of pairs) {
    // A value in pieces is an event to be written, not an entry for sagas.
    if (value[0] !== OBJECT_BEGIN) continue;
    const { entry } = decodeRecord<WaitingEntry>(value);
    if (entry.kind !== "sagas" || !eventTypes.includes(entry.eventType)) continue;
    return unpack(key).at(-2) as number;
  }
  return undefined;
}
