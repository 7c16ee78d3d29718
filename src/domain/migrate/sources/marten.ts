/**
 * Marten: rows of `mt_events` as lines of JSON, best with the type of the stream from `mt_streams`
 * as `stream_type`. Streams are UUIDs, or names if the store was made so.
 */

import type { JsonObject } from "../../json.ts";
import {
  columnOf,
  indexCell,
  missingField,
  one,
  parseTime,
  type Reading,
  type ReadOutcome,
  splitName,
  textCell,
} from "../source_event.ts";

const TAKEN = [
  "seq_id",
  "id",
  "stream_id",
  "version",
  "data",
  "type",
  "timestamp",
  "correlation_id",
  "causation_id",
  "stream_type",
  "is_archived",
];
const DEFAULT_TENANT = "*DEFAULT*";

export function readMartenEvent(record: JsonObject, { parse }: Reading): ReadOutcome {
  const stream = textCell(record.stream_id);
  const type = textCell(record.type);
  if (stream === undefined) return missingField("stream_id");
  if (type === undefined) return missingField("type");
  const category = textCell(record.stream_type);
  const rest = Object.entries(record).filter(([name, value]) =>
    !TAKEN.includes(name) && value !== null && !(name === "tenant_id" && value === DEFAULT_TENANT)
  );
  return one({
    stream,
    ...(category === undefined ? splitName(stream, /[/:-]/) : { category, entity: stream }),
    type,
    data: columnOf(record, "data", parse),
    id: textCell(record.id),
    time: textCell(record.timestamp),
    timeMs: parseTime(record.timestamp),
    position: textCell(record.seq_id),
    index: indexCell(record.version),
    correlationId: textCell(record.correlation_id),
    causationId: textCell(record.causation_id),
    rest: Object.fromEntries(rest),
  });
}
