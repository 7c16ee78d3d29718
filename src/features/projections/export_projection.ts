/**
 * Exports a projection as CSV, one page of rows at a time, however many rows there are.
 *
 * Each instance has one page made at a time, so that its exports hold up no other instance.
 */

import { assert } from "../../domain/assert.ts";
import { limits } from "../../domain/limits.ts";
import type { Lines } from "../../domain/fairness/per_name.ts";
import { waitForTurn } from "../../domain/fairness/pieces.ts";
import { memberTexts } from "../../domain/json_text/members.ts";
import { parseJson } from "../../domain/json_text/parse_json.ts";
import type { ReadyProjection } from "../../domain/projection/ready_projection.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import { didYouMean } from "../../domain/nearest_name.ts";
import type { Host } from "../../host.ts";
import type { Engine, ReadTransaction } from "../../kv/engine.ts";
import { readReadyProjection } from "../../store/projections/projections.ts";
import { readProjectionRows } from "../../store/projections/projection_rows.ts";
import { findReadyProjection, readStaleness } from "./read_rows.ts";
import { waitForProjections } from "./wait_for_projections.ts";

export interface CsvRequest {
  readonly name: string;
  /** Absent: all columns, in the order of the definition. */
  readonly columns?: readonly string[];
  /** Whether to mark texts that spreadsheets would take for formulas as texts. */
  readonly formulasAsText?: boolean;
  /** Whether to export the last good rows if the projection is broken. */
  readonly stale?: boolean;
}

export interface CsvExport {
  /** Set if the rows are no longer brought up to date. */
  readonly stale?: true;
  /**
   * The number of commits that the rows may not show yet; 0 if they show everything written
   * before.
   */
  readonly lag: number;
  /** UTF-8 text in pages, the header first. Throws if the projection changes meanwhile. */
  readonly pages: AsyncGenerator<Uint8Array<ArrayBuffer>, void, void>;
}

const PAGE_ROWS = 500;
/** A page this large takes some milliseconds of this thread. */
const PAGE_BYTES = 256 * 1024;
const KEY = "key";
const encoder = new TextEncoder();

export interface ExportTools {
  readonly engine: Engine;
  readonly host: Host;
}

export async function exportProjection(
  { engine, host }: ExportTools,
  { number: tenant, instanceId }: Tenant,
  { name, columns: asked, formulasAsText = false, stale = false }: CsvRequest,
  lines: Lines,
): Promise<Outcome<CsvExport>> {
  const { commits } = await waitForProjections(engine, host, {
    tenant,
    waitMs: limits.projectionWaitMsMax,
    names: [name],
  });
  const { projection, staleness } = await engine.snapshot(async (tx) => {
    const projection = await findReadyProjection(tx, tenant, name, stale);
    return {
      projection,
      staleness: projection.ok
        ? await readStaleness(tx, projection.value, { engine, host })
        : undefined,
    };
  });
  if (!projection.ok) return projection;
  const known = projection.value.columns.map((column) => column.name);
  const unknown = asked?.find((column) => column !== KEY && !known.includes(column));
  if (unknown !== undefined) {
    const hint = didYouMean(unknown, known, `It has ${known.join(", ")}.`);
    const message = `Projection '${name}' has no column '${unknown}'. ${hint}`;
    return refuse({ kind: "bad_request", message, path: "columns" });
  }
  const columns = [...new Set(asked ?? known)].filter((column) => column !== KEY);
  return accept({
    lag: commits,
    ...staleness,
    pages: csvPages(readPage, { first: projection.value, columns, formulasAsText }),
  });

  function readPage<T>(read: (tx: ReadTransaction) => Promise<T>): Promise<T> {
    return lines.inLine(instanceId, async () => {
      // A page is a slice of work: other work gets the thread between two of them.
      await waitForTurn(host, false, instanceId);
      return await engine.snapshot(read);
    });
  }
}

interface CsvTable {
  /** The projection as it is at the start. */
  readonly first: ReadyProjection;
  readonly columns: readonly string[];
  readonly formulasAsText: boolean;
}

async function* csvPages(
  readPage: <T>(read: (tx: ReadTransaction) => Promise<T>) => Promise<T>,
  { first, columns, formulasAsText }: CsvTable,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, void> {
  let projection = first;
  let after: string | undefined;
  let text = csvLine([KEY, ...columns].map((name) => JSON.stringify(name)), formulasAsText);
  for (let count = PAGE_ROWS; count > 0;) {
    const page = await readPage(async (tx) => {
      const now = await readReadyProjection(tx, projection.tenant, projection.name);
      if (now === undefined || !isSameTable(now, first)) return undefined;
      const options = { after, limit: PAGE_ROWS, bytesMax: PAGE_BYTES };
      return { now, rows: await readProjectionRows(tx, now, options) };
    });
    // A partial export must not look complete, so it fails.
    if (page === undefined) throw new Error("The projection was changed while it was exported");
    projection = page.now;
    for (const { key, dataJson } of page.rows) {
      text += csvLine([JSON.stringify(key), ...textsOf(dataJson, columns)], formulasAsText);
    }
    count = page.rows.length;
    after = page.rows.at(-1)?.key;
    if (text !== "") yield encoder.encode(text);
    text = "";
  }
}

/** Whether the export may continue: a version rebuilt under another spec has the same columns. */
function isSameTable(now: ReadyProjection, first: ReadyProjection): boolean {
  return now.number === first.number &&
    JSON.stringify(now.columns) === JSON.stringify(first.columns);
}

/** The texts of a row's columns. What they hold is not parsed: its names may be slow to find. */
function textsOf(dataJson: string, columns: readonly string[]): string[] {
  if (dataJson === "null") return columns.map(() => dataJson);
  const texts = new Map(memberTexts(dataJson));
  return columns.map((column) => {
    const text = texts.get(column);
    assert(text !== undefined, "a row has all columns of its version");
    return text;
  });
}

const NEEDS_QUOTES = /[",\r\n]|^\s|\s$|^$/;

/** How spreadsheets recognize a formula, even after leading white space. */
const FORMULA = /^\s*[=+\-@]|^[\t\r]/;

/**
 * Encodes a row, given as the JSON texts of its values, as CSV according to RFC 4180.
 *
 * Lines end with CR LF. A field is quoted if it contains a comma, a quote or a line break, or
 * if it has white space at either end; quotes are doubled. Null is empty, an empty string is
 * `""`, and nested values are JSON. A text that spreadsheets would read as a formula (it begins
 * with `=`, for example) is left as it is. With `formulasAsText` it is prefixed with `'`, the
 * spreadsheet convention for text.
 */
export function csvLine(texts: readonly string[], formulasAsText = false): string {
  let line = "";
  for (let at = 0; at < texts.length; at++) {
    if (at > 0) line += ",";
    line += csvField(texts[at]!, formulasAsText);
  }
  return line + "\r\n";
}

function csvField(json: string, formulasAsText: boolean): string {
  if (json === "null") return "";
  const isText = json.startsWith('"');
  if (!isText && !json.startsWith("{") && !json.startsWith("[")) return json;
  const given = isText ? stringOf(json) : json;
  const text = formulasAsText && FORMULA.test(given) ? `'${given}` : given;
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function stringOf(json: string): string {
  // The runtime keeps short texts that it parses in a table.
  return json.includes("\\") ? parseJson<string>(json) : json.slice(1, -1);
}
