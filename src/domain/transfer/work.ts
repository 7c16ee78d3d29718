/**
 * Pending work in an environment file: what events have set off and what is not done yet. Each
 * piece is a document as the store keeps it, but for what only the store knows: tenant numbers,
 * shards, indexes and timers, all of which follow from these.
 */

import type { Delivery } from "../listener/delivery.ts";
import type { CancelRule, Emission } from "../reaction/action.ts";
import type { OutboxPlace, WaitingEntry } from "../reaction/outbox_entry.ts";
import type { StoredRoot } from "../reaction/root.ts";
import type { JsonObject } from "../json.ts";
import type { KeptSagaDefinition } from "../saga/definition.ts";
import type { SagaInstance } from "../saga/instance.ts";
import type { StreamKey } from "../stream_key.ts";
import type { Tombstone } from "../erasure/tombstone.ts";

/** In the order in which they come. */
export const WORK_KINDS = [
  "outbox_entry",
  "scheduled_event",
  "delivery",
  "saga",
  "saga_definition",
  "projection",
  "tombstone",
] as const;
export type WorkKind = typeof WORK_KINDS[number];

/** A piece of work as text: JSON. */
export interface WorkText {
  readonly kind: WorkKind;
  readonly text: string;
}

export interface MovedEntry extends WaitingEntry {
  readonly place: Omit<OutboxPlace, "tenant">;
}

export interface MovedSchedule {
  readonly id: string;
  readonly emission: Emission;
  /** One that was cancelled by a mark is not in the file, so there are no marks. */
  readonly cancelOn: readonly CancelRule[];
  readonly createdMs: number;
  readonly fireAtMs: number;
  readonly by: { readonly key: string; readonly eventType: string; readonly streamId: string };
  readonly requestId: string;
  readonly tries: number;
  readonly timerMs: number;
  readonly root?: StoredRoot;
}

export interface MovedSaga {
  readonly instance: SagaInstance;
  readonly awaitsFrom?: number;
  readonly timerMs?: number;
  readonly timerTries?: number;
  readonly depth: number;
  readonly requestId: string;
  readonly root?: StoredRoot;
}

/** A delivery that is to be made. Those that are over stay where they were made. */
export interface MovedDelivery {
  readonly listener: string;
  readonly stream: StreamKey;
  readonly index: number;
  readonly delivery: Delivery;
}

/** What a saga that runs was started under. */
export interface MovedDefinition {
  readonly hash: string;
  readonly kept: KeptSagaDefinition;
}

/** A projection that is to be built from the events. Its rows are not in the file. */
export interface MovedProjection {
  readonly name: string;
  /** ISO 8601 UTC. */
  readonly deployedAt: string;
  readonly document: JsonObject;
}

/**
 * A request to erase a stream: one that waits, and what is left of those that are over. One that
 * is under way is in the file as it was before, or, where its markers are in place, without how far
 * the removal of copies has come: it begins anew.
 */
export type MovedTombstone = Omit<Tombstone, "imported" | "rewrite" | "removal">;

export function movedTombstone(tombstone: Tombstone): MovedTombstone {
  const { imported: _, rewrite: __, removal: ___, ...moved } = tombstone;
  if (moved.state !== "running" || moved.result !== undefined) return moved;
  return { ...moved, state: "pending" };
}

export type WorkItem =
  | { readonly kind: "outbox_entry"; readonly moved: MovedEntry }
  | { readonly kind: "scheduled_event"; readonly moved: MovedSchedule }
  | { readonly kind: "delivery"; readonly moved: MovedDelivery }
  | { readonly kind: "saga"; readonly moved: MovedSaga }
  | { readonly kind: "saga_definition"; readonly moved: MovedDefinition }
  | { readonly kind: "projection"; readonly moved: MovedProjection }
  | { readonly kind: "tombstone"; readonly moved: MovedTombstone };
