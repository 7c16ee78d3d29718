/**
 * What one try of a delivery sends, and the port through which it uses the network.
 *
 * The payload is signed, and has the headers of Standard Webhooks too, so that its libraries can
 * verify a delivery. See docs/reference/listeners.md.
 */

import { createHmac } from "node:crypto";
import { CLOUD_EVENT_TYPE, cloudEventSource, encodeCloudEvent } from "../cloud_event.ts";
import type { ListenerFormat } from "./definition.ts";
import type { TryAnswer } from "./delivery.ts";
import type { Tenant } from "../tenant.ts";

export interface Webhook {
  /** The instance that sends it. */
  readonly owner: string;
  /** Absolute, `http:` or `https:`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** `traceparent` of the write that this event comes from, if that was traced. */
  readonly cause?: string;
}

/** `webhook/sender.ts` implements it. */
export interface WebhookSender {
  /** Makes one try. Whatever goes wrong outside is returned as an answer, never thrown. */
  send(webhook: Webhook): Promise<TryAnswer>;
  /** Closes all connections. Tries under way fail. */
  close(): void;
}

/** How a process delivers. */
export interface WebhookSettings {
  readonly sender: WebhookSender;
  /** Replaces `SVC` in header names. */
  readonly headerPrefix: string;
  /** Whether specs may name listeners at addresses that are not public. */
  readonly allowPrivate: boolean;
}

/** Keep equal to the version in `deno.json`. */
const VERSION = "0.1.0";

/** Headers of every delivery, before it is signed. */
export function deliveryHeaders(format: ListenerFormat): Readonly<Record<string, string>> {
  const isCloudEvent = format === "cloudevents";
  return {
    "content-type": isCloudEvent ? CLOUD_EVENT_TYPE : "application/json",
    "user-agent": `Daybook/${VERSION}`,
  };
}

/**
 * The contents of a payload. `raw` is the event as stored, so the body contains the bytes that
 * were hashed.
 */
export interface PayloadParts {
  readonly deliveryId: string;
  readonly listener: string;
  /** 1 for the first try. */
  readonly attempt: number;
  readonly tenant: Tenant;
  readonly event: {
    readonly id: string;
    /** The event's chain hash. */
    readonly hash: string;
    readonly raw: string;
    /** Unix seconds, from the event's metadata. */
    readonly timestamp: number;
  };
}

/** The body, as it is signed and sent. */
export function encodePayload(parts: PayloadParts, format: ListenerFormat = "daybook"): string {
  if (format === "cloudevents") return encodeCloudPayload(parts);
  const { deliveryId, listener, attempt, tenant, event } = parts;
  const head = JSON.stringify({
    id: deliveryId,
    listener,
    attempt,
    occurred_at: new Date(event.timestamp * 1000).toISOString(),
    instance_id: tenant.instanceId,
    environment: tenant.environment,
  });
  const id = `"id":${JSON.stringify(event.id)},"hash":${JSON.stringify(event.hash)},`;
  return `${head.slice(0, -1)},"event":{${id}${event.raw.slice(1)}}`;
}

/** The CloudEvent of the event, which also says of which delivery it is. */
function encodeCloudPayload(
  { deliveryId: deliveryid, listener, attempt, tenant, event }: PayloadParts,
): string {
  const { id, hash, raw } = event;
  return encodeCloudEvent({
    source: cloudEventSource(tenant),
    index: Number(id),
    hash,
    raw,
    more: { deliveryid, listener, attempt },
  });
}

/** Header names and values. Without a secret there is neither of the two signatures. */
export function signatureHeaders(
  body: string,
  { deliveryId, secret, sentMs, prefix }: {
    readonly deliveryId: string;
    readonly secret: string | undefined;
    readonly sentMs: number;
    /** Replaces `SVC` in the header name `X-SVC-Signature`. */
    readonly prefix: string;
  },
): Record<string, string> {
  const timestamp = Math.floor(sentMs / 1000);
  const headers = { "webhook-id": deliveryId, "webhook-timestamp": String(timestamp) };
  if (secret === undefined) return headers;
  const signed = `${deliveryId}.${timestamp}.${body}`;
  const key = standardKey(secret);
  return {
    ...headers,
    "webhook-signature": `v1,${createHmac("sha256", key).update(signed).digest("base64")}`,
    [`X-${prefix}-Signature`]: createHmac("sha256", secret).update(body).digest("hex"),
  };
}

const STANDARD_SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/;

/**
 * The key of a Standard Webhooks signature. That standard writes a secret's bytes as `whsec_`
 * and base64; any other secret stands for its UTF-8 bytes.
 */
function standardKey(secret: string): Uint8Array | string {
  const encoded = STANDARD_SECRET.exec(secret)?.[1];
  try {
    return encoded === undefined ? secret : Uint8Array.fromBase64(encoded);
  } catch {
    return secret;
  }
}
