/**
 * Runs one statement against the copy of an environment's projections.
 *
 * This code runs in a process of its own, which is killed if the statement takes too long. The
 * file is opened read-only for this statement alone. The same read transaction checks whether
 * the copy is in the expected state, so nothing can change in between.
 */

import { limits } from "../domain/limits.ts";
import type { BoundArguments, SqlArgument } from "../domain/projection/check_query.ts";
import { limitRows } from "../domain/projection/sql_text.ts";
import { type SqlValue, sqlValue } from "../domain/projection/sql_value.ts";
import { authorization } from "./authorizer.ts";
import { COPY_FORMAT } from "./copy_file.ts";
import type { QueryRequest, QueryResult, WantedTable } from "./query_messages.ts";
import {
  type ArrayStatement,
  FAILURE,
  failureOf,
  openForReading,
  type ReadingDatabase,
} from "./sqlite.ts";

type Row = readonly unknown[];

/** A statement's result, or why there is none. `text` is the body of a result of kind `rows`. */
export type RanQuery = { readonly result: QueryResult; readonly text: string };

const BUSY_MS = 1_000;
/** Also the amount sorted at a time: sorting is fastest within the processor's caches. */
const CACHE_KILOBYTES = 2_000;
const MEBIBYTE = 1024 * 1024;
/** The value of the column we add, in rows of the statement and in the end row after them. */
const MARK = { row: 0, end: 1 } as const;

/** Reasons for failures where SQLite's own message does not help. */
const FAILURES: Readonly<Record<number, string>> = {
  [FAILURE.noMemory]: "The statement needs more than " +
    `${limits.sqlMemoryBytesMax / MEBIBYTE} MiB of memory`,
  [FAILURE.tooBig]: `A value is larger than ${limits.sqlValueBytesMax / MEBIBYTE} MiB`,
};
const UNFIT: ReadonlySet<number> = new Set([
  FAILURE.diskError,
  FAILURE.corrupt,
  FAILURE.cannotOpen,
  FAILURE.notADatabase,
]);

/** Never throws because of what a statement does. */
export function runQuery(request: QueryRequest): RanQuery {
  let database: ReadingDatabase | undefined;
  try {
    database = openForReading(request.path, {
      length: limits.sqlValueBytesMax,
      attach: 0,
    });
    prepareConnection(database, request.spills);
    const unfit = findUnfit(database, request.tables);
    if (unfit !== undefined) return ended(unfit);
    return runStatement(database, request);
  } catch (error) {
    return ended(copyUnfit(error));
  } finally {
    database?.close();
  }
}

function prepareConnection(database: ReadingDatabase, spills: boolean): void {
  database.exec(
    `PRAGMA busy_timeout = ${BUSY_MS};
     PRAGMA hard_heap_limit = ${limits.sqlMemoryBytesMax};
     PRAGMA temp_store = ${spills ? "FILE" : "MEMORY"};
     PRAGMA query_only = ON;
     PRAGMA trusted_schema = OFF;
     PRAGMA cell_size_check = ON;
     PRAGMA cache_size = -${CACHE_KILOBYTES};
     BEGIN`,
  );
}

/** Why the copy cannot answer: another format, or a table that is missing or behind. */
function findUnfit(
  database: ReadingDatabase,
  tables: readonly WantedTable[],
): QueryResult | undefined {
  const format = database.prepare("PRAGMA user_version").get()?.user_version;
  if (format !== COPY_FORMAT) return missing(`format ${format}`);
  const find = database.prepare(
    "SELECT stamp FROM _views WHERE name = ? AND number = ? AND version = ?",
  );
  for (const { name, number, version, stamp } of tables) {
    const found = find.get(name, number, version)?.stamp;
    if (typeof found !== "string") return missing(`no table for ${name}`);
    // Stamps begin with parts of equal length, so they sort like their hex texts.
    if (found < stamp) return missing(`${name} is behind`);
  }
  return undefined;
}

function missing(reason: string): QueryResult {
  return { kind: "copy_unfit", isDamaged: false, reason };
}

function runStatement(database: ReadingDatabase, request: QueryRequest): RanQuery {
  const { sql, tables } = request;
  const allowed = new Set(tables.map(({ name }) => name));
  const { authorize, reason } = authorization(allowed, otherNames(database, allowed));
  database.setAuthorizer(authorize);
  try {
    // SQLite prepares only the first statement of a text; the caller has checked there is just
    // one.
    const statement = database.prepare(sql) as ArrayStatement;
    const columns = statement.columns().map(({ name }) => name);
    const rows = rowsOf(database, request, statement, columns);
    const rendered = renderRows(columns, rows);
    if (!rendered.ok) return refused(rendered.reason);
    return { result: { kind: "rows" }, text: rendered.text };
  } catch (error) {
    const code = failureOf(error);
    if (code !== undefined && UNFIT.has(code)) return ended(copyUnfit(error));
    return refused(reason() ?? FAILURES[code ?? 0] ?? messageOf(error));
  }
}

/** Names in the file or built into SQLite that are not for the statement. */
function otherNames(database: ReadingDatabase, allowed: ReadonlySet<string>): Set<string> {
  const rows = database.prepare(
    "SELECT name FROM sqlite_schema UNION SELECT name FROM pragma_module_list",
  ).all();
  const names = rows.map(({ name }) => String(name).toLowerCase());
  return new Set(names).difference(allowed);
}

/**
 * Returns the rows one by one, no more than are shown, so that memory holds one row beside the
 * reply. The platform hides a failure in this mode: the rows simply end. Therefore an end row
 * is added after the rows, and if it does not arrive, the statement runs once more to obtain
 * the failure. If the end row cannot be added, the rows are trusted only if the reader stops
 * early, or if the same statement then succeeds when all rows are read at once.
 */
function rowsOf(
  database: ReadingDatabase,
  { sql, bound }: QueryRequest,
  statement: ArrayStatement,
  columns: readonly string[],
): Iterable<Row> {
  const limited = prepareLimited(database, sql, columns);
  const marked = limited && prepareMarked(database, limited.sourceSQL, columns);
  if (marked === undefined) return rowsToCutOff(statement, bound);
  return rowsToMark(marked, limited!, bound);
}

/** Undefined if the text with our LIMIT is not a valid statement, or has other columns. */
function prepareLimited(
  database: ReadingDatabase,
  sql: string,
  columns: readonly string[],
): ArrayStatement | undefined {
  const limited = tryPrepare(database, limitRows(sql, limits.sqlRowsMax + 1));
  const names = limited?.columns().map(({ name }) => name) ?? [];
  const isSame = names.length === columns.length && names.every((name, n) => name === columns[n]);
  return isSame ? limited : undefined;
}

/** The same rows with an additional first column, which tells them from the end row. */
function prepareMarked(
  database: ReadingDatabase,
  limited: string,
  columns: readonly string[],
): ArrayStatement | undefined {
  const nulls = ", NULL".repeat(columns.length);
  return tryPrepare(
    database,
    `SELECT ${MARK.row}, * FROM (\n${limited}\n) UNION ALL SELECT ${MARK.end}${nulls}`,
  );
}

/** Undefined if it is not a valid statement, or if SQLite takes only a part of the text. */
function tryPrepare(database: ReadingDatabase, sql: string): ArrayStatement | undefined {
  try {
    const statement = database.prepare(sql) as ArrayStatement;
    return statement.sourceSQL === sql ? statement : undefined;
  } catch (error) {
    if (failureOf(error) === undefined) throw error;
    return undefined;
  }
}

function* rowsToMark(
  marked: ArrayStatement,
  limited: ArrayStatement,
  bound: BoundArguments,
): Generator<Row> {
  let count = 0;
  for (const row of statementRows(marked, bound, "iterate")) {
    if (row[0] === BigInt(MARK.end)) return;
    yield row.slice(1);
    count++;
  }
  // The statement failed before the reply was full, so its result is small: read it again, all
  // rows at once, to get the failure.
  let at = 0;
  for (const row of statementRows(limited, bound, "all")) if (at++ >= count) yield row;
}

function* rowsToCutOff(statement: ArrayStatement, bound: BoundArguments): Generator<Row> {
  for (const row of statementRows(statement, bound, "iterate")) yield row;
  statementRows(statement, bound, "all");
}

function statementRows(
  statement: ArrayStatement,
  { byPlace, byName }: BoundArguments,
  how: "all" | "iterate",
): Iterable<Row> {
  statement.setReturnArrays(true);
  statement.setReadBigInts(true);
  statement.setAllowBareNamedParameters(false);
  const named: Record<string, SqlValue> = {};
  for (const [name, value] of Object.entries(byName)) named[name] = bind(value);
  return statement[how](named, ...byPlace.map(bind)) as Iterable<unknown> as Iterable<Row>;
}

function bind(value: SqlArgument): SqlValue {
  return sqlValue(value);
}

function refused(reason: string): RanQuery {
  return ended({ kind: "refused", reason });
}

function ended(result: QueryResult): RanQuery {
  return { result, text: "" };
}

function copyUnfit(error: unknown): QueryResult {
  const code = failureOf(error);
  const isDamaged = code !== undefined && code !== FAILURE.cannotOpen;
  return { kind: "copy_unfit", isDamaged, reason: messageOf(error) };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "no reason given";
}

type Rendered =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly reason: string };

const encoder = new TextEncoder();

/**
 * Encodes rows as JSON text: one object per row, as many rows as fit a reply. A value that JSON
 * cannot represent exactly is refused instead of being changed. Reads `rows` only as far as
 * needed. Returns the fields of the reply, without the braces.
 */
export function renderRows(
  columns: readonly string[],
  rows: Iterable<readonly unknown[]>,
): Rendered {
  const twin = columns.find((name, index) => columns.indexOf(name) < index);
  if (twin !== undefined) {
    return refuseRows(`Two columns of the result are named ${twin}: name one of them with AS`);
  }
  const starts = columns.map((name) => `${JSON.stringify(name)}:`);
  const texts: string[] = [];
  let bytes = 0;
  let truncated = false;
  for (const row of rows) {
    if (texts.length === limits.sqlRowsMax) {
      truncated = true;
      break;
    }
    const fields = renderRow(columns, starts, row);
    if (typeof fields !== "string") return fields;
    bytes += encoder.encode(fields).length + 1;
    if (bytes > limits.sqlReplyBytesMax) {
      if (texts.length === 0) {
        return refuseRows(`One row is larger than ${limits.sqlReplyBytesMax / MEBIBYTE} MiB`);
      }
      truncated = true;
      break;
    }
    texts.push(fields);
  }
  const count = texts.length;
  const text = `"columns":${JSON.stringify(columns)},"rows":[${texts.join(",")}],` +
    `"row_count":${count},"truncated":${truncated}`;
  return { ok: true, text };
}

function renderRow(
  columns: readonly string[],
  starts: readonly string[],
  row: readonly unknown[],
): string | Rendered {
  let fields = "";
  for (const [index, start] of starts.entries()) {
    const text = renderValue(row[index]);
    if (text === undefined) return refuseRows(inexact(columns[index]!, row[index]));
    fields += `${index === 0 ? "{" : ","}${start}${text}`;
    if (fields.length > limits.sqlReplyBytesMax) break;
  }
  return `${fields}}`;
}

/** Undefined for a value that JSON cannot represent. */
function renderValue(value: unknown): string | undefined {
  if (value === null || typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number") return Number.isFinite(value) ? JSON.stringify(value) : undefined;
  if (typeof value !== "bigint") return undefined;
  return Number.isSafeInteger(Number(value)) ? String(value) : undefined;
}

function inexact(column: string, value: unknown): string {
  const advice = "have it as text with CAST(... AS TEXT)";
  if (typeof value === "bigint") {
    return `Column ${column} has ${value}, beyond what JSON numbers carry exactly: ${advice}`;
  }
  if (typeof value === "number") return `Column ${column} has an infinite number: ${advice}`;
  return `Column ${column} has a blob, which JSON cannot carry: have it as text with hex(...)`;
}

function refuseRows(reason: string): Rendered {
  return { ok: false, reason };
}
