/**
 * Plain rows, of CSV or lines of JSON: the map says which column is what. Without a map, columns
 * are found by the names that such files usually have.
 */

import { findNumberFault, isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import {
  columnOf,
  indexCell,
  missingField,
  NO_CATEGORY,
  one,
  type ParseCell,
  parseTime,
  type ReadOutcome,
  type ReadRecord,
  splitName,
  textCell,
} from "../source_event.ts";
import { parseJson } from "../../json_text/parse_json.ts";

/** Which column is what. A text beginning with `=` is the value itself, for all rows. */
export interface Columns {
  /** The name of a stream, `<kind>-<id>`; instead of `kind` and `id`. */
  readonly stream?: string;
  readonly kind?: string;
  readonly id?: string;
  readonly type?: string;
  readonly time?: string;
  /** The column of an object, or those that together are the data. Default: all others. */
  readonly data?: string | readonly string[];
  /** Columns of a CSV file whose cells are JSON: numbers, true and false, objects. */
  readonly json?: readonly string[];
  readonly event_id?: string;
  readonly position?: string;
  readonly index?: string;
}

export const COLUMN_ROLES = [
  "stream",
  "kind",
  "id",
  "type",
  "time",
  "data",
  "json",
  "event_id",
  "position",
  "index",
] as const;

const USUAL: Readonly<Record<Exclude<keyof Columns, "data" | "json">, readonly string[]>> = {
  stream: ["stream", "stream_name", "stream_id", "streamId", "streamName"],
  kind: ["aggregate_type", "aggregateType", "entity_type", "kind", "category"],
  id: ["aggregate_id", "aggregateId", "entity_id", "key", "subject"],
  type: ["type", "event_type", "eventType", "event", "event_name"],
  time: ["time", "timestamp", "occurred_at", "created_at", "createdAt", "occurredAt", "date"],
  event_id: ["event_id", "eventId", "uuid", "id"],
  position: ["position", "global_position", "sequence", "seq", "offset"],
  index: ["index", "version", "revision", "stream_position"],
};
const USUAL_DATA = ["data", "payload", "body", "event_data"];

/** The columns that the first rows of a file seem to have. */
export function guessColumns(rows: readonly JsonObject[], parse: ParseCell): Columns {
  // An empty cell of CSV is missing in its row.
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const found = Object.fromEntries(
    Object.entries(USUAL).flatMap(([role, usual]) => {
      const name = usual.find((each) => names.includes(each));
      return name === undefined ? [] : [[role, name]];
    }),
  ) as Columns;
  const cells = (name: string) => rows.flatMap((row) => row[name] === undefined ? [] : [row]);
  const data = USUAL_DATA.find((name) =>
    cells(name).length > 0 && cells(name).every((row) => isJsonObject(columnOf(row, name, parse)))
  );
  const roles = rolesOf(found, names);
  const taken = new Set<string>(Object.values(roles));
  const isJson = (name: string) =>
    cells(name).every((row) => typeof cellOf(row, name, parse) !== "string");
  const json = names.filter((name) => !taken.has(name) && isJson(name));
  const isText = rows.every((row) => Object.values(row).every((cell) => typeof cell === "string"));
  return {
    ...roles,
    ...(data !== undefined && { data }),
    ...(isText && json.length > 0 && { json }),
  };
}

const NAMED_ID = /^([a-z].*?)(?:_id|Id|ID)$/;

function rolesOf(found: Columns, names: readonly string[]): Columns {
  const { stream, ...others } = found;
  if (found.id !== undefined) return others;
  if (stream !== undefined) return found;
  if (found.kind !== undefined) {
    // Beside a column for the kind, `id` says of which thing the event is.
    if (found.event_id !== "id") return others;
    const { event_id: id, ...rest } = others;
    return { ...rest, id };
  }
  // The first column like `order_id`.
  const taken = new Set<string>(Object.values(found));
  const id = names.find((name) => NAMED_ID.test(name) && !taken.has(name));
  if (id === undefined) return others;
  return { ...others, kind: `=${NAMED_ID.exec(id)![1]}`, id };
}

const LITERAL = /^(?:true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|".*")$/s;

/** A cell of JSON; as text if it is none, or a number that a double would change. */
function cellOf(row: JsonObject, name: string, parse: ParseCell): JsonValue | undefined {
  const value = columnOf(row, name, parse);
  if (typeof value !== "string" || !LITERAL.test(value)) return value;
  let cell: JsonValue;
  try {
    cell = parseJson(value);
  } catch {
    return value;
  }
  return typeof cell === "number" && findNumberFault(value) !== undefined ? value : cell;
}

/** A reader for rows; without columns it guesses them from the first row. */
export function readRows(given: Columns | undefined): ReadRecord {
  let columns = given;
  return (row, { parse }) => readRow(row, columns ??= guessColumns([row], parse), parse);
}

function readRow(row: JsonObject, columns: Columns, parse: ParseCell): ReadOutcome {
  const cell = (name: string | undefined): JsonValue | undefined => {
    if (name === undefined) return undefined;
    return name.startsWith("=") ? name.slice(1) : row[name];
  };
  const named = textCell(cell(columns.stream));
  const kind = textCell(cell(columns.kind));
  const entity = textCell(cell(columns.id));
  const type = textCell(cell(columns.type));
  if (type === undefined) return missingCell("type of the event", "type", columns.type);
  const stream = named ?? (entity === undefined ? kind : `${kind ?? NO_CATEGORY}-${entity}`);
  if (stream === undefined) {
    return missingCell("stream", "stream, or kind and id,", columns.stream ?? columns.id);
  }
  const name = named === undefined
    ? { category: kind ?? NO_CATEGORY, entity: entity ?? "" }
    : splitName(named, /[/:-]/);
  const { data, rest } = splitRow(row, columns, parse);
  return one({
    stream,
    ...name,
    type,
    data,
    id: textCell(cell(columns.event_id)),
    time: textCell(cell(columns.time)),
    timeMs: parseTime(cell(columns.time)),
    position: textCell(cell(columns.position)),
    index: indexCell(cell(columns.index)),
    rest,
  });
}

function missingCell(what: string, roles: string, column: string | undefined): ReadOutcome {
  if (column !== undefined) return missingField(`${what}: its column ${column} is empty`);
  return missingField(`${what}: say in the map which column it is, as ${roles} in columns`);
}

/** The data, and the columns that nothing has taken. */
function splitRow(row: JsonObject, columns: Columns, parse: ParseCell) {
  const { data, json = [], ...others } = columns;
  const taken = new Set<string>(Object.values(others));
  if (json.length > 0) row = { ...row };
  for (const name of json) if (row[name] !== undefined) row[name] = cellOf(row, name, parse)!;
  const isData = (name: string) => {
    if (typeof data === "string") return name === data;
    return data === undefined ? !taken.has(name) : data.includes(name);
  };
  // By entries, so that a column called __proto__ is a column.
  const cells = Object.entries(row);
  const rest = cells.filter(([name]) => !isData(name) && !taken.has(name));
  return {
    data: typeof data === "string"
      ? columnOf(row, data, parse)
      : Object.fromEntries(cells.filter(([name]) => isData(name))),
    rest: Object.fromEntries(rest),
  };
}
