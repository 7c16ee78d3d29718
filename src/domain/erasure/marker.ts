/**
 * What an erased event leaves behind: a marker in its place, of the same time and with the hash of
 * the bytes that were there. Decisions, section 18.
 */

import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { type EncodedEvent, encodeEvent, encodeMetadata, type StoredEvent } from "../event.ts";

/** No client can write it: types that begin with `_` are reserved. */
export const ERASED_TYPE = "_was_tombstoned";

/** The ids of `system_agent` are taken. */
const ERASER = { type: "system_operator", id: "global" } as const;

/** `raw`: the event as it is stored. A marker stays as it is: it holds no data of anybody. */
export function markerOf(event: StoredEvent, raw: string, tombstoneId: string): EncodedEvent {
  const { key, type, metadata: { timestamp } } = event;
  if (type === ERASED_TYPE) return { type, raw, bytes: Buffer.byteLength(raw) };
  const data = {
    tombstone_id: tombstoneId,
    original_type: type,
    original_hash: hash("sha256", raw, "hex"),
  };
  const metadata = encodeMetadata({ actor: ERASER, timestamp });
  return encodeEvent(key, ERASED_TYPE, JSON.stringify(data), metadata);
}
