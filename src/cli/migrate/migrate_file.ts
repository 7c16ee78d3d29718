/**
 * Opens a file of another system for `migrate`, and walks its records. Memory holds one piece of
 * the file, whatever its size.
 */

import { DatabaseSync } from "node:sqlite";
import type { JsonObject } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import { type MigrationMap, parseMap } from "../../domain/migrate/map.ts";
import { columnsOf, type EventReader, openEventReader } from "../../domain/migrate/read_events.ts";
import { SOURCE_NAMES, type SourceName, sourceNamed } from "../../domain/migrate/sources.ts";
import {
  type Cut,
  type CutFault,
  detectForm,
  type RawRecord,
  splitRecords,
} from "../../domain/migrate/split_records.ts";
import type { Outcome } from "../../domain/refusal.ts";
import { nameHint } from "../../domain/nearest_name.ts";
import { readChunks } from "../../files.ts";
import { parseJsonObject } from "../../http/decode/json_text.ts";
import type { Output } from "../terminal/output.ts";
import { EXIT_MISUSED, reasonOf } from "../terminal/settings.ts";

const HEAD_BYTES = 64 * 1024;
/** A page of a feed is one record with many events. */
const PAGE_BYTES_MAX = 16 * 1024 * 1024;
const SQLITE_MARK = "SQLite format 3\0";
const EMMETT_ROWS = "SELECT * FROM emt_messages ORDER BY global_position";
const ROWS_AT_ONCE = 500;

export interface SourceFile {
  readonly path: string;
  readonly source: SourceName;
  readonly bytes: number;
  /** The first bytes, by which a file is known again. */
  readonly head: Uint8Array<ArrayBuffer>;
}

/** Records of the file, many at a time; the last of them may be a fault that ends it. */
export type Records = AsyncGenerator<Cut>;

/** Looks at the file; ends the process if it is not there, or the source is none. */
export async function openSourceOrExit(
  output: Output,
  path: string,
  from: string | undefined,
): Promise<SourceFile> {
  const source = SOURCE_NAMES.find((name) => name === from);
  if (source === undefined) {
    const list = `There are: ${SOURCE_NAMES.join(", ")}.`;
    const error = from === undefined
      ? "Say where the file is from: --from."
      : `There is no source '${from}'.`;
    const hint = from === undefined ? list : nameHint(from, SOURCE_NAMES) ?? list;
    return output.fail({ error, error_type: "misused", hint }, EXIT_MISUSED);
  }
  try {
    const { size, isFile } = await Deno.stat(path);
    // It is read twice, and again by each run.
    if (!isFile) throw new Error("it is no file");
    using file = await Deno.open(path);
    const head = new Uint8Array(HEAD_BYTES);
    const length = await file.read(head) ?? 0;
    return { path, source, bytes: size, head: head.slice(0, length) };
  } catch (error) {
    const isMissing = error instanceof Deno.errors.NotFound;
    return output.fail({
      error: isMissing ? `There is no file ${path}.` : `${path}: ${reasonOf(error)}`,
      error_type: "source_unreadable",
    }, EXIT_MISUSED);
  }
}

export async function* recordsOf({ path, source, head }: SourceFile): Records {
  if (new TextDecoder().decode(head.subarray(0, SQLITE_MARK.length)) === SQLITE_MARK) {
    return yield* rowsOf(path, source);
  }
  const form = detectForm(head, source === "csv");
  const bytesMax = source === "kurrentdb" ? PAGE_BYTES_MAX : limits.importLineBytesMax;
  const splitter = splitRecords(form, bytesMax);
  for await (const piece of readChunks(path)) {
    const cut = splitter.push(piece);
    yield cut;
    if (cut.fault !== undefined) return;
  }
  yield splitter.end();
}

/** The rows of a file of SQLite, of which only Emmett makes one; a line is then a row. */
function* rowsOf(path: string, source: SourceName): Generator<Cut> {
  const fault = { line: 1, rule: "not_json" };
  if (source !== "emmett") {
    return yield {
      records: [],
      fault: { ...fault, message: `a file of SQLite is none of ${source}` },
    };
  }
  using database = new DatabaseSync(path, { readOnly: true });
  let records: RawRecord[] = [];
  let line = 0;
  try {
    for (const row of database.prepare(EMMETT_ROWS).iterate()) {
      records.push({ line: ++line, row: row as JsonObject });
      if (records.length < ROWS_AT_ONCE) continue;
      yield { records };
      records = [];
    }
  } catch (error) {
    yield { records, fault: { ...fault, line: line + 1, message: reasonOf(error) } };
    return;
  }
  yield { records };
}

export function eventReaderOf({ source }: SourceFile, map: MigrationMap): EventReader {
  return openEventReader(sourceNamed(source, map.columns), parseLine);
}

/** A line has JSON as a request may have it. */
function parseLine(text: string): Outcome<JsonObject> {
  return parseJsonObject(text, "The line");
}

/** Calls `take` with each record. Returns the fault that ended the file, if any. */
export async function walkRecords(
  file: SourceFile,
  take: (record: RawRecord) => void | Promise<void>,
): Promise<CutFault | undefined> {
  for await (const { records, fault } of recordsOf(file)) {
    for (const record of records) {
      const waiting = take(record);
      if (waiting !== undefined) await waiting;
    }
    if (fault !== undefined) return fault;
  }
}

const EMPTY_MAP = parseMap({}) as { readonly map: MigrationMap };
/** The columns of plain rows are guessed by these rows, or those of so many pieces of the file. */
const FIRST_ROWS = 1_000;
const FIRST_PIECES = 4;

/**
 * The map in a file, or the empty one without a file; ends the process if it is not valid. One that
 * says nothing of the columns of plain rows gets those that the file seems to have.
 */
export async function readMapOrExit(
  output: Output,
  file: SourceFile,
  path: string | undefined,
): Promise<MigrationMap> {
  const map = path === undefined ? EMPTY_MAP.map : await parseMapOrExit(output, file.source, path);
  if (map.columns !== undefined || !isOfRows(file.source)) return map;
  const first: RawRecord[] = [];
  let pieces = 0;
  for await (const { records } of recordsOf(file)) {
    first.push(...records.slice(0, FIRST_ROWS - first.length));
    if (first.length >= FIRST_ROWS || ++pieces >= FIRST_PIECES) break;
  }
  return { ...map, columns: columnsOf(first, parseLine) };
}

async function parseMapOrExit(
  output: Output,
  source: SourceName,
  path: string,
): Promise<MigrationMap> {
  const refuse = (error: string) => output.fail({ error, error_type: "map_invalid" }, EXIT_MISUSED);
  let text: string;
  try {
    text = await Deno.readTextFile(path);
  } catch (error) {
    const isMissing = error instanceof Deno.errors.NotFound;
    return refuse(isMissing ? `There is no file ${path}.` : `${path}: ${reasonOf(error)}`);
  }
  const document = parseJsonObject(text, "The map");
  if (!document.ok) {
    const { refusal } = document;
    return refuse(`${path}: ${"message" in refusal ? refusal.message : refusal.kind}`);
  }
  const parsed = parseMap(document.value);
  if (!parsed.ok) {
    return refuse(`${path}: ${parsed.path === "" ? "" : `${parsed.path}: `}${parsed.message}`);
  }
  if (parsed.map.columns !== undefined && !isOfRows(source)) {
    return refuse(`${path}: columns: is of csv and ndjson only, not of ${source}`);
  }
  return parsed.map;
}

/** Whether files of the source are plain rows, of which a map says what their columns are. */
function isOfRows(source: SourceName): boolean {
  return source === "csv" || source === "ndjson";
}
