/**
 * Rewrites a stream as erasure markers, step by step, until a step reaches the end. The markers
 * are stored next to the events, and the last step replaces the events with them in the same
 * transaction. So readers see either all events or all markers. A write lands before the
 * markers are complete and is erased as well, or it lands after them. A step that dies has had
 * no effect. See docs/reference/erasure.md.
 */

import { assert } from "../../domain/assert.ts";
import { extendChain } from "../../domain/audit/chain.ts";
import { extendFrontierBy } from "../../domain/audit/frontier.ts";
import { ERASED_TYPE, markerOf } from "../../domain/erasure/marker.ts";
import type { RewriteProgress, RewriteResult, Tombstone } from "../../domain/erasure/tombstone.ts";
import { decodeEvent } from "../../domain/event.ts";
import type { StreamKey } from "../../domain/stream_key.ts";
import type { Transaction } from "../../kv/engine.ts";
import { countRewrite, markChange, readEpoch } from "../../store/streams/audit_cuts.ts";
import { logRewrite } from "../../store/projections/erased_views.ts";
import { movePoint } from "../../store/streams/geo_index.ts";
import { enqueueStreamRebuild, REBUILD_EVERY_BYTES } from "../../store/streams/rebuilds.ts";
import type { ChainedEvent } from "../../store/streams/segment.ts";
import type { StreamHead } from "../../store/streams/stream_head.ts";
import { type IndexedEvent, readEvents } from "../../store/streams/stream_events.ts";
import { placeEvents, placeSegments, readHead } from "../../store/streams/streams.ts";
import { signalErasure } from "../../store/tombstones.ts";

/** Limits of one step: bytes and number of events. Other work waits while a step runs. */
const STEP_BYTES = 1024 * 1024;
const STEP_EVENTS = 2_000;

/** The result of a step: more to do, or the stream as it is after the commit. */
export type RewriteStep =
  | { readonly kind: "more"; readonly rewrite: RewriteProgress }
  | { readonly kind: "swapped"; readonly result: RewriteResult };

/** Does one step, in a transaction that has read the tombstone, guarded. */
export async function rewriteStep(
  tx: Transaction,
  tenant: number,
  { id, key, rewrite }: Pick<Tombstone, "id" | "key" | "rewrite">,
): Promise<RewriteStep> {
  // Unguarded, because writers go on while markers are built.
  const head = await readHead(tx.unguarded, tenant, key);
  const before = rewrite ?? beginRewrite(head);
  assert(before.generation === head.generation + 1, "a stream is rewritten by one request only");
  const window = { from: before.length, to: head.length, bytesMax: STEP_BYTES };
  const read = await readEvents(tx.unguarded, tenant, key, window);
  const events = read.slice(0, STEP_EVENTS);
  const { after, markers } = extendRewrite(before, events, id);
  if (after.length < head.length) {
    placeSegments(tx, tenant, key, before.generation, before.length, markers);
    return { kind: "more", rewrite: after };
  }
  // Guarded from here on: a concurrent write commits before this transaction or conflicts with
  // it.
  assert((await readHead(tx, tenant, key)).tip === head.tip, "a transaction reads one version");
  await swap(tx, tenant, key, head, before, after, markers);
  const { generation, length: event_count, erased: erased_count } = after;
  const result = { generation, event_count, erased_count };
  return { kind: "swapped", result: { ...result, previous_tip: head.tip!, tip: after.tip! } };
}

function beginRewrite({ generation }: StreamHead): RewriteProgress {
  return { generation: generation + 1, length: 0, erased: 0, bytes: 0, peaks: [] };
}

function extendRewrite(
  before: RewriteProgress,
  events: readonly IndexedEvent[],
  tombstoneId: string,
): { readonly after: RewriteProgress; readonly markers: readonly ChainedEvent[] } {
  let { erased, bytes, tip } = before;
  const markers = events.map(({ raw }): ChainedEvent => {
    const event = decodeEvent(raw);
    const marker = markerOf(event, raw, tombstoneId);
    if (event.type !== ERASED_TYPE) erased++;
    bytes += marker.bytes;
    tip = extendChain(tip, marker.raw);
    return { raw: marker.raw, bytes: marker.bytes, hash: tip };
  });
  const { count: length, peaks } = extendFrontierBy(
    { count: before.length, peaks: before.peaks },
    markers.map(({ hash }) => hash),
  );
  return { after: { ...before, length, erased, bytes, tip, peaks }, markers };
}

/**
 * Replaces the events with the markers. For anchors, the stream has changed in this epoch. As
 * with every rewrite, a cut under way becomes void.
 */
async function swap(
  tx: Transaction,
  tenant: number,
  stream: StreamKey,
  head: StreamHead,
  before: RewriteProgress,
  { generation, bytes, tip, peaks }: RewriteProgress,
  markers: readonly ChainedEvent[],
): Promise<void> {
  const epoch = await readEpoch(tx, tenant);
  markChange(tx, tenant, stream, head, epoch);
  const swapped: StreamHead = { ...head, generation, epoch, bytes, tip, peaks, place: undefined };
  movePoint(tx, tenant, stream, head.place, undefined);
  placeEvents(tx, tenant, stream, before.length, markers, swapped);
  countRewrite(tx, tenant);
  signalErasure(tx);
  await logRewrite(tx, tenant, stream, head.length);
  // A long stream is not readable without a snapshot, and all its snapshots have become void.
  if (bytes >= REBUILD_EVERY_BYTES) enqueueStreamRebuild(tx, tenant, stream);
}
