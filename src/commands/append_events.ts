/** Appends events to an opened stream, with what the store keeps of their aggregate beside them. */

import type { EncodedEvent } from "../domain/event.ts";
import type { Transaction } from "../kv/engine.ts";
import { indexAggregate } from "../store/aggregates.ts";
import { enqueueStreamRebuild, REBUILD_EVERY_BYTES } from "../store/rebuilds.ts";
import type { StreamAppender } from "../store/streams.ts";

/**
 * Gives the index of the first event. Unix seconds: `timestamp` is that of the last event, and of
 * the first one too where `firstTimestamp` is left out.
 */
export function appendEvents(
  tx: Transaction,
  tenant: number,
  stream: StreamAppender,
  aggregate: { readonly aggregateType: string; readonly id: string },
  events: readonly EncodedEvent[],
  timestamp: number,
  firstTimestamp: number = timestamp,
): number {
  const before = stream.head;
  const first = stream.append(events, timestamp, firstTimestamp);
  if (first === 0) indexAggregate(tx, tenant, aggregate.aggregateType, aggregate.id);
  if (rebuildsDue(stream.head.bytes) > rebuildsDue(before.bytes)) {
    enqueueStreamRebuild(tx, tenant, stream.key);
  }
  return first;
}

function rebuildsDue(bytes: number): number {
  return Math.floor(bytes / REBUILD_EVERY_BYTES);
}
