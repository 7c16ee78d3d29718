/** Formats the results of a torture run as a table for people. */

import type { Way } from "./ways.ts";

export interface Run {
  readonly way: Way;
  readonly seed: number;
  readonly seconds: number;
  readonly isGood: boolean;
}

/** One line for each way that was run, and one for all of them. */
export function describeRuns(runs: readonly Run[]): string {
  const ways = [...new Set(runs.map(({ way }) => way))];
  const rows = ways.map((way) => {
    const own = runs.filter((run) => run.way === way);
    return row(
      { name: way.name, unit: way.unit, count: own.length, cases: own.length * way.cases },
      own,
    );
  });
  const head = ["way", "runs", "cases", "", "seconds", "failed"];
  const all = row({ name: "all", unit: "", count: runs.length, cases: undefined }, runs);
  return alignColumns([head, ...rows, all]);
}

interface SummaryRow {
  readonly name: string;
  readonly unit: string;
  readonly count: number;
  readonly cases: number | undefined;
}

function row(
  { name, unit, count, cases }: SummaryRow,
  runs: readonly Run[],
): string[] {
  const seconds = runs.reduce((sum, run) => sum + run.seconds, 0);
  const failed = runs.filter(({ isGood }) => !isGood).length;
  const shown = cases?.toLocaleString("en-US") ?? "";
  return [name, `${count}`, shown, unit, seconds.toFixed(0), `${failed}`];
}

const LEFT = new Set([0, 3]);

function alignColumns(rows: readonly string[][]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    row.map((cell, column) =>
      LEFT.has(column) ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)
    ).join("  ").trimEnd()
  ).join("\n");
}

/** The shell command that repeats a run. */
export function commandFor({ way, seed }: Pick<Run, "way" | "seed">): string {
  const settings = Object.entries(way.env(seed, way.cases)).map(([name, value]) =>
    `${name}=${value}`
  );
  return `${settings.join(" ")} deno test -A ${way.path}`;
}
