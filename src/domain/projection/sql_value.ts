/**
 * Converts JSON to SQL values, for the tables of projections and for query parameters.
 *
 * The result is what SQLite's own JSON functions would return. See
 * docs/reference/queries.md.
 */

import type { JsonValue } from "../json.ts";
import type { ColumnType } from "./ready_projection.ts";

/**
 * Whole numbers from -(2^53 - 1) to 2^53 - 1 are `bigint`, which SQLite stores as INTEGER.
 * Larger ones stay REAL, because a reply refuses an INTEGER that the reader's JSON parser might
 * round.
 */
export type SqlValue = null | bigint | number | string;

/** SQLite cuts a text off at this character in many places, so it must not be stored. */
const NUL = "\0";
const REPLACEMENT = "\uFFFD";

export function sqlValue(value: JsonValue, type: ColumnType = "any"): SqlValue {
  if (value === null) return null;
  // JSON text keeps types apart: `"1"` is not `1`.
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

/**
 * Column types of STRICT tables: each value has its column's type, or any type in an ANY
 * column.
 */
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
