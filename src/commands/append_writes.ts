/**
 * The transaction body of every write: ledger before OCC, all targets or none, and what must
 * commit with the events. Several writes to one stream may share it, each with its own answer.
 */

import type { EncodedEvent } from "../domain/event.ts";
import { type ExpectedLength, meetsExpectedLength } from "../domain/occ.ts";
import { accept, type Outcome, refuse } from "../domain/refusal.ts";
import type { StreamKey } from "../domain/stream_key.ts";
import type { IdempotencyClaim, WriteRequest, Written } from "../domain/write.ts";
import type { Transaction } from "../kv/engine.ts";
import { indexAggregate } from "../store/aggregates.ts";
import { lookUpLedger, recordInLedger, touchLedger } from "../store/idempotency.ts";
import { enqueueStreamRebuild } from "../store/rebuilds.ts";
import { openStream, type StreamAppender } from "../store/streams.ts";

/** A checked write with its bytes made: all that is left is to place them. */
export interface PreparedWrite {
  readonly form: WriteRequest["form"];
  readonly targets: readonly PreparedTarget[];
  /** What its events store. */
  readonly bytes: number;
  /** Unix seconds stamped on its events. */
  readonly timestamp: number;
  /** Unix seconds of the service's clock. */
  readonly now: number;
  readonly requestId: string;
  readonly idempotency?: IdempotencyClaim;
}

export interface PreparedTarget {
  readonly key: StreamKey;
  readonly aggregateType: string;
  readonly id: string;
  readonly expected: ExpectedLength;
  readonly events: readonly EncodedEvent[];
  readonly bytes: number;
}

/** Every so many stored bytes of a stream, its snapshot is brought up to date in the background. */
export const REBUILD_EVERY_BYTES = 4 * 1024 * 1024;

/** Appends each write in order; a refused one leaves no trace. */
export async function appendWrites(
  tx: Transaction,
  tenant: number,
  writes: readonly PreparedWrite[],
): Promise<Outcome<Written>[]> {
  const streams = new Map<StreamKey, StreamAppender>();
  const outcomes: Outcome<Written>[] = [];
  for (const write of writes) outcomes.push(await appendWrite(tx, tenant, write, streams));
  for (const stream of streams.values()) stream.flush();
  return outcomes;
}

async function appendWrite(
  tx: Transaction,
  tenant: number,
  write: PreparedWrite,
  streams: Map<StreamKey, StreamAppender>,
): Promise<Outcome<Written>> {
  const recorded = await answerFromLedger(tx, tenant, write.idempotency, write.now);
  if (recorded !== undefined) return recorded;
  for (const target of write.targets) {
    const stream = streams.get(target.key) ?? await openStream(tx, tenant, target.key);
    streams.set(target.key, stream);
    const { length } = stream.head;
    if (!meetsExpectedLength(length, target.expected)) {
      return refuseConflict(write.form, target, length);
    }
  }
  const targets = write.targets.map((target) => {
    const first = appendTarget(tx, tenant, target, write.timestamp, streams.get(target.key)!);
    return { key: target.key, first, count: target.events.length };
  });
  const { form, requestId, idempotency, now } = write;
  const written: Written = { form, targets, impliedCount: 0, replayed: false, requestId };
  if (idempotency !== undefined) recordInLedger(tx, tenant, idempotency, written, now);
  return accept(written);
}

/** The recorded answer of a key, or that its body differs; undefined for a key not seen. */
export async function answerFromLedger(
  tx: Transaction,
  tenant: number,
  idempotency: IdempotencyClaim | undefined,
  now: number,
): Promise<Outcome<Written> | undefined> {
  if (idempotency === undefined) return undefined;
  const answer = await lookUpLedger(tx, tenant, idempotency, now);
  if (answer.kind === "unseen") return undefined;
  if (answer.kind === "mismatch") return refuse({ kind: "idempotency_mismatch" });
  await touchLedger(tx, tenant, idempotency, now);
  return accept(answer.written);
}

function refuseConflict(form: WriteRequest["form"], target: PreparedTarget, length: number) {
  const expected = target.expected as number;
  if (form !== "atomic") return refuse({ kind: "occ_conflict", length, expected });
  return refuse({ kind: "occ_conflict_atomic", key: target.key, length, expected });
}

/** Gives the index of the target's first event. */
function appendTarget(
  tx: Transaction,
  tenant: number,
  target: PreparedTarget,
  timestamp: number,
  stream: StreamAppender,
): number {
  const before = stream.head;
  const first = stream.append(target.events, timestamp);
  if (first === 0) indexAggregate(tx, tenant, target.aggregateType, target.id);
  if (rebuildsDue(stream.head.bytes) > rebuildsDue(before.bytes)) {
    enqueueStreamRebuild(tx, tenant, target.key);
  }
  return first;
}

function rebuildsDue(bytes: number): number {
  return Math.floor(bytes / REBUILD_EVERY_BYTES);
}
