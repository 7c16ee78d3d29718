/**
 * Events as a table of Parquet: a row for each event, in groups that are written as they fill, so
 * that memory does not grow with the number of events.
 */

import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import { splitStreamKey, type StreamKey } from "../domain/identifier.ts";
import type { Entry, Erasure, Page, PageWriter } from "./export_pages.ts";

/** A group of rows ends with the page that fills one of the two. */
const GROUP_ROWS = 50_000;
const GROUP_CHARACTERS = 16 * 1024 * 1024;

type Kind = "text" | "count" | "time" | "json";

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

type Column = keyof typeof COLUMNS;
type Cell = string | number | Date | null;
type Row = Readonly<Record<Column, Cell>>;

const ELEMENTS: Readonly<Record<Kind, object>> = {
  text: { type: "BYTE_ARRAY", converted_type: "UTF8" },
  count: { type: "INT32" },
  time: { type: "INT64", converted_type: "TIMESTAMP_MILLIS" },
  json: { type: "BYTE_ARRAY", converted_type: "UTF8" },
};

/** The names and types of all columns; the file has them even if it has no row. */
function schemaOf(): ConstructorParameters<typeof ParquetWriter>[0]["schema"] {
  const columns = Object.entries(COLUMNS).map(([name, kind]) => ({
    name,
    ...ELEMENTS[kind],
    repetition_type: "OPTIONAL" as const,
  }));
  return [{ name: "root", num_children: columns.length }, ...columns];
}

export function writeParquet(write: (bytes: Uint8Array) => Promise<void>): PageWriter {
  const bytes = new ByteWriter();
  const file = new ParquetWriter({ writer: bytes, schema: schemaOf(), createdBy: "daybook" });
  let rows: Row[] = [];
  let characters = 0;

  async function handOn(): Promise<void> {
    await write(bytes.getBytes().slice());
    // What was handed on is not kept; `offset` goes on counting.
    bytes.index = 0;
  }

  async function writeGroup(): Promise<void> {
    if (rows.length === 0) return;
    const names = Object.keys(COLUMNS) as Column[];
    const columnData = names.map((name) => ({ name, data: rows.map((row) => row[name]) }));
    await file.write({ columnData, rowGroupSize: rows.length });
    await handOn();
    [rows, characters] = [[], 0];
  }

  return {
    async write(page) {
      for (const row of rowsOfPage(page)) {
        rows.push(row);
        characters += String(row.data ?? "").length + String(row.metadata ?? "").length;
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
  return {
    cursor,
    key,
    aggregate_type,
    aggregate_id,
    stream_index: null,
    event_type: "_stream_erased",
    time: null,
    actor_type: null,
    actor_id: null,
    data: null,
    metadata: null,
    hash: null,
  };
}
