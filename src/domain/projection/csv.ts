/**
 * CSV as RFC 4180 has it: lines end with CR LF; fields with a comma, a quote, a line break or space
 * at an end stand in quotes; quotes are doubled. Null is empty, an empty text is `""`; what is
 * nested is JSON. A text that begins with `=` stays what it is, whatever spreadsheets make of it.
 *
 * Bounded: the columns of a row, `limits.projectionColumnsMax`, and its bytes,
 * `limits.rowBytesMax`.
 */

import type { JsonValue } from "../json.ts";

const NEEDS_QUOTES = /[",\r\n]|^\s|\s$|^$/;

export function csvLine(values: readonly JsonValue[]): string {
  let line = "";
  for (let at = 0; at < values.length; at++) {
    if (at > 0) line += ",";
    line += csvField(values[at]!);
  }
  return line + "\r\n";
}

function csvField(value: JsonValue): string {
  if (value === null) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
