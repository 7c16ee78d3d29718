/** Requests and results of reads, independent of HTTP. */

import type { Found } from "./geo/search.ts";
import type { GeoPoint } from "./geo/point.ts";
import type { WasmFailureKind } from "./wasm/failure.ts";

export interface AggregateName {
  readonly aggregateType: string;
  /** As sent. */
  readonly id: string;
}

/** A folded aggregate. `dataJson` is the state as JSON text, ready to go into a body. */
export interface AggregateView {
  /** A text, or the bytes of a long one in UTF-8. */
  readonly dataJson: string | Uint8Array<ArrayBuffer>;
  readonly length: number;
  /** Unix seconds; null for a singleton without events. */
  readonly createdAt: number | null;
  readonly updatedAt: number | null;
  /**
   * Identifies a long state among all states of its aggregate, so that states compare without
   * looking at their text. Absent for short states.
   */
  readonly version?: string;
}

export interface ReadAggregateRequest {
  readonly aggregateType: string;
  /** As sent. */
  readonly id: string;
  /** Bypass every cache and snapshot. */
  readonly synchronous: boolean;
  /** Read the state as of this Unix second. */
  readonly atSeconds?: number;
  /** Read the state after that many events. */
  readonly atLength?: number;
}

export interface ReadEventsRequest {
  readonly aggregateType: string;
  readonly id: string;
  /** Exclusive cursor, as sent. */
  readonly start?: string;
  /** As requested, at least 1. The query clamps it to `limits.eventsPageMax`. */
  readonly count?: number;
  readonly direction: "forwards" | "backwards";
}

export interface ListedEvent {
  readonly id: string;
  readonly hash: string;
  /** The stored bytes as text. */
  readonly raw: string;
}

/** A page of events, always oldest first. See docs/reference/reading.md. */
export interface EventPage {
  readonly entries: readonly ListedEvent[];
  readonly countLimit: number;
  readonly countClamped: boolean;
  readonly truncated: boolean;
  readonly truncatedBy?: "count" | "bytes";
  readonly nextStart?: string;
}

export interface ListAggregatesRequest {
  readonly aggregateType: string;
  readonly resolve: boolean;
  readonly synchronous: boolean;
  /** As requested, at least 1. The query clamps it to `limits.listPageMax`. */
  readonly limit?: number;
  /** Exclusive cursor; ids sort by their bytes. */
  readonly start?: string;
  /** Only ids that begin so. */
  readonly prefix?: string;
}

export type ListedAggregate =
  | { readonly id: string }
  | { readonly id: string; readonly view: AggregateView }
  /** Why the aggregate could not be read. */
  | { readonly id: string; readonly error: UnreadableKind };

export type UnreadableKind = "fold_budget_exceeded" | "handler_error" | WasmFailureKind;

export interface AggregatePage {
  readonly entries: readonly ListedAggregate[];
  readonly limit: number;
  readonly limitClamped: boolean;
  readonly truncated: boolean;
  readonly nextStart?: string;
}

export interface NearbyRequest {
  readonly aggregateType: string;
  readonly point: GeoPoint;
  /** Metres. */
  readonly radius: number;
  /** As requested, at least 1. The query clamps it to `limits.listPageMax`. */
  readonly limit?: number;
}

export interface NearbyPage {
  /** Ordered by distance, then by id. */
  readonly entries: readonly Found[];
  readonly limit: number;
  readonly limitClamped: boolean;
  readonly truncated: boolean;
}

export interface TypesRequest {
  /** From 1 to `limits.typesPageMax`. */
  readonly limit: number;
  /** Exclusive cursor, the name of a type. */
  readonly start?: string;
}

export interface ListedType {
  readonly type: string;
  readonly aggregates: number;
  readonly events: number;
}

export interface TypesPage {
  readonly data: readonly ListedType[];
  readonly limit: number;
  readonly truncated: boolean;
  readonly next_start?: string;
  /** Whether everything that was committed is counted. */
  readonly up_to_date: boolean;
  /** Whether the time before the feed is still being filled in; nothing is counted before. */
  readonly building?: true;
}

/** Which part of a list a caller wants. */
export interface PageRequest {
  readonly limit?: number;
  readonly start?: string;
}
