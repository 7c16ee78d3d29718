/**
 * The table of the bench: one row for each measure, with its target and its share of a no-op.
 *
 * It also shows the processor time of the server for one unit, which is the same on a busy
 * machine.
 */

import type { LoadResult } from "./load.ts";

/** The part of a load's result that the table shows beside its rate. */
export type Latency =
  & Pick<LoadResult, "p50" | "p95" | "p99" | "max">
  & Partial<Pick<LoadResult, "serverMicrosPerUnit">>;

export interface Row {
  readonly name: string;
  readonly value: number;
  /** Unit of `value`, e.g. `req/s`. */
  readonly unit: string;
  readonly target?: { readonly atLeast: number } | { readonly below: number };
  /** The no-op rate with which this rate is compared. */
  readonly noop?: number;
  readonly latency?: Latency;
  readonly p99BelowMs?: number;
  readonly note?: string;
}

/** Undefined if the row has no target. */
export function isMet(row: Row): boolean | undefined {
  if (row.target === undefined) return undefined;
  const met = "atLeast" in row.target
    ? row.value >= row.target.atLeast
    : row.value < row.target.below;
  return met && (row.p99BelowMs === undefined || (row.latency?.p99 ?? NaN) < row.p99BelowMs);
}

export function formatTable(rows: readonly Row[]): string {
  const head = [
    "measure",
    "figure",
    "target",
    "met",
    "of no-op",
    "us",
    "p50",
    "p95",
    "p99",
    "max ms",
    "",
  ];
  const cells = [head, ...rows.map(cellsOf)];
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
  return cells.map((row) =>
    row.map((cell, column) =>
      column === 0 || column === head.length - 1
        ? cell.padEnd(widths[column]!)
        : cell.padStart(widths[column]!)
    ).join("  ").trimEnd()
  ).join("\n");
}

function cellsOf(row: Row): string[] {
  const met = isMet(row);
  const { latency } = row;
  const percentile = (value: number | undefined) => value === undefined ? "" : value.toFixed(1);
  return [
    row.name,
    `${formatNumber(row.value)} ${row.unit}`,
    targetText(row),
    met === undefined ? "" : met ? "yes" : "NO",
    row.noop === undefined ? "" : (row.value / row.noop).toFixed(2),
    percentile(latency?.serverMicrosPerUnit),
    percentile(latency?.p50),
    percentile(latency?.p95),
    percentile(latency?.p99),
    percentile(latency?.max),
    row.note ?? "",
  ];
}

function targetText({ target, p99BelowMs }: Row): string {
  if (target === undefined) return "";
  const text = "atLeast" in target
    ? `>= ${formatNumber(target.atLeast)}`
    : `< ${formatNumber(target.below)}`;
  return p99BelowMs === undefined ? text : `${text}, p99 < ${p99BelowMs}`;
}

function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (Math.abs(value) < 100) return value.toFixed(2);
  return Math.round(value).toLocaleString("en-US");
}
