/**
 * EventSourcingDB: lines of `read-events` or of a backup, `{type: "event", payload}`, or the events
 * alone. Each hash is computed again, as the clients of the database do, and each predecessor is
 * compared with the event before it, where that is in the file.
 */

import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { rawMember } from "../raw_member.ts";
import { faulty, one, type ReadOutcome, type ReadRecord, skip } from "../source_event.ts";
import { cloudEventOf } from "./cloud_events.ts";

/** Only the store itself knows these. */
const OWN = ["hash", "predecessorhash", "signature", "traceparent", "tracestate"];

interface Last {
  readonly id: number;
  readonly hash: string;
}

export function openEventSourcingDb(): ReadRecord {
  let last: Last | undefined;

  return (record, { text }) => {
    const { type, payload } = record;
    const isLine = isJsonObject(payload) && typeof type === "string";
    if (isLine && type !== "event") return skip(type as string);
    const sent = isLine ? payload as JsonObject : record;
    const fault = hashFault(sent, text, isLine) ?? orderFault(sent, last);
    if (fault !== undefined) return fault;
    last = { id: Number(sent.id), hash: sent.hash as string };
    const event = cloudEventOf(sent);
    if ("ok" in event) return event;
    const rest = Object.fromEntries(
      Object.entries(event.rest).filter(([name]) => !OWN.includes(name)),
    );
    return one({ ...event, position: event.id, rest });
  };
}

/** Compares the hash with what the event says. */
function hashFault(
  event: JsonObject,
  text: string | undefined,
  isLine: boolean,
): ReadOutcome | undefined {
  const { hash, id, data } = event;
  if (typeof hash !== "string") return faulty("field_missing", "the event has no hash");
  if (hash === hashOf(event, JSON.stringify(data ?? null))) return undefined;
  // Numbers and keys may be spelt in the file as no JSON writer of ours spells them.
  const raw = text && rawMember(text, isLine ? ["payload", "data"] : ["data"]);
  if (raw !== undefined && hash === hashOf(event, raw)) return undefined;
  return faulty("hash_mismatch", `the event ${told(id)} is not what its hash was made of`);
}

function orderFault(event: JsonObject, last: Last | undefined): ReadOutcome | undefined {
  if (last === undefined || Number(event.id) !== last.id + 1) return undefined;
  if (event.predecessorhash === last.hash) return undefined;
  return faulty("hash_mismatch", `the event ${told(event.id)} follows another one than ${last.id}`);
}

function told(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}

function hashOf(event: JsonObject, data: string): string {
  const { specversion, id, predecessorhash, time, source, subject, type } = event;
  const metadata = [specversion, id, predecessorhash, time, source, subject, type]
    .concat(event.datacontenttype).join("|");
  return sha256(sha256(metadata) + sha256(data));
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
