/**
 * An event of ours as a CloudEvent 1.0 in the JSON format: what the feed, exports and deliveries
 * may have instead of the event itself. The same event is the same CloudEvent everywhere. See
 * docs/reference/cloudevents.md.
 */

import { decodeEvent, type PartyReference } from "./event.ts";
import { splitStreamKey, type StreamKey } from "./identifier.ts";
import type { Tenant } from "./tenant.ts";

export const CLOUD_EVENT_TYPE = "application/cloudevents+json";

export interface CloudEventParts {
  /** The environment, as {@link cloudEventSource} names it. */
  readonly source: string;
  /** The place of the event in its stream. */
  readonly index: number;
  readonly hash: string;
  readonly raw: string;
  /** Further extensions: names of lower-case letters and digits. */
  readonly more?: Readonly<Record<string, string | number>>;
}

/** The `source` of all events of an environment. */
export function cloudEventSource(
  { instanceId, environment }: Pick<Tenant, "instanceId" | "environment">,
): string {
  return `/instances/${instanceId}/${environment}`;
}

/** The text of the CloudEvent. */
export function encodeCloudEvent({ source, index, hash, raw, more }: CloudEventParts): string {
  const { key, type, data, metadata } = decodeEvent(raw);
  const { actor, target, timestamp } = metadata;
  return JSON.stringify({
    specversion: "1.0",
    id: `${key}/${index}`,
    source,
    type: `${splitStreamKey(key as StreamKey).type}.${type}`,
    subject: key,
    time: new Date(timestamp * 1000).toISOString(),
    datacontenttype: "application/json",
    streamindex: index,
    chainhash: hash,
    actor: partyText(actor),
    ...(target && { target: partyText(target) }),
    ...more,
    data,
  });
}

function partyText({ type, id }: PartyReference): string {
  return `${type}:${id}`;
}
