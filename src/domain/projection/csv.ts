/**
 * Encodes rows as CSV according to RFC 4180.
 *
 * Lines end with CR LF. A field is quoted if it contains a comma, a quote or a line break, or
 * if it has white space at either end; quotes are doubled. Null is empty, an empty string is
 * `""`, and nested values are JSON. A text that spreadsheets would read as a formula (it begins
 * with `=`, for example) is left as it is. With `formulasAsText` it is prefixed with `'`, the
 * spreadsheet convention for text.
 *
 * Bounded: the columns of a row, `limits.projectionColumnsMax`, and its bytes,
 * `limits.rowBytesMax`.
 */

import type { JsonValue } from "../json.ts";

const NEEDS_QUOTES = /[",\r\n]|^\s|\s$|^$/;

/** How spreadsheets recognize a formula, even after leading white space. */
const FORMULA = /^\s*[=+\-@]|^[\t\r]/;

export function csvLine(values: readonly JsonValue[], formulasAsText = false): string {
  let line = "";
  for (let at = 0; at < values.length; at++) {
    if (at > 0) line += ",";
    line += csvField(values[at]!, formulasAsText);
  }
  return line + "\r\n";
}

function csvField(value: JsonValue, formulasAsText: boolean): string {
  if (value === null) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const given = typeof value === "string" ? value : JSON.stringify(value);
  const text = formulasAsText && FORMULA.test(given) ? `'${given}` : given;
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
