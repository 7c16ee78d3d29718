/**
 * CloudEvents 1.0 in the JSON format, as the specification of CNCF has it: single events, batches
 * and lines. The subject is the stream. An event of Daybook's own has `streamindex`, `actor` and
 * `target` besides.
 */

import type { JsonObject, JsonValue } from "../../json.ts";
import {
  faulty,
  indexCell,
  missingField,
  one,
  parseTime,
  type ReadOutcome,
  type SourceEvent,
  splitName,
  textCell,
} from "../source_event.ts";

const TAKEN: ReadonlySet<string> = new Set([
  "specversion",
  "id",
  "source",
  "type",
  "subject",
  "time",
  "data",
  "data_base64",
  "datacontenttype",
  "streamindex",
]);
const JSON_TYPE = /^[^;]*\bjson\b/i;

export function readCloudEvent(record: JsonObject): ReadOutcome {
  const event = cloudEventOf(record);
  return "ok" in event ? event : one(event);
}

/** The event, or why it is none. Other formats that are built on CloudEvents begin here. */
export function cloudEventOf(record: JsonObject): SourceEvent | ReadOutcome {
  const { specversion } = record;
  if (specversion !== "1.0") {
    const message = `specversion must be "1.0", not ${JSON.stringify(specversion ?? null)}`;
    return faulty("specversion", message);
  }
  const [id, source, type] = [textCell(record.id), textCell(record.source), textCell(record.type)];
  if (id === undefined) return missingField("id");
  if (source === undefined) return missingField("source");
  if (type === undefined) return missingField("type");
  const stream = textCell(record.subject) ?? source;
  const rest: JsonObject = {};
  for (const name in record) {
    if (!TAKEN.has(name) && record[name] !== null) rest[name] = record[name]!;
  }
  const contentType = record.datacontenttype;
  if (typeof contentType === "string" && !JSON_TYPE.test(contentType)) {
    rest.datacontenttype = contentType;
  }
  return {
    stream,
    ...nameOf(stream),
    type,
    data: dataOf(record),
    id,
    time: textCell(record.time),
    timeMs: parseTime(record.time),
    index: indexCell(record.streamindex),
    origin: source,
    rest,
  };
}

/** `/books/42`, `order:42` and `order-42` are each a kind and an id. */
function nameOf(stream: string): { category: string; entity: string } {
  const path = stream.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, "").replace(/^\/+/, "");
  return splitName(path === "" ? stream : path, /[/:-]/);
}

function dataOf(record: JsonObject): JsonValue | undefined {
  if (record.data_base64 !== undefined) return { base64: record.data_base64 };
  return record.data;
}
