/**
 * The bytes of an outbox entry. Its data may be large: an entry is decoded only where it is needed,
 * and keeps its bytes instead of its data.
 */

import type {
  EmitEntry,
  OutboxEntry,
  OutboxPlace,
  OutboxWork,
  WaitingEntry,
} from "../../domain/reaction/outbox_entry.ts";
import { Buffer } from "node:buffer";
import type { Bytes } from "../../kv/engine.ts";
import { isInPieces } from "../large_value.ts";
import { decodeRecord, encodeRecord } from "../json_record.ts";

const decoder = new TextDecoder();

/** Made before the transaction, so that its size is known. */
export function encodeEntry({ entry, sinceMs, waitMs, tries }: WaitingEntry): Bytes {
  return encodeRecord({ entry, sinceMs, waitMs, tries });
}

/**
 * The times are the last bytes of an entry, so they can be read without decoding all of it. No
 * text ends like this, because of the brace and the digits before it.
 */
const TIMES = /,"sinceMs":(-?[\d.]+),"waitMs":(-?[\d.]+),"tries":(\d+)\}$/;
/** Three names and three numbers are shorter. */
const TIMES_BYTES = 128;

export type EntryTimes = Omit<WaitingEntry, "entry">;

/** The times of an entry from its last bytes; undefined for what is no entry. */
export function timesAtEnd(end: Bytes): EntryTimes | undefined {
  const found = TIMES.exec(decoder.decode(end.subarray(-TIMES_BYTES)));
  if (found === null) return undefined;
  const [sinceMs, waitMs, tries] = found.slice(1).map(Number) as [number, number, number];
  return { sinceMs, waitMs, tries };
}

/** The times of an entry from all its bytes. */
export function entryTimes(whole: Bytes): EntryTimes {
  return timesAtEnd(whole) ?? decodeRecord<WaitingEntry>(whole);
}

/** How an event to be written begins, as it is stored. */
const EMIT_BEGIN = Buffer.from('{"entry":{"kind":"emit"');

/** Whether what is stored under the key of an entry is an event to be written, by how it begins. */
export function isEmission(value: Bytes): boolean {
  // Only an event may be so large that it is stored in pieces.
  return isInPieces(value) || EMIT_BEGIN.every((byte, at) => value[at] === byte);
}

/** Decodes an entry from all its bytes. It keeps the bytes instead of its data. */
export function openEntry(place: OutboxPlace, whole: Bytes): OutboxWork {
  const waiting = decodeRecord<WaitingEntry>(whole);
  return { place, bytes: whole.length, ...waiting, entry: leanEntry(waiting.entry, whole) };
}

/** Up to this size, an entry keeps its data as an object. */
const OBJECT_BYTES_MAX = 256;

/**
 * The entry without its data, which is decoded anew from the entry's bytes on each access. As an
 * object, data takes up to thirty times the memory of its text.
 */
export function leanEntry<Entry extends OutboxEntry>(entry: Entry, value: Bytes): Entry {
  if (entry.kind !== "emit" || value.length <= OBJECT_BYTES_MAX) return entry;
  const { key, aggregateType, id, eventType } = entry.emission;
  const emission: EmitEntry["emission"] = {
    key,
    aggregateType,
    id,
    eventType,
    get data() {
      return decodeRecord<{ readonly entry: EmitEntry }>(value).entry.emission.data;
    },
  };
  return { ...entry, emission };
}
