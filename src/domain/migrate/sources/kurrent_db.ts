/**
 * KurrentDB (EventStoreDB): pages of the Atom feed in JSON with `embed=body`, or lines as our
 * script writes them with the client. Streams and types that begin with `$` are the database's own.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import {
  columnOf,
  faulty,
  indexCell,
  missingField,
  objectColumn,
  type ParseCell,
  parseTime,
  type Reading,
  type ReadOutcome,
  skip,
  type SourceEvent,
  splitName,
  textCell,
} from "../source_event.ts";

export function readKurrentRecord(record: JsonObject, { parse }: Reading): ReadOutcome {
  if (!Array.isArray(record.entries)) return readEntry(record, parse);
  const events: SourceEvent[] = [];
  const skipped: string[] = [];
  // Pages list the newest event first.
  const entries = isNewestFirst(record.entries) ? record.entries.toReversed() : record.entries;
  for (const entry of entries) {
    if (!isJsonObject(entry)) return faulty("not_json", "an entry is no object");
    const found = readEntry(entry, parse);
    if (!found.ok) return found;
    events.push(...found.events);
    skipped.push(...found.skipped ?? []);
  }
  return { ok: true, events, skipped };
}

function isNewestFirst(entries: readonly JsonValue[]): boolean {
  const numbers = entries.flatMap((entry) =>
    isJsonObject(entry) ? [indexCell(entry.positionEventNumber ?? entry.eventNumber) ?? 0] : []
  );
  return numbers.length > 1 && numbers[0]! > numbers.at(-1)!;
}

function readEntry(record: JsonObject, parse: ParseCell): ReadOutcome {
  // A resolved event of the client has the event beside the link that led to it.
  const event = isJsonObject(record.event) ? record.event : record;
  const stream = textCell(event.streamId);
  const type = textCell(event.eventType ?? event.type);
  if (stream === undefined) return missingField("streamId");
  if (type === undefined) return missingField("type");
  if (stream.startsWith("$")) return skip("streams of the database itself");
  if (type.startsWith("$")) return skip("types of the database itself");
  const { $correlationId, $causationId, ...metadata } = objectColumn(
    event,
    (event.metaData ?? null) === null ? "metadata" : "metaData",
    parse,
  );
  const time = event.updated ?? event.created;
  return {
    ok: true,
    events: [{
      stream,
      ...splitName(stream, /-/),
      type,
      data: dataOf(event, parse),
      id: textCell(event.eventId ?? event.id),
      time: textCell(time),
      timeMs: parseTime(time),
      position: positionOf(event.position),
      index: indexCell(event.eventNumber ?? event.revision),
      correlationId: textCell($correlationId),
      causationId: textCell($causationId),
      rest: Object.keys(metadata).length > 0 ? { metadata } : {},
    }],
  };
}

function dataOf(event: JsonObject, parse: ParseCell): JsonValue | undefined {
  const { data, isJson } = event;
  if (isJson === false && typeof data === "string") return { base64: data };
  return columnOf(event, "data", parse);
}

/** A place in the log, or the pair of them that the client gives. */
function positionOf(position: JsonValue | undefined): string | undefined {
  return textCell(isJsonObject(position) ? position.commit : position);
}
