/** Formats figures of `deno task bench --json` as Markdown, and replaces sections of a document. */

import { isMet, type Row } from "./table.ts";

export interface BenchFigures {
  readonly machine: readonly string[];
  readonly rows: readonly Row[];
}

export function formatBench({ machine, rows }: BenchFigures): string {
  const head = ["measure", "figure", "asked for", "met", "of no-op", "p50 / p99 ms", ""];
  const lines = [head, head.map(() => "---"), ...rows.map(cellsOf)]
    .map((cells) => `| ${cells.join(" | ")} |`);
  return [...machine.map((line) => `- ${line}`), "", ...lines].join("\n");
}

function cellsOf(row: Row): string[] {
  const { name, value, unit, target, noop, latency, note } = row;
  // JSON has no NaN, so what was not measured is null.
  const tail = latency === undefined ? [] : [latency.p50, latency.p99].filter(Number.isFinite);
  const met = isMet(row);
  return [
    name,
    `${formatNumber(value)} ${unit}`,
    target === undefined
      ? ""
      : "atLeast" in target
      ? `at least ${formatNumber(target.atLeast)}`
      : `below ${formatNumber(target.below)}`,
    met === undefined ? "" : met ? "yes" : "NO",
    Number.isFinite(noop) ? `${Math.round(value / noop! * 100)}%` : "",
    tail.map((each) => each.toFixed(2)).join(" / "),
    (note ?? "").replaceAll("|", "\\|"),
  ];
}

function formatNumber(value: number | null): string {
  if (value === null || !Number.isFinite(value)) return "-";
  if (Math.abs(value) < 100) return value.toFixed(2);
  return Math.round(value).toLocaleString("en-US");
}

function marksOf(name: string): readonly [begin: string, end: string] {
  return [`<!-- figures of ${name} -->`, `<!-- end of the figures of ${name} -->`];
}

/** Returns the document with `text` between the marks of that name, which must be there. */
export function putSection(document: string, name: string, text: string): string {
  const [begin, end] = marksOf(name);
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the document has no ${begin} ... ${end}`);
  return `${document.slice(0, from + begin.length)}\n${text}\n${document.slice(to)}`;
}
