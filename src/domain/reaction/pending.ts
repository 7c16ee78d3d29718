/** Pending work that events have set off, as operators list and filter it. */

import { type EmitEntry, entryRoot, type OutboxWork } from "./outbox_entry.ts";
import { rootKey, rootOf, type StoredRoot } from "./root.ts";
import { splitStreamKey, type StreamKey } from "../identifier.ts";
import type { Emission } from "./action.ts";

export const PENDING_KINDS = ["implied", "scheduled", "saga"] as const;
export type PendingKind = typeof PENDING_KINDS[number];

/** One piece of pending work. */
export interface PendingView {
  readonly kind: PendingKind;
  /** The aggregate and type of the event to write; for a saga, those of the event it is about. */
  readonly key: StreamKey;
  readonly event_type: string;
  /** The aggregate of the write that began the chain. */
  readonly root_key: string;
  /** When the work was set off, and when a scheduled event is due. ISO 8601 UTC. */
  readonly since: string;
  readonly fire_at?: string;
  readonly saga_id?: string;
  /** The number of failed attempts. */
  readonly tries: number;
}

/** Selects the work that matches every given field. */
export interface PendingFilter {
  readonly kind?: PendingKind;
  /** The aggregate type of the event to write, or of the event that a saga is about. */
  readonly aggregate_type?: string;
  readonly event_type?: string;
  readonly root_key?: string;
}

export interface PendingCount {
  readonly count: number;
  /** Size as stored. */
  readonly bytes: number;
  /** Whether there is more than was counted. */
  readonly is_more: boolean;
}

/** The amount of each kind, counted up to a limit, and the time of the oldest that was counted. */
export interface PendingCounts {
  readonly implied: PendingCount;
  readonly scheduled: PendingCount;
  readonly saga: PendingCount;
  readonly delivery: PendingCount;
  readonly oldest: string | null;
}

export function isMatch(view: PendingView, filter: PendingFilter): boolean {
  const { kind, aggregate_type, event_type, root_key } = filter;
  if (kind !== undefined && view.kind !== kind) return false;
  if (aggregate_type !== undefined && splitStreamKey(view.key).type !== aggregate_type) {
    return false;
  }
  if (event_type !== undefined && view.event_type !== event_type) return false;
  return root_key === undefined || view.root_key === root_key;
}

export function viewEntry(work: OutboxWork): PendingView {
  const { place, entry, sinceMs, tries } = work;
  const root_key = rootKey(entryRoot(place, entry).of);
  const shared = { root_key, since: timeOf(sinceMs), tries };
  if (entry.kind === "sagas") {
    return { kind: "saga", key: place.stream, event_type: entry.eventType, ...shared };
  }
  const { emission: { key, eventType } } = entry as EmitEntry;
  return { kind: "implied", key, event_type: eventType, ...shared };
}

export interface PendingSchedule {
  readonly emission: Emission;
  readonly createdMs: number;
  readonly fireAtMs: number;
  readonly by: { readonly key: string; readonly streamId: string };
  readonly tries: number;
  readonly root?: StoredRoot;
}

export function viewSchedule(record: PendingSchedule): PendingView {
  const { emission: { key, eventType }, createdMs, fireAtMs, by, tries, root } = record;
  return {
    kind: "scheduled",
    key,
    event_type: eventType,
    root_key: rootKey(rootOf(root, by.key, by.streamId).of),
    since: timeOf(createdMs),
    fire_at: timeOf(fireAtMs),
    tries,
  };
}

export interface PendingSaga {
  readonly instance: {
    readonly id: string;
    readonly startedAt: number;
    readonly trigger: {
      readonly key: string;
      readonly event_type: string;
      readonly stream_id: string;
    };
  };
  readonly timerTries?: number;
  readonly root?: StoredRoot;
}

export function viewPendingSaga({ instance, timerTries = 0, root }: PendingSaga): PendingView {
  const { id, trigger, startedAt } = instance;
  return {
    kind: "saga",
    key: trigger.key as StreamKey,
    event_type: trigger.event_type,
    root_key: rootKey(rootOf(root, trigger.key, trigger.stream_id).of),
    since: timeOf(startedAt * 1000),
    saga_id: id,
    tries: timerTries,
  };
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
