/**
 * Reads the records of a file to events of its source, one by one, and holds that they are in
 * order: positions rise, and so do indexes of events that follow each other in one stream. No two
 * of them have the same id, where the source says so.
 */

import type { JsonObject, JsonValue } from "../json.ts";
import type { Outcome, Refusal } from "../refusal.ts";
import type { RawRecord } from "./split_records.ts";
import {
  CellFault,
  faulty,
  type ReadOutcome,
  type ReadRecord,
  type Source,
  type SourceEvent,
  type SourceFault,
} from "./source_event.ts";
import { type Columns, guessColumns } from "./sources/plain_rows.ts";
import { createTextCounter } from "./text_counter.ts";
import { parseJson } from "../json_text/parse_json.ts";

export type EventReader = (record: RawRecord) => ReadOutcome;

/** Decides which JSON is taken, as for requests. */
type ParseObject = (text: string) => Outcome<JsonObject>;

export function openEventReader(source: Source, parse: ParseObject): EventReader {
  const read = catchFaults(source.open());
  const checks = [createOrderCheck(), ...(source.hasUniqueIds ? [createIdCheck()] : [])];
  const parseCell = (text: string) => parseValue(text, parse);
  return (record) => {
    let row: JsonObject;
    if ("row" in record) row = record.row;
    else {
      const parsed = parse(record.text);
      if (!parsed.ok) return faulty("not_json", messageOf(parsed.refusal));
      row = parsed.value;
    }
    const text = "text" in record ? record.text : undefined;
    const found = read(row, { text, parse: parseCell });
    if (!found.ok) return found;
    for (const event of found.events) {
      for (const check of checks) {
        const fault = check(event);
        if (fault !== undefined) return { ok: false, fault };
      }
    }
    return found;
  };
}

/** The columns that the first records of plain rows seem to have. */
export function columnsOf(records: readonly RawRecord[], parse: ParseObject): Columns {
  const rows = records.flatMap((record) => {
    if ("row" in record) return [record.row];
    const parsed = parse(record.text);
    return parsed.ok ? [parsed.value] : [];
  });
  return guessColumns(rows, (text) => {
    const parsed = parse(`{"value":${text}}`);
    return parsed.ok ? parsed.value.value : undefined;
  });
}

function catchFaults(read: ReadRecord): ReadRecord {
  return (row, reading): ReadOutcome => {
    try {
      return read(row, reading);
    } catch (error) {
      if (error instanceof CellFault) return faulty("not_json", error.message);
      throw error;
    }
  };
}

function messageOf(refusal: Refusal): string {
  return "message" in refusal ? refusal.message : refusal.kind;
}

/** @throws {CellFault} if the text is JSON, but not such as is taken. */
function parseValue(text: string, parse: ParseObject): JsonValue | undefined {
  const parsed = parse(`{"value":${text}}`);
  if (parsed.ok) return Object.keys(parsed.value).length === 1 ? parsed.value.value : undefined;
  try {
    parseJson(text);
  } catch {
    return undefined;
  }
  throw new CellFault(messageOf(parsed.refusal));
}

type CheckEvent = (event: SourceEvent) => SourceFault | undefined;

const DIGITS = /^\d+$/;

/** Looks at each event and the one before it. */
function createOrderCheck(): CheckEvent {
  let last: SourceEvent | undefined;
  return (event) => {
    const before = last;
    if (before !== undefined && isBefore(event, before)) {
      const place = event.position ?? `${event.stream} ${event.index}`;
      const other = before.position ?? `${before.stream} ${before.index}`;
      const message = `the event at ${place} follows the one at ${other}: sort the file by its ` +
        "positions";
      return { rule: "out_of_order", message };
    }
    last = event;
  };
}

function isBefore(event: SourceEvent, before: SourceEvent): boolean {
  const isSameStream = event.stream === before.stream;
  if (isSameStream && event.index !== undefined && before.index !== undefined) {
    return event.index <= before.index;
  }
  const [own, other] = [event.position, before.position];
  if (own === undefined || other === undefined || !DIGITS.test(own) || !DIGITS.test(other)) {
    return false;
  }
  if (own.length !== other.length) return own.length < other.length;
  // A transaction may have one position for the events that it writes into several streams.
  return isSameStream ? own <= other : own < other;
}

/** Knows the first `COUNTED_MAX` ids of a file; those behind them are not compared. */
function createIdCheck(): CheckEvent {
  const ids = createTextCounter();
  return ({ id, origin }) => {
    if (id === undefined || ids.add(origin === undefined ? id : `${origin} ${id}`)) {
      return undefined;
    }
    return { rule: "id_repeated", message: `an earlier event has the id ${id} already` };
  };
}
