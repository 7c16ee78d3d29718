/** A notebook as text: what the browser keeps, and what is exported and imported. */

/** What a cell shows as a chart: one column along the other. */
export interface ChartColumns {
  readonly x: string;
  readonly y: string;
}

export interface Cell {
  /** Tells cells of one notebook apart; it is not exported. */
  readonly id: string;
  readonly sql: string;
  /** As typed, by the name or the number of the parameter. */
  readonly params: Readonly<Record<string, string>>;
  readonly chart?: ChartColumns;
}

/** The limits of one notebook. Browsers keep some 5 MB for all of an origin. */
export const NOTEBOOK_LIMITS = {
  cellsMax: 100,
  bytesMax: 1_000_000,
} as const;

const FORMAT = "daybook-notebook";
const VERSION = 1;

export type Parsed =
  | { readonly ok: true; readonly cells: readonly Omit<Cell, "id">[] }
  | { readonly ok: false; readonly error: string };

export function formatNotebook(cells: readonly Cell[]): string {
  const kept = cells.map(({ sql, params, chart }) => ({ sql, params, chart }));
  return JSON.stringify({ format: FORMAT, version: VERSION, cells: kept }, null, 2);
}

/** Why a notebook cannot be kept or taken in; undefined if it can. */
export function faultOfSize(text: string, cells: number): string | undefined {
  const { cellsMax, bytesMax } = NOTEBOOK_LIMITS;
  if (cells > cellsMax) return `A notebook has at most ${cellsMax} cells, and this has ${cells}`;
  const bytes = new TextEncoder().encode(text).length;
  if (bytes <= bytesMax) return undefined;
  return `A notebook has at most ${bytesMax.toLocaleString("en")} bytes, and this has ` +
    bytes.toLocaleString("en");
}

/** Reads a file that anybody may have written. What is not known in it is left out. */
export function parseNotebook(text: string): Parsed {
  if (text.length > NOTEBOOK_LIMITS.bytesMax) return refuse(faultOfSize(text, 0)!);
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch {
    return refuse("The file is not JSON");
  }
  if (!isObject(file) || file.format !== FORMAT || !Array.isArray(file.cells)) {
    return refuse(`The file is not a notebook: it has no "format": "${FORMAT}" with "cells"`);
  }
  if (file.version !== VERSION) {
    return refuse(
      `The notebook has version ${String(file.version)}; this console knows ${VERSION}`,
    );
  }
  const fault = faultOfSize(text, file.cells.length);
  if (fault !== undefined) return refuse(fault);
  const cells: Omit<Cell, "id">[] = [];
  for (const [index, cell] of file.cells.entries()) {
    if (!isObject(cell) || typeof cell.sql !== "string") {
      return refuse(`cells[${index}] has no text "sql"`);
    }
    cells.push({ sql: cell.sql, params: textsOf(cell.params), chart: chartOf(cell.chart) });
  }
  return { ok: true, cells };
}

function refuse(error: string): Parsed {
  return { ok: false, error };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textsOf(value: unknown): Record<string, string> {
  if (!isObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] =>
      typeof entry[1] === "string"
    ),
  );
}

function chartOf(value: unknown): ChartColumns | undefined {
  if (!isObject(value)) return undefined;
  const { x, y } = value;
  return typeof x === "string" && typeof y === "string" ? { x, y } : undefined;
}
