/**
 * Tables of Parquet, of events and of projections: rows in groups that are written as they fill, so
 * that memory does not grow with their number.
 */

import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import { splitStreamKey, type StreamKey } from "../../domain/identifier.ts";
import type { Entry, Erasure, Page, PageWriter } from "./export_pages.ts";

/** A group of rows ends with the page that fills one of the two. */
const GROUP_ROWS = 50_000;
const GROUP_CHARACTERS = 16 * 1024 * 1024;

export type Kind = "text" | "count" | "integer" | "number" | "boolean" | "time" | "json";

/** The columns, in their order; those of events alone are null in the row of an erasure. */
const COLUMNS = {
  cursor: "text",
  key: "text",
  aggregate_type: "text",
  aggregate_id: "text",
  stream_index: "count",
  event_type: "text",
  time: "time",
  actor_type: "text",
  actor_id: "text",
  data: "json",
  metadata: "json",
  hash: "text",
} as const satisfies Readonly<Record<string, Kind>>;

type Cell = string | number | bigint | boolean | Date | null;
/** Cells by their columns; one that is not there is null. */
export type Row = Readonly<Record<string, Cell>>;

const ELEMENTS: Readonly<Record<Kind, object>> = {
  text: { type: "BYTE_ARRAY", converted_type: "UTF8" },
  count: { type: "INT32" },
  integer: { type: "INT64" },
  number: { type: "DOUBLE" },
  boolean: { type: "BOOLEAN" },
  time: { type: "INT64", converted_type: "TIMESTAMP_MILLIS" },
  json: { type: "BYTE_ARRAY", converted_type: "UTF8" },
};

/** The names and types of all columns; the file has them even if it has no row. */
function schemaOf(
  kinds: Readonly<Record<string, Kind>>,
): ConstructorParameters<typeof ParquetWriter>[0]["schema"] {
  const columns = Object.entries(kinds).map(([name, kind]) => ({
    name,
    ...ELEMENTS[kind],
    repetition_type: "OPTIONAL" as const,
  }));
  return [{ name: "root", num_children: columns.length }, ...columns];
}

export interface TableWriter {
  /** Takes rows; a group ends with those that fill it. */
  write(rows: readonly Row[]): Promise<void>;
  finish(): Promise<void>;
}

/** The columns have the order of `kinds`. */
export function openTable(
  write: (bytes: Uint8Array) => Promise<void>,
  kinds: Readonly<Record<string, Kind>>,
): TableWriter {
  const bytes = new ByteWriter();
  const schema = schemaOf(kinds);
  const file = new ParquetWriter({ writer: bytes, schema, createdBy: "daybook" });
  const names = Object.keys(kinds);
  let rows: Row[] = [];
  let characters = 0;

  async function handOn(): Promise<void> {
    await write(bytes.getBytes().slice());
    // What was handed on is not kept; `offset` goes on counting.
    bytes.index = 0;
  }

  async function writeGroup(): Promise<void> {
    if (rows.length === 0) return;
    const columnData = names.map((name) => ({ name, data: rows.map((row) => row[name] ?? null) }));
    await file.write({ columnData, rowGroupSize: rows.length });
    await handOn();
    [rows, characters] = [[], 0];
  }

  return {
    async write(more) {
      for (const row of more) {
        rows.push(row);
        for (const name of names) {
          const cell = row[name];
          if (typeof cell === "string") characters += cell.length;
        }
      }
      if (rows.length >= GROUP_ROWS || characters >= GROUP_CHARACTERS) await writeGroup();
    },
    async finish() {
      await writeGroup();
      await file.finish();
      await handOn();
    },
  };
}

/** Events as a table: a row for each event, and for each erasure. */
export function writeParquet(write: (bytes: Uint8Array) => Promise<void>): PageWriter {
  const table = openTable(write, COLUMNS);
  return { write: (page) => table.write(rowsOfPage(page)), finish: () => table.finish() };
}

/** Events and erasures, in the order of the feed. */
function rowsOfPage({ data, erased = [] }: Page): Row[] {
  const rows = [...data.map(rowOfEvent), ...erased.map(rowOfErasure)];
  if (erased.length === 0) return rows;
  return rows.sort((one, other) => one.cursor! < other.cursor! ? -1 : 1);
}

function rowOfEvent({ cursor, id, hash, event }: Entry): Row {
  const { key, type, data, metadata } = event!;
  const { type: aggregate_type, id: aggregate_id } = splitStreamKey(key as StreamKey);
  return {
    cursor,
    key,
    aggregate_type,
    aggregate_id,
    stream_index: Number(id),
    event_type: type,
    time: new Date(metadata.timestamp * 1000),
    actor_type: metadata.actor.type,
    actor_id: metadata.actor.id,
    data: JSON.stringify(data),
    metadata: JSON.stringify(metadata),
    hash,
  };
}

function rowOfErasure({ key, cursor }: Erasure): Row {
  const { type: aggregate_type, id: aggregate_id } = splitStreamKey(key as StreamKey);
  return { cursor, key, aggregate_type, aggregate_id, event_type: "_stream_erased" };
}
