/**
 * One delivery: an event on its way to a listener, and what becomes of it after each try. Pure; the
 * time is passed in. Decisions, section 14; interface, "Limits": retries after 5 s, 25 s and 125 s.
 */

import { limits } from "../limits.ts";
import type { StreamKey } from "../stream_key.ts";

/** What one listener is to hear of one stream: in the order of the stream, one after the other. */
export interface Lane {
  readonly tenant: number;
  readonly listener: string;
  readonly stream: StreamKey;
}

/** `dropped`: nobody is there to have it: the listener or the event is gone. */
export type DeliveryState = "pending" | "delivered" | "dead" | "dropped";

export const DELIVERY_STATES: readonly DeliveryState[] = [
  "pending",
  "delivered",
  "dead",
  "dropped",
];

/** Pauses after the first try and each further one. */
export const RETRY_PAUSES_MS: readonly number[] = [5_000, 25_000, 125_000];

/** How a try failed without an answer. */
export const TRY_FAILURES = [
  /** The name has no address, or none was told in time. */
  "name_not_found",
  /** An address of the name is not one of the public internet. */
  "address_refused",
  "connection_failed",
  "tls_failed",
  /** No head of an answer in time. */
  "timeout",
  /** What came was no HTTP, or more than is read. */
  "bad_answer",
] as const;
export type TryFailure = typeof TRY_FAILURES[number];

/** What the world said to one try. */
export type TryAnswer =
  | { readonly status: number }
  | { readonly failure: TryFailure };

/** A line of a delivery's log. */
export interface DeliveryTry {
  /** ISO 8601 UTC: when it began. */
  readonly at: string;
  readonly status?: number;
  readonly failure?: TryFailure;
  readonly duration_ms: number;
}

/** Kept from one try to the next. */
export interface Delivery {
  /** The same for every try, also for one that is asked for later. */
  readonly id: string;
  /** When its event was written, or when it was asked for again. */
  readonly sinceMs: number;
  /** Not before this is it tried; 0 before the first try. */
  readonly dueMs: number;
  /** The listener's as the event was written: for a time in which no spec can be read. */
  readonly url: string;
  /** Of the present series; four at most. */
  readonly tries: readonly DeliveryTry[];
  /** `traceparent` of the write, or of the call that asked again, where that was traced. */
  readonly cause?: string;
  /** Tries of earlier series: `attempt` goes on counting. */
  readonly triesBefore: number;
}

/** What follows from a try. */
export type NextStep =
  | { readonly state: "pending"; readonly dueMs: number }
  | Exclude<DeliveryEnd, { readonly state: "dropped" }>;

export type DeadReason =
  /** All tries failed. */
  | "tries_used_up"
  /** The endpoint said 410. */
  | "gone"
  /** It was left alone for so long that this delivery grew too old. */
  | "endpoint_unavailable";

export type DropReason =
  /** The current spec has no such listener. */
  | "listener_removed"
  | "listener_disabled"
  /** The event is not there any more. */
  | "event_erased";

/** How a delivery ended. */
export type DeliveryEnd =
  | { readonly state: "delivered" }
  | { readonly state: "dead"; readonly reason: DeadReason }
  | { readonly state: "dropped"; readonly reason: DropReason };

export type EndState = DeliveryEnd["state"];

export const END_STATES: readonly EndState[] = ["dead", "dropped", "delivered"];

/** A delivery that is over. */
export interface EndedDelivery {
  readonly delivery: Delivery;
  readonly stream: StreamKey;
  /** Of its event, in the stream. */
  readonly index: number;
  readonly end: DeliveryEnd;
  readonly endedMs: number;
}

const GONE = 410;

/** What becomes of a delivery whose latest of `tries` tries ended at `endedMs` with `answer`. */
export function afterTry(tries: number, answer: TryAnswer, endedMs: number): NextStep {
  if (isSuccess(answer)) return { state: "delivered" };
  if ("status" in answer && answer.status === GONE) return { state: "dead", reason: "gone" };
  const pauseMs = RETRY_PAUSES_MS[tries - 1];
  if (pauseMs === undefined) return { state: "dead", reason: "tries_used_up" };
  return { state: "pending", dueMs: endedMs + pauseMs };
}

/** Any 2xx; a redirect is a failure, for it is not followed. */
export function isSuccess(answer: TryAnswer): boolean {
  return "status" in answer && answer.status >= 200 && answer.status < 300;
}

/** True for what has waited too long for an endpoint that is left alone. */
export function isTooOld({ sinceMs }: Pick<Delivery, "sinceMs">, nowMs: number): boolean {
  return nowMs - sinceMs > limits.deliveryAgeMsMax;
}
