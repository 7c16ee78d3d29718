/**
 * The one shape that every reader of another system's events gives, and what a reader may say of a
 * record instead. See docs/reference/migrate.md.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";

/** An event of another system, before the map says what it becomes here. */
export interface SourceEvent {
  /** The name of its stream there. */
  readonly stream: string;
  /** The part of that name that says what the stream is about; the map translates it to a type. */
  readonly category: string;
  /** The rest of the name: the id there. Empty if the name is a category alone. */
  readonly entity: string;
  readonly type: string;
  /** Absent if the event has none. */
  readonly data?: JsonValue;
  /** What it is called there. */
  readonly id?: string;
  /** As the source writes it, and in milliseconds since 1970. */
  readonly time?: string;
  readonly timeMs?: number;
  /** Its place among all events of the source. */
  readonly position?: string;
  /** Its place in its stream. */
  readonly index?: number;
  /** The name of the place that made it, where the source tells; else the source has one name. */
  readonly origin?: string;
  /** Ids of the work that it belongs to and of what caused it, where the source has fields. */
  readonly correlationId?: string;
  readonly causationId?: string;
  /** What else the record holds, by the names that it has there. */
  readonly rest: JsonObject;
}

/** Why a record cannot be read; the rule is a name that the reference explains. */
export interface SourceFault {
  readonly rule: string;
  readonly message: string;
}

export type ReadOutcome =
  | {
    readonly ok: true;
    readonly events: readonly SourceEvent[];
    /** A reason for each part of the record that is nothing to move, such as the system's own. */
    readonly skipped?: readonly string[];
  }
  | { readonly ok: false; readonly fault: SourceFault };

/** The value that a text of JSON is; undefined if it is none. */
export type ParseCell = (text: string) => JsonValue | undefined;

/** What a reader may use besides the record. */
export interface Reading {
  /** The text of the record; undefined if it is a row of a database or of CSV. */
  readonly text: string | undefined;
  /** @throws {CellFault} for JSON that cannot be kept as it is. */
  readonly parse: ParseCell;
}

/** Reads one record; may keep what it needs to verify the next one. */
export type ReadRecord = (record: JsonObject, reading: Reading) => ReadOutcome;

/** Thrown for a cell that cannot be kept as it is; it refuses the record. */
export class CellFault extends Error {
  override readonly name = "CellFault";
}

/** A source by its name on the command line. */
export interface Source {
  /** As `metadata.origin.source` has it, unless an event names another place. */
  readonly name: string;
  /** Whether no two events of a file have the same id. */
  readonly hasUniqueIds: boolean;
  /** Opens a reader for one file. */
  readonly open: () => ReadRecord;
}

export function one(event: SourceEvent): ReadOutcome {
  return { ok: true, events: [event] };
}

export function skip(reason: string): ReadOutcome {
  return { ok: true, events: [], skipped: [reason] };
}

export function faulty(rule: string, message: string): ReadOutcome {
  return { ok: false, fault: { rule, message } };
}

export function missingField(name: string): ReadOutcome {
  return faulty("field_missing", `the record has no ${name}`);
}

/** A text, or a number written as one; undefined for everything else and for an empty text. */
export function textCell(value: JsonValue | undefined): string | undefined {
  if (typeof value === "string") return value === "" ? undefined : value;
  return typeof value === "number" ? String(value) : undefined;
}

/** A whole number, also one written as a text, as drivers of databases write large ones. */
export function indexCell(value: JsonValue | undefined): number | undefined {
  const number = typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return Number.isSafeInteger(number) ? number as number : undefined;
}

const BEGINS_LIST_OR_OBJECT = /^\s*[[{]/;

/** A column with JSON: as it is, or the list or object that its text is. Other text stays text. */
export function columnOf(
  record: JsonObject,
  name: string,
  parse: ParseCell,
): JsonValue | undefined {
  const value = record[name];
  if (typeof value !== "string") {
    if (ArrayBuffer.isView(value)) throw new CellFault(`${name} has bytes instead of text`);
    return value;
  }
  if (!BEGINS_LIST_OR_OBJECT.test(value)) return value;
  try {
    return parse(value) ?? value;
  } catch (error) {
    throw error instanceof CellFault ? new CellFault(`${name}: ${error.message}`) : error;
  }
}

/** An object in a column; empty for everything else. */
export function objectColumn(record: JsonObject, name: string, parse: ParseCell): JsonObject {
  const found = columnOf(record, name, parse);
  return isJsonObject(found) ? found : {};
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** The category of streams whose names have none. */
export const NO_CATEGORY = "record";

/** Splits a name at the first of the separators: `account-1` into `account` and `1`. */
export function splitName(name: string, separators: RegExp): { category: string; entity: string } {
  if (UUID.test(name) || !/^\p{L}/u.test(name)) return { category: NO_CATEGORY, entity: name };
  const at = name.search(separators);
  if (at < 1) return { category: name, entity: "" };
  return { category: name.slice(0, at), entity: name.slice(at + 1) };
}

const DATE = /^\d{4}-\d{2}-\d{2}(?:[T ]|$)/;
const DATE_LENGTH = "2026-01-31".length;
const LOCAL_TIME = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?$/;
const SHORT_ZONE = /([+-]\d{2})(?::?(\d{2}))?$/;

/**
 * Milliseconds since 1970 of a time as databases and documents write it: ISO 8601 with a zone or,
 * as UTC, without one; a date alone, which is its first moment; or a number of seconds,
 * milliseconds, microseconds or nanoseconds.
 */
export function parseTime(value: JsonValue | undefined): number | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? ofNumber(value) : undefined;
  if (typeof value !== "string") return undefined;
  const text = value.trim();
  if (/^\d{9,19}(?:\.\d+)?$/.test(text)) return ofNumber(Number(text));
  const ms = Date.parse(LOCAL_TIME.test(text) ? `${text.replace(" ", "T")}Z` : zoned(text));
  return Number.isNaN(ms) || !isDay(text) ? undefined : ms;
}

/** Whether there is such a day: the runtime takes February 30 for March 1. */
function isDay(text: string): boolean {
  const day = Number(text.slice(8, 10));
  if (day <= 28) return true;
  const [year, month] = [Number(text.slice(0, 4)), Number(text.slice(5, 7))];
  return day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}

/** `2026-01-31 12:00:00+00` as the runtime reads it. */
function zoned(text: string): string {
  if (!DATE.test(text)) return "";
  // A date alone, which the runtime takes as UTC.
  if (text.length === DATE_LENGTH) return text;
  if (text.endsWith("Z")) return text.replace(" ", "T");
  return text.replace(" ", "T").replace(
    SHORT_ZONE,
    (_, hours, minutes = "00") => `${hours}:${minutes}`,
  );
}

/** What a number of this size counts: seconds reach the year 5138 before they look like more. */
function ofNumber(value: number): number {
  const size = Math.abs(value);
  if (size < 1e11) return value * 1e3;
  if (size < 1e14) return value;
  return size < 1e17 ? value / 1e3 : value / 1e6;
}
