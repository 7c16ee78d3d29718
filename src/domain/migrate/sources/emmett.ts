/**
 * Emmett: rows of `emt_messages`, from PostgreSQL as lines of JSON, from SQLite as they are in its
 * file. A stream is `type-id`.
 */

import type { JsonObject } from "../../json.ts";
import {
  columnOf,
  faulty,
  indexCell,
  missingField,
  objectColumn,
  one,
  parseTime,
  type Reading,
  type ReadOutcome,
  skip,
  splitName,
  textCell,
} from "../source_event.ts";

const DEFAULT_PARTITIONS = ["emt:default", "global"];

export function readEmmettMessage(record: JsonObject, { text, parse }: Reading): ReadOutcome {
  const stream = textCell(record.stream_id);
  const type = textCell(record.message_type);
  if (stream === undefined) return missingField("stream_id");
  if (type === undefined) return missingField("message_type");
  if ((record.message_kind ?? "E") !== "E") return skip("commands");
  const data = columnOf(record, "message_data", parse);
  if (text === undefined && typeof data === "string") {
    return faulty("not_json", "message_data is no object or list of JSON");
  }
  const all = objectColumn(record, "message_metadata", parse);
  const metadata = ownMetadata(all);
  const partition = textCell(record.partition);
  const isOther = partition !== undefined && !DEFAULT_PARTITIONS.includes(partition);
  return one({
    stream,
    ...splitName(stream, /[:-]/),
    type,
    data,
    id: textCell(record.message_id),
    time: textCell(record.created),
    timeMs: parseTime(record.created),
    position: textCell(record.global_position),
    index: indexCell(record.stream_position),
    correlationId: textCell(all.correlationId),
    causationId: textCell(all.causationId),
    rest: {
      ...(Object.keys(metadata).length > 0 && { metadata }),
      ...(isOther && { partition }),
    },
  });
}

/** Without what Emmett writes into the metadata of each message, and the columns say as well. */
function ownMetadata(all: JsonObject): JsonObject {
  const { streamName: _name, messageId: _id, correlationId: _correlation, ...others } = all;
  const { streamPosition: _at, globalPosition: _place, causationId: _cause, ...own } = others;
  return own;
}
