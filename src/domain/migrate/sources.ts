/** The systems whose events can be moved in, by their names on the command line. */

import type { Columns } from "./sources/plain_rows.ts";
import { readRows } from "./sources/plain_rows.ts";
import { readCloudEvent } from "./sources/cloud_events.ts";
import { readEmmettMessage } from "./sources/emmett.ts";
import { openEventSourcingDb } from "./sources/event_sourcing_db.ts";
import { readKurrentRecord } from "./sources/kurrent_db.ts";
import { readMartenEvent } from "./sources/marten.ts";
import { readMessage } from "./sources/message_db.ts";
import type { Source } from "./source_event.ts";

/** What `--from` takes. */
export const SOURCE_NAMES = [
  "cloudevents",
  "message-db",
  "emmett",
  "marten",
  "kurrentdb",
  "eventsourcingdb",
  "ndjson",
  "csv",
] as const;

export type SourceName = (typeof SOURCE_NAMES)[number];

/** Emmett and KurrentDB do not hold ids apart; EventSourcingDB numbers events. */
const UNIQUE_IDS: ReadonlySet<SourceName> = new Set([
  "cloudevents",
  "message-db",
  "marten",
  "ndjson",
  "csv",
]);

/** The source of that name; the columns are those of a map, for plain rows. */
export function sourceNamed(name: SourceName, columns: Columns | undefined): Source {
  return { name, hasUniqueIds: UNIQUE_IDS.has(name), open: () => readerOf(name, columns) };
}

function readerOf(name: SourceName, columns: Columns | undefined): ReturnType<Source["open"]> {
  switch (name) {
    case "cloudevents":
      return readCloudEvent;
    case "message-db":
      return readMessage;
    case "emmett":
      return readEmmettMessage;
    case "marten":
      return readMartenEvent;
    case "kurrentdb":
      return readKurrentRecord;
    case "eventsourcingdb":
      return openEventSourcingDb();
    case "ndjson":
    case "csv":
      return readRows(columns);
  }
}
