/** The rows of an answer as CSV, in the format of the server's own exports (RFC 4180). */

/** What spreadsheets take for the beginning of a formula. */
const FORMULA = /^[=+\-@\t\r]/;
const NEEDS_QUOTES = /[",\r\n]/;

export function csvOf(
  columns: readonly string[],
  rows: readonly Readonly<Record<string, unknown>>[],
): string {
  const lines = [
    columns.map(fieldOf),
    ...rows.map((row) => columns.map((name) => fieldOf(row[name]))),
  ];
  return lines.map((fields) => `${fields.join(",")}\r\n`).join("");
}

function fieldOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") return String(value);
  if (value === "") return '""';
  const text = FORMULA.test(value) ? `'${value}` : value;
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
