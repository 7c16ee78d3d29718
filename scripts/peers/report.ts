/** One table: a line for each work, a column for each peer; below it, what is left out and why. */

import type { Measured, Skipped } from "./works.ts";

export interface PeerResult {
  readonly name: string;
  readonly version: string;
  readonly remark: string;
  readonly measured: readonly Measured[];
  readonly skipped: readonly Skipped[];
}

const OURS = "daybook";

/** As Markdown, so that it can stand in a README as it is. */
export function formatPeers(results: readonly PeerResult[]): string {
  const works = [...new Set(results.flatMap(({ measured }) => measured.map(({ work }) => work)))];
  const head = ["work", "unit", ...results.map(({ name }) => name), "ours to their best"];
  const rows = works.map((work) => {
    const found = results.map(({ measured }) => measured.find((each) => each.work === work));
    const unit = found.find((each) => each !== undefined)!.unit;
    const ours = found[results.findIndex(({ name }) => name === OURS)];
    return [work, unit, ...found.map(cellOf), ratioOf(ours, found)];
  });
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  return [...lines, "", ...results.flatMap(notesOf)].join("\n");
}

function cellOf(measured: Measured | undefined): string {
  if (measured === undefined) return "";
  const { value, latency } = measured;
  const figure = formatNumber(value);
  if (latency === undefined || measured.unit === "ms") return figure;
  const { p50, p95, p99, p999 } = latency;
  const tail = p999 === undefined ? [p50, p99] : [p50, p95, p99, p999];
  return `${figure} (${tail.map(formatNumber).join(" / ")} ms)`;
}

/** Above 1 ours is better. */
function ratioOf(ours: Measured | undefined, all: readonly (Measured | undefined)[]): string {
  const values = all.filter((each) => each !== undefined && each !== ours)
    .map((each) => each!.value);
  if (ours === undefined || values.length === 0) return "";
  const isLessBetter = !ours.unit.endsWith("/s");
  const ratio = isLessBetter ? Math.min(...values) / ours.value : ours.value / Math.max(...values);
  return `${ratio.toFixed(2)}x`;
}

function notesOf({ name, version, remark, skipped }: PeerResult): string[] {
  const lines = [`- **${name}** (${version}): ${remark}`];
  for (const { work, reason } of skipped) lines.push(`  - ${work}: ${reason}`);
  return lines;
}

function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return "-";
  if (value < 10) return value.toFixed(2);
  return value < 1000 ? value.toFixed(1) : Math.round(value).toLocaleString("en-US");
}
