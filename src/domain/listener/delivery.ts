/**
 * One delivery of an event to a listener, and what follows from each of its tries.
 *
 * Pure: the time is passed in. A failed delivery is retried after 5 s, 25 s and 125 s. See
 * docs/reference/listeners.md.
 */

import { limits } from "../limits.ts";
import type { StreamKey } from "../identifier.ts";

/** All deliveries of one stream to one listener. They are made in stream order, one at a time. */
export interface Lane {
  readonly tenant: number;
  readonly listener: string;
  readonly stream: StreamKey;
}

/** `dropped`: the listener was removed or disabled, or the event was erased. */
export type DeliveryState = "pending" | "delivered" | "dead" | "dropped";

export const DELIVERY_STATES: readonly DeliveryState[] = [
  "pending",
  "delivered",
  "dead",
  "dropped",
];

/** Pauses after the first failed try, the second and the third. */
export const RETRY_PAUSES_MS: readonly number[] = [5_000, 25_000, 125_000];

/** How a try failed without an answer. */
export const TRY_FAILURES = [
  /** The name has no address, or the look-up took too long. */
  "name_not_found",
  /** An address of the name is not on the public internet. */
  "address_refused",
  "connection_failed",
  "tls_failed",
  /** The head of the answer did not come in time. */
  "timeout",
  /** The answer was not HTTP, or longer than is read. */
  "bad_answer",
] as const;
export type TryFailure = typeof TRY_FAILURES[number];

/** The outcome of one try. */
export type TryAnswer =
  | { readonly status: number }
  | { readonly failure: TryFailure };

/** One line of a delivery's log. */
export interface DeliveryTry {
  /** ISO 8601 UTC: when the try began. */
  readonly at: string;
  readonly status?: number;
  readonly failure?: TryFailure;
  readonly duration_ms: number;
}

/** What is stored of a delivery between tries. */
export interface Delivery {
  /** The same for every try, including tries that are requested later. */
  readonly id: string;
  /** When the event was written, or when the delivery was requested again. */
  readonly sinceMs: number;
  /** Not tried before this time; 0 before the first try. */
  readonly dueMs: number;
  /** The listener's URL when the event was written. It is used while no spec can be read. */
  readonly url: string;
  /** Tries of the current series; at most four. */
  readonly tries: readonly DeliveryTry[];
  /** `traceparent` of the write, or of the call that requested it again, if that was traced. */
  readonly cause?: string;
  /** Tries of earlier series. `attempt` counts them too. */
  readonly triesBefore: number;
}

/** What follows from a try. */
export type NextStep =
  | { readonly state: "pending"; readonly dueMs: number }
  | Exclude<DeliveryEnd, { readonly state: "dropped" }>;

export type DeadReason =
  /** All tries failed. */
  | "tries_used_up"
  /** The endpoint answered 410. */
  | "gone"
  /** The endpoint was left alone until this delivery was too old. */
  | "endpoint_unavailable";

export type DropReason =
  /** The current spec has no such listener. */
  | "listener_removed"
  | "listener_disabled"
  /** The event was erased. */
  | "event_erased";

/** How a delivery ended. */
export type DeliveryEnd =
  | { readonly state: "delivered" }
  | { readonly state: "dead"; readonly reason: DeadReason }
  | { readonly state: "dropped"; readonly reason: DropReason };

export type EndState = DeliveryEnd["state"];

export const END_STATES: readonly EndState[] = ["dead", "dropped", "delivered"];

/** A finished delivery. */
export interface EndedDelivery {
  readonly delivery: Delivery;
  readonly stream: StreamKey;
  /** Index of the event in its stream. */
  readonly index: number;
  readonly end: DeliveryEnd;
  readonly endedMs: number;
}

const GONE = 410;

/** What follows when the latest of `tries` tries ended at `endedMs` with `answer`. */
export function afterTry(tries: number, answer: TryAnswer, endedMs: number): NextStep {
  if (isSuccess(answer)) return { state: "delivered" };
  if ("status" in answer && answer.status === GONE) return { state: "dead", reason: "gone" };
  const pauseMs = RETRY_PAUSES_MS[tries - 1];
  if (pauseMs === undefined) return { state: "dead", reason: "tries_used_up" };
  return { state: "pending", dueMs: endedMs + pauseMs };
}

/** True for any 2xx. A redirect is a failure, because it is not followed. */
export function isSuccess(answer: TryAnswer): boolean {
  return "status" in answer && answer.status >= 200 && answer.status < 300;
}

/** True when the delivery has waited too long for an endpoint that is left alone. */
export function isTooOld({ sinceMs }: Pick<Delivery, "sinceMs">, nowMs: number): boolean {
  return nowMs - sinceMs > limits.deliveryAgeMsMax;
}
