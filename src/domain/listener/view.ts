/** What `GET /_listeners` shows of listeners and their deliveries. Never a secret. */

import type { ListPage } from "../list_page.ts";
import { eventId } from "../event.ts";
import type { StreamKey } from "../identifier.ts";
import { allowsTry, type Circuit } from "./circuit.ts";
import type { Listener } from "./definition.ts";
import type { Delivery, DeliveryState, DeliveryTry, EndedDelivery } from "./delivery.ts";

export interface ListenerView {
  readonly name: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly enabled: boolean;
  /** Number of deliveries by state, each counted up to `counted_to`. */
  readonly deliveries: Readonly<Record<DeliveryState, number>>;
  /** The limit of counting: a number that has reached it may be larger. */
  readonly counted_to: number;
  /** The circuit as the answering process knows it. */
  readonly circuit: CircuitView;
}

export interface CircuitView {
  /**
   * `open`: the endpoint is left alone. `half_open`: the next try, or the one under way, probes
   * it.
   */
  readonly state: "closed" | "open" | "half_open";
  /** Unix seconds; present when the circuit is open. */
  readonly until?: number;
}

export type ListenerPage = ListPage<ListenerView>;

export interface DeliveryView {
  readonly delivery_id: string;
  readonly state: DeliveryState;
  /** Why the delivery is dead or was dropped. */
  readonly reason?: string;
  readonly event: { readonly key: string; readonly stream_id: string };
  /** Times are ISO 8601 UTC. */
  readonly created_at: string;
  /** Present when the delivery is to be tried again; not before this time. */
  readonly next_try_at?: string;
  readonly ended_at?: string;
  /** All tries, including those before the delivery was requested again. */
  readonly attempts: number;
  /** The tries since the delivery was last requested. */
  readonly tries: readonly DeliveryTry[];
}

export type DeliveryPage = ListPage<DeliveryView>;

/** The result of a call that requests deliveries again. */
export interface Replayed {
  readonly replayed: number;
  /** True when there are more. The next call continues from `next_start`. */
  readonly truncated: boolean;
  readonly next_start?: string;
}

const MS_PER_SECOND = 1000;

export function viewListener(
  { name, url, events, enabled }: Listener,
  deliveries: ListenerView["deliveries"],
  countedTo: number,
  circuit: CircuitView,
): ListenerView {
  return { name, url, events, enabled, deliveries, counted_to: countedTo, circuit };
}

export function viewCircuit(circuit: Circuit | undefined, nowMs: number): CircuitView {
  if (circuit === undefined || circuit.openUntilMs === 0) return { state: "closed" };
  if (circuit.isProbing || allowsTry(circuit, nowMs)) return { state: "half_open" };
  return { state: "open", until: Math.ceil(circuit.openUntilMs / MS_PER_SECOND) };
}

export function viewPending(stream: StreamKey, index: number, delivery: Delivery): DeliveryView {
  const { dueMs } = delivery;
  return {
    ...viewDelivery(stream, index, delivery),
    state: "pending",
    next_try_at: dueMs > 0 ? isoTime(dueMs) : undefined,
    ...viewTries(delivery),
  };
}

export function viewEnded({ stream, index, delivery, end, endedMs }: EndedDelivery): DeliveryView {
  return {
    ...viewDelivery(stream, index, delivery),
    state: end.state,
    reason: "reason" in end ? end.reason : undefined,
    ended_at: isoTime(endedMs),
    ...viewTries(delivery),
  };
}

function viewDelivery(key: StreamKey, index: number, { id, sinceMs }: Delivery) {
  const event = { key, stream_id: eventId(index) };
  return { delivery_id: id, event, created_at: isoTime(sinceMs) };
}

function viewTries({ tries, triesBefore }: Delivery) {
  return { attempts: triesBefore + tries.length, tries };
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
