/** Tables as text: aligned for people, or CSV (RFC 4180). */

const GAP = "  ";
const CELL_MAX = 60;

/** Columns as wide as their widest cell; cells of numbers at the right. */
export function showTable(
  columns: readonly string[],
  rows: readonly (readonly unknown[])[],
): string {
  const cells = rows.map((row) => row.map(cellText));
  const widths = columns.map((name, at) =>
    Math.max(width(name), ...cells.map((row) => width(row[at]!)))
  );
  const isNumeric = columns.map((_, at) =>
    rows.length > 0 && rows.every((row) => row[at] === null || typeof row[at] === "number")
  );
  const line = (row: readonly string[]) =>
    row.map((cell, at) => pad(cell, widths[at]!, isNumeric[at]!)).join(GAP).trimEnd();
  const rule = widths.map((each) => "─".repeat(each)).join(GAP);
  return [line(columns), rule, ...cells.map(line)].join("\n");
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text = (typeof value === "string" ? value : JSON.stringify(value))
    .replace(/\p{Cc}/gu, " ");
  return width(text) > CELL_MAX ? `${[...text].slice(0, CELL_MAX - 1).join("")}…` : text;
}

/** Good enough for aligning: one column for each character. */
function width(text: string): number {
  return [...text].length;
}

function pad(text: string, to: number, atRight: boolean): string {
  const space = " ".repeat(Math.max(0, to - width(text)));
  return atRight ? space + text : text + space;
}

/** Lines end with CR LF; null is empty and an empty text is quoted, as in the CSV of the API. */
export function toCsv(columns: readonly string[], rows: readonly (readonly unknown[])[]): string {
  return [columns, ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n");
}

function csvCell(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
