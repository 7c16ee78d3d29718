/**
 * Reads the records of a file to events of its source, one by one, and holds that they are in
 * order: positions rise, and so do indexes of events that follow each other in one stream.
 */

import type { JsonObject } from "../json.ts";
import type { Outcome } from "../refusal.ts";
import type { RawRecord } from "./split_records.ts";
import type { Source, SourceEvent, SourceFault } from "./source_event.ts";

/** What is in a record. `skipped` says why it is nothing to move. */
export type ReadEvents =
  | { readonly ok: true; readonly events: readonly SourceEvent[]; readonly skipped?: string }
  | { readonly ok: false; readonly fault: SourceFault };

export type EventReader = (record: RawRecord) => ReadEvents;

/** `parse` decides which JSON is taken, as for requests. */
export function openEventReader(
  source: Source,
  parse: (text: string) => Outcome<JsonObject>,
): EventReader {
  const read = source.open();
  const check = createOrderCheck();
  return (record) => {
    let row: JsonObject;
    if ("row" in record) row = record.row;
    else {
      const parsed = parse(record.text);
      if (!parsed.ok) {
        const { refusal } = parsed;
        const message = "message" in refusal ? refusal.message : refusal.kind;
        return { ok: false, fault: { rule: "not_json", message } };
      }
      row = parsed.value;
    }
    const found = read(row, "text" in record ? record.text : undefined);
    if (!found.ok) return found;
    for (const event of found.events) {
      const fault = check(event);
      if (fault !== undefined) return { ok: false, fault };
    }
    return found;
  };
}

const DIGITS = /^\d+$/;

/** Looks at each event and the one before it. */
function createOrderCheck(): (event: SourceEvent) => SourceFault | undefined {
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
  return own.length === other.length ? own <= other : own.length < other.length;
}
