/**
 * Erasure markers, which replace erased events.
 *
 * A marker has the time of its event and the hash of the bytes that were there. See
 * docs/reference/erasure.md.
 */

import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { type EncodedEvent, encodeEvent, encodeMetadata, type StoredEvent } from "../event.ts";

/** Clients cannot write it: types that begin with `_` are reserved. */
export const ERASED_TYPE = "_was_tombstoned";

/** Not a `system_agent`, whose ids all have other meanings. */
const ERASER = { type: "system_operator", id: "global" } as const;

/**
 * `raw` is the event as stored. An existing marker is returned unchanged: it holds nobody's
 * data.
 */
export function markerOf(event: StoredEvent, raw: string, tombstoneId: string): EncodedEvent {
  const { key, type, metadata: { timestamp } } = event;
  if (type === ERASED_TYPE) return { type, raw, bytes: Buffer.byteLength(raw) };
  const data = {
    tombstone_id: tombstoneId,
    original_type: type,
    original_hash: hash("sha256", raw, "hex"),
  };
  const metadata = encodeMetadata({ actor: ERASER, timestamp });
  return encodeEvent({
    key,
    type: ERASED_TYPE,
    dataJson: JSON.stringify(data),
    metadataJson: metadata,
  });
}
