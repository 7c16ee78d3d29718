/**
 * Pending work in an environment file: work that events have caused and that is not done yet.
 *
 * Each piece is a document as the store keeps it, without what only the store knows (tenant
 * numbers, shards, indexes and timers). All of that follows from the documents.
 */

import type { Delivery } from "../listener/delivery.ts";
import type { CancelRule, Emission } from "../reaction/action.ts";
import type { OutboxPlace, WaitingEntry } from "../reaction/outbox_entry.ts";
import type { StoredRoot } from "../reaction/root.ts";
import type { JsonObject } from "../json.ts";
import type { KeptSagaDefinition } from "../saga/definition.ts";
import type { SagaInstance } from "../saga/instance.ts";
import type { StreamKey } from "../identifier.ts";
import type { Tombstone } from "../erasure/tombstone.ts";

/** In the order in which they stand in the file. */
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

/** A piece of work as JSON text. */
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
  /** Marks are not moved, because an event that a mark has cancelled is not in the file. */
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

/** A delivery still to be made. Finished deliveries stay in the store that made them. */
export interface MovedDelivery {
  readonly listener: string;
  readonly stream: StreamKey;
  readonly index: number;
  readonly delivery: Delivery;
}

/** The definition that a running saga was started under. */
export interface MovedDefinition {
  readonly hash: string;
  readonly kept: KeptSagaDefinition;
}

/** A projection, to be built from the events. The file does not contain its rows. */
export interface MovedProjection {
  readonly name: string;
  /** ISO 8601 UTC. */
  readonly deployedAt: string;
  readonly document: JsonObject;
}

/**
 * An erasure: a pending one, or what is left of a finished one. A running one appears as
 * pending if its markers are not in place yet. If they are, it appears without the progress of
 * removing copies, which starts again.
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
