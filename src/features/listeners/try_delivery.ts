/**
 * Makes one try of a delivery: finds its receiver and secret, sends it and returns the answer.
 * Both come from the spec as it is at the time of the delivery. If the spec cannot be read, the
 * payload goes without a signature. See docs/reference/listeners.md.
 */

import { ERASED_TYPE } from "../../domain/erasure/marker.ts";
import { decodeEvent, eventId } from "../../domain/event.ts";
import type { Listener, ListenerFormat } from "../../domain/listener/definition.ts";
import {
  type Delivery,
  type DeliveryTry,
  type DropReason,
  isSuccess,
  type Lane,
  type TryAnswer,
} from "../../domain/listener/delivery.ts";
import {
  deliveryHeaders,
  encodePayload,
  type PayloadParts,
  signatureHeaders,
  type WebhookSender,
} from "../../domain/listener/webhook.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import type { SpecCache } from "../base/current_spec.ts";
import { openTenantNumbers } from "../base/tenant_numbers.ts";
import type { IndexedEvent } from "../../store/streams/stream_events.ts";

export interface DeliveryParts {
  readonly engine: Engine;
  readonly host: Host;
  readonly specs: SpecCache;
  readonly sender: WebhookSender;
  /** Replaces `SVC` in header names. */
  readonly headerPrefix: string;
}

/** A delivery with its event; the event is undefined if it no longer exists. */
export interface LoadedDelivery {
  readonly index: number;
  readonly delivery: Delivery;
  readonly event: IndexedEvent | undefined;
}

/** Where a try would go now, or why there is no receiver. */
export type Addressee =
  | { readonly kind: "nobody"; readonly reason: DropReason }
  | {
    readonly kind: "receiver";
    readonly tenant: Tenant;
    readonly url: string;
    /** Undefined if the spec cannot be read. */
    readonly secret: string | undefined;
    readonly format: ListenerFormat;
    readonly event: PayloadParts["event"];
  };

export type Receiver = Extract<Addressee, { readonly kind: "receiver" }>;

export interface TriedDelivery {
  readonly answer: TryAnswer;
  readonly endedMs: number;
  readonly line: DeliveryTry;
}

export interface DeliveryTrier {
  address(lane: Lane, loaded: LoadedDelivery): Promise<Addressee>;
  /** Never throws. */
  attempt(lane: Lane, delivery: Delivery, receiver: Receiver): Promise<TriedDelivery>;
}

export function createDeliveryTrier(parts: DeliveryParts): DeliveryTrier {
  const { engine, host, specs, sender, headerPrefix } = parts;
  const tenants = openTenantNumbers(engine);

  async function address(lane: Lane, { delivery, event }: LoadedDelivery): Promise<Addressee> {
    const tenant = await tenants.find(lane.tenant);
    if (tenant === undefined) return { kind: "nobody", reason: "listener_removed" };
    const listener = await readListener(lane);
    if (listener === "removed") return { kind: "nobody", reason: "listener_removed" };
    if (listener !== "unreadable" && !listener.enabled) {
      return { kind: "nobody", reason: "listener_disabled" };
    }
    const stored = event && decodeEvent(event.raw);
    if (event === undefined || stored === undefined || stored.type === ERASED_TYPE) {
      return { kind: "nobody", reason: "event_erased" };
    }
    const { index, hash, raw } = event;
    const { timestamp } = stored.metadata;
    const { url, secret, format } = listener === "unreadable"
      ? { url: delivery.url, secret: undefined, format: "daybook" as const }
      : listener;
    const told = { id: eventId(index), hash, raw, timestamp };
    return { kind: "receiver", tenant, url, secret, format, event: told };
  }

  async function readListener(
    { tenant, listener }: Lane,
  ): Promise<Listener | "removed" | "unreadable"> {
    try {
      const spec = await specs.current(tenant);
      return spec.listeners.get(listener) ?? "removed";
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      host.log("warn", "A delivery goes without a signature: the spec cannot be read", {
        tenant,
        listener,
        reason,
      });
      return "unreadable";
    }
  }

  async function attempt(
    lane: Lane,
    delivery: Delivery,
    receiver: Receiver,
  ): Promise<TriedDelivery> {
    const { id: deliveryId } = delivery;
    const beganMs = host.nowMs();
    const began = host.monotonicMs();
    const { url, secret, format, tenant: { instanceId: owner } } = receiver;
    const body = encodePayload(payloadParts(lane, delivery, receiver), format);
    const signed = { deliveryId, secret, sentMs: beganMs, prefix: headerPrefix };
    const headers = { ...deliveryHeaders(format), ...signatureHeaders(body, signed) };
    // A deploy refuses such a listener, but an import may have brought it.
    const isPlain = receiver.tenant.environment === "production" && url.startsWith("http:");
    const answer = isPlain
      ? { failure: "address_refused" } as const
      : await send(lane, { owner, url, headers, body, cause: delivery.cause });
    const at = new Date(beganMs).toISOString();
    const duration_ms = Math.round(host.monotonicMs() - began);
    return { answer, endedMs: host.nowMs(), line: { at, ...answer, duration_ms } };
  }

  async function send(
    { tenant, listener }: Lane,
    webhook: Parameters<WebhookSender["send"]>[0],
  ): Promise<TryAnswer> {
    try {
      return await sender.send(webhook);
    } catch (error) {
      // A bug of ours. Counted as a failed try, it ends at some point and does not block the
      // lane for ever.
      const name = error instanceof Error ? error.name : "unknown";
      host.log("error", "A delivery could not be sent", { tenant, listener, error: name });
      return { failure: "connection_failed" };
    }
  }

  return { address, attempt };
}

/** For the counters: `2xx`, or how it failed. */
export function resultOf(answer: TryAnswer): string {
  if ("failure" in answer) return answer.failure;
  if (isSuccess(answer)) return "2xx";
  const digit = Math.floor(answer.status / 100);
  return digit >= 3 && digit <= 5 ? `${digit}xx` : "other";
}

function payloadParts(
  { listener }: Lane,
  { id: deliveryId, tries, triesBefore }: Delivery,
  { tenant, event }: Receiver,
): PayloadParts {
  return { deliveryId, listener, attempt: triesBefore + tries.length + 1, tenant, event };
}
