/**
 * message-db: rows of `message_store.messages` as lines of JSON, as `row_to_json` writes them. A
 * stream is `category-id`; its category ends at the first hyphen.
 */

import type { JsonObject } from "../../json.ts";
import {
  columnOf,
  indexCell,
  missingField,
  objectColumn,
  one,
  parseTime,
  type Reading,
  type ReadOutcome,
  splitName,
  textCell,
} from "../source_event.ts";

export function readMessage(record: JsonObject, { parse }: Reading): ReadOutcome {
  const stream = textCell(record.stream_name);
  const type = textCell(record.type);
  if (stream === undefined) return missingField("stream_name");
  if (type === undefined) return missingField("type");
  const metadata = objectColumn(record, "metadata", parse);
  const { correlationStreamName, causationMessageStreamName, causationMessagePosition } = metadata;
  const cause = textCell(causationMessageStreamName);
  const isPlain = correlationStreamName === undefined && cause === undefined;
  const rest = isPlain ? metadata : restOf(metadata, cause !== undefined);
  return one({
    stream,
    ...splitName(stream, /-/),
    type,
    data: columnOf(record, "data", parse),
    id: textCell(record.id),
    time: textCell(record.time),
    timeMs: parseTime(record.time),
    position: textCell(record.global_position),
    index: indexCell(record.position),
    correlationId: textCell(correlationStreamName),
    causationId: cause && `${cause}/${textCell(causationMessagePosition) ?? ""}`,
    rest: Object.keys(rest).length > 0 ? { metadata: rest } : {},
  });
}

/** The metadata without what `origin` has. */
function restOf(metadata: JsonObject, hasCause: boolean): JsonObject {
  const { correlationStreamName: _, ...others } = metadata;
  if (!hasCause) return others;
  const { causationMessageStreamName: _stream, causationMessagePosition: _at, ...rest } = others;
  return rest;
}
