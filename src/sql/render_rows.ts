/**
 * Encodes the rows of a result as JSON text: one object per row, as many rows as fit a reply.
 *
 * A value that JSON cannot represent exactly is refused instead of being changed. See
 * docs/reference/projections.md.
 */

import { limits } from "../domain/limits.ts";

export type Rendered =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly reason: string };

const encoder = new TextEncoder();
const MEBIBYTE = 1024 * 1024;

/** Reads `rows` only as far as needed. Returns the fields of the reply, without the braces. */
export function renderRows(
  columns: readonly string[],
  rows: Iterable<readonly unknown[]>,
): Rendered {
  const twin = columns.find((name, index) => columns.indexOf(name) < index);
  if (twin !== undefined) {
    return refuse(`Two columns of the result are named ${twin}: name one of them with AS`);
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
        return refuse(`One row is larger than ${limits.sqlReplyBytesMax / MEBIBYTE} MiB`);
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
    if (text === undefined) return refuse(inexact(columns[index]!, row[index]));
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

function refuse(reason: string): Rendered {
  return { ok: false, reason };
}
