/**
 * How JSON is seen in SQL, in the tables of projections as in parameters: as SQLite's own JSON
 * functions give it. Decisions, section 15.
 */

import type { JsonValue } from "../json.ts";
import type { ColumnType } from "./view.ts";

/**
 * Whole numbers up to 2^53 - 1 either way are `bigint`, which SQLite keeps as INTEGER. Greater ones
 * stay REAL: a reply refuses an INTEGER that its reader's JSON might round.
 */
export type SqlValue = null | bigint | number | string;

/** SQLite ends a text at this character wherever it works on it, so it cannot stand in one. */
const NUL = "\0";
const REPLACEMENT = "\uFFFD";

export function sqlValue(value: JsonValue, type: ColumnType = "any"): SqlValue {
  if (value === null) return null;
  // As text a value of any kind stays what it was: `"1"` is not `1`.
  if (type === "json") return JSON.stringify(value);
  switch (typeof value) {
    case "boolean":
      return value ? 1n : 0n;
    case "number":
      return type !== "number" && Number.isSafeInteger(value) ? BigInt(value) : value;
    case "string":
      return sqlText(value);
    default:
      return JSON.stringify(value);
  }
}

export function sqlText(text: string): string {
  return text.includes(NUL) ? text.replaceAll(NUL, REPLACEMENT) : text;
}

/** The types of strict tables: a value of a column is of its type, or of any kind. */
const STORED_TYPES: Readonly<Record<ColumnType, string>> = {
  string: "TEXT",
  integer: "INTEGER",
  number: "REAL",
  boolean: "INTEGER",
  timestamp: "TEXT",
  json: "TEXT",
  any: "ANY",
};

export function sqlTypeOf(type: ColumnType): string {
  return STORED_TYPES[type];
}
