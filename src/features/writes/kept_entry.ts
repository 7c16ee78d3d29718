/** Keeps an implied event for the outbox compactly in memory until it is written. */

import type { Emission } from "../../domain/reaction/action.ts";
import type { EmitEntry, WaitingEntry } from "../../domain/reaction/outbox_entry.ts";
import { decodeRecord } from "../../store/json_record.ts";
import { encodeEntry } from "../../store/reactions/outbox.ts";
import type { PreparedEntry } from "./prepared_write.ts";

type EmitWaiting = WaitingEntry & { readonly entry: EmitEntry };

/** Up to this size, an entry keeps its data as an object. */
const OBJECT_BYTES_MAX = 2048;

/**
 * Returns the entry with its encoded bytes. As an object, data takes up to ten times the memory
 * of its text. So a large entry keeps only the bytes that are stored, and its data is decoded
 * anew on each access.
 */
export function keepEncoded(waiting: EmitWaiting): PreparedEntry {
  const value = encodeEntry(waiting);
  if (value.length <= OBJECT_BYTES_MAX) return { ...waiting, value };
  const { entry } = waiting;
  const { key, aggregateType, id, eventType } = entry.emission;
  const emission: Emission = {
    key,
    aggregateType,
    id,
    eventType,
    get data() {
      return decodeRecord<EmitWaiting>(value).entry.emission.data;
    },
  };
  return { ...waiting, entry: { ...entry, emission }, value };
}
