/** Appends events to an open stream and maintains what the store keeps about their aggregate. */

import type { EncodedEvent } from "../../domain/event.ts";
import { runAtOnce, type Steps } from "../../domain/fairness/pieces.ts";
import type { Transaction } from "../../kv/engine.ts";
import { indexAggregate } from "../../store/streams/aggregates.ts";
import { enqueueStreamRebuild, REBUILD_EVERY_BYTES } from "../../store/streams/rebuilds.ts";
import type { StreamAppender } from "../../store/streams/streams.ts";

/**
 * Appends the events and returns the index of the first. `timestamp` is the Unix time in
 * seconds of the last event, and of the first one as well unless `firstTimestamp` is given.
 */
export function* appendEventsSteps(
  tx: Transaction,
  tenant: number,
  stream: StreamAppender,
  aggregate: { readonly aggregateType: string; readonly id: string },
  events: readonly EncodedEvent[],
  timestamp: number,
  firstTimestamp: number = timestamp,
): Steps<number> {
  const before = stream.head;
  const first = yield* stream.appendSteps(events, timestamp, firstTimestamp);
  if (first === 0) indexAggregate(tx, tenant, aggregate.aggregateType, aggregate.id);
  if (rebuildsDue(stream.head.bytes) > rebuildsDue(before.bytes)) {
    enqueueStreamRebuild(tx, tenant, stream.key);
  }
  return first;
}

/** The same in one step, for few events. */
export function appendEvents(...args: Parameters<typeof appendEventsSteps>): number {
  return runAtOnce(appendEventsSteps(...args));
}

function rebuildsDue(bytes: number): number {
  return Math.floor(bytes / REBUILD_EVERY_BYTES);
}
