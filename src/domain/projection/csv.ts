/**
 * CSV as RFC 4180 has it: lines end with CR LF; fields with a comma, a quote, a line break or space
 * at an end stand in quotes; quotes are doubled. Null is empty, an empty text is `""`; what is
 * nested is JSON. A text that begins with `=` stays what it is, whatever spreadsheets make of it,
 * unless formulas are to be text: then `'` is put before it, as spreadsheets have it.
 *
 * Bounded: the columns of a row, `limits.projectionColumnsMax`, and its bytes,
 * `limits.rowBytesMax`.
 */

import type { JsonValue } from "../json.ts";

const NEEDS_QUOTES = /[",\r\n]|^\s|\s$|^$/;

/** How spreadsheets know a formula; white space before it does not keep them from it. */
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
