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
import {
  answerFromEntry,
  type LedgerEntry,
  readLedger,
  recordInLedger,
  touchLedger,
} from "../store/idempotency.ts";
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

/**
 * Appends each write in order; a refused one leaves no trace. All that they need is read at once:
 * on a network each read waits for its reply. Two of them must not have one idempotency key, and
 * never do: the second is refused while the first is in flight (`write_events.ts`).
 */
export async function appendWrites(
  tx: Transaction,
  tenant: number,
  writes: readonly PreparedWrite[],
): Promise<Outcome<Written>[]> {
  // One promise for all reads: where one fails while nobody waits for it, the process ends.
  const [entries, streams] = await Promise.all([
    Promise.all(
      writes.map(({ idempotency }) => idempotency && readLedger(tx, tenant, idempotency)),
    ),
    openStreams(tx, tenant, writes),
  ]);
  const outcomes = writes.map((write, index) =>
    appendWrite(tx, tenant, write, entries[index], streams)
  );
  for (const stream of streams.values()) stream.flush();
  return outcomes;
}

type Streams = ReadonlyMap<StreamKey, StreamAppender>;

async function openStreams(
  tx: Transaction,
  tenant: number,
  writes: readonly PreparedWrite[],
): Promise<Streams> {
  const keys = new Set<StreamKey>();
  for (const { targets } of writes) for (const { key } of targets) keys.add(key);
  const opened = await Promise.all([...keys].map((key) => openStream(tx, tenant, key)));
  return new Map(opened.map((stream) => [stream.key, stream]));
}

function appendWrite(
  tx: Transaction,
  tenant: number,
  write: PreparedWrite,
  entry: LedgerEntry | undefined,
  streams: Streams,
): Outcome<Written> {
  const { form, requestId, idempotency, now } = write;
  const recorded = idempotency && answerRepeated(tx, tenant, idempotency, entry, now);
  if (recorded !== undefined) return recorded;
  for (const target of write.targets) {
    const { length } = streams.get(target.key)!.head;
    if (!meetsExpectedLength(length, target.expected)) {
      return refuseConflict(form, target, length);
    }
  }
  const targets = write.targets.map((target) => {
    const first = appendTarget(tx, tenant, target, write.timestamp, streams.get(target.key)!);
    return { key: target.key, first, count: target.events.length };
  });
  const written: Written = { form, targets, impliedCount: 0, replayed: false, requestId };
  if (idempotency !== undefined) recordInLedger(tx, tenant, idempotency, written, now);
  return accept(written);
}

/** The recorded answer of a key, or that its body differs; undefined for a key not seen. */
export async function answerFromLedger(
  tx: Transaction,
  tenant: number,
  idempotency: IdempotencyClaim,
  now: number,
): Promise<Outcome<Written> | undefined> {
  const entry = await readLedger(tx, tenant, idempotency);
  return answerRepeated(tx, tenant, idempotency, entry, now);
}

function answerRepeated(
  tx: Transaction,
  tenant: number,
  idempotency: IdempotencyClaim,
  entry: LedgerEntry | undefined,
  now: number,
): Outcome<Written> | undefined {
  const answer = answerFromEntry(entry, idempotency, now);
  if (entry === undefined || answer.kind === "unseen") return undefined;
  if (answer.kind === "mismatch") return refuse({ kind: "idempotency_mismatch" });
  touchLedger(tx, tenant, idempotency, entry, now);
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
