/**
 * Formats the raw figures as Markdown: the goals, then a line for each work.
 *
 * The table of works has a column for each peer. Below it stands what was left out, and why.
 */

import { type Peer, PEERS } from "./catalog.ts";
import type { Figures } from "./figures.ts";
import { type Find, type Goal, GOALS, judge } from "./goals.ts";
import type { Measured, Skipped } from "./work.ts";
import { WORKS } from "./works.ts";

type Who = Pick<Peer, "name" | "version" | "remark" | "kind">;

export interface PeerResult extends Who {
  readonly measured: readonly Measured[];
  readonly skipped: readonly Skipped[];
}

/** In the order of the peers and of the works, whichever was measured first. */
export function resultsOf({ entries }: Figures, peers: readonly Who[] = PEERS): PeerResult[] {
  return peers.map(({ name, version, remark, kind }) => {
    const own = WORKS.flatMap(({ name: work }) =>
      entries.filter((entry) => entry.peer === name && entry.work === work)
    );
    const measured: Measured[] = [];
    const skipped: Skipped[] = [];
    for (const { outcomes, failure, work } of own) {
      for (const outcome of outcomes) {
        if ("reason" in outcome) skipped.push(outcome);
        else measured.push(outcome);
      }
      if (failure !== undefined) skipped.push({ work, reason: `FAILED: ${failure}` });
    }
    return { name, version, remark, kind, measured, skipped };
  }).filter(({ measured, skipped }) => measured.length + skipped.length > 0);
}

/** The whole report. */
export function formatFigures(figures: Figures): string {
  const results = resultsOf(figures);
  return [
    headOf(figures),
    formatGoals(GOALS, findIn(results)),
    formatPeers(results),
    notesOf(results),
  ].join("\n\n");
}

/** What was measured, where and when. */
function headOf({ machine, versions, sync, entries }: Figures): string {
  const times = entries.map(({ startedAt }) => startedAt).sort();
  const dates = [...new Set([times.at(0), times.at(-1)])].map((each) => each?.slice(0, 16));
  const loads = entries.map(({ load }) => load).sort((a, b) => a - b);
  const sizes = [...new Set(entries.map((entry) => entry.sizes))].join(" and ");
  const commits = [...new Set(entries.map(({ commit }) => commit))].join(", ");
  return [
    `Measured ${dates.join(" to ")} UTC, ${sizes} sizes, of ${commits}.`,
    ...machine,
    `fdatasync of 4 KiB: p50 ${sync.p50.toFixed(3)} ms, p99 ${sync.p99.toFixed(3)} ms; ` +
    `load of the machine before the works: middle ${formatNumber(loads[loads.length >> 1] ?? NaN)}`,
    Object.values(versions).join("; "),
  ].map((line) => `- ${line}`).join("\n");
}

export function findIn(results: readonly PeerResult[]): Find {
  return (peer, work) =>
    results.find(({ name }) => name === peer)?.measured.find((each) => each.work === work)?.value;
}

export function formatGoals(goals: readonly Goal[], find: Find): string {
  const rows = goals.map((each) => {
    const { measure, goal, floor, unit, isAtMost } = each;
    const reached = each.reached(find);
    const sign = isAtMost ? "at most " : "";
    const told = (figure: number) =>
      `${unit === "events/s" ? figure.toLocaleString("en-US") : figure}${unitText(unit)}`;
    const shown = reached === undefined
      ? ["not measured", "", ""]
      : [`${formatNumber(reached)}${unitText(unit)}`, "", judge(each, reached)];
    return [measure, shown[0]!, sign + told(goal), sign + told(floor), shown[2]!];
  });
  return formatRows(["measure", "reached", "goal", "floor", "met"], rows);
}

function unitText(unit: Goal["unit"]): string {
  return unit === "x" || unit === "%" ? unit : ` ${unit}`;
}

/** Rates with p50 / p99 after them; rates kept to a schedule with p50 / p95 / p99 / p99.9. */
export function formatPeers(results: readonly PeerResult[]): string {
  const works = worksOf(results);
  const head = ["work", "unit", ...results.map(({ name }) => name), "ours to their best"];
  const rows = works.map((work) => {
    const found = results.map(({ measured }) => measured.find((each) => each.work === work));
    const unit = found.find((each) => each !== undefined)!.unit;
    return [work, unit, ...found.map(cellOf), ratioOf(results, found)];
  });
  return formatRows(head, rows);
}

/** In the order of the peer that has most works, because a peer may leave some out. */
function worksOf(results: readonly PeerResult[]): string[] {
  const lists = results.map(({ measured }) => measured.map(({ work }) => work));
  const longest = lists.toSorted((a, b) => b.length - a.length);
  return [...new Set(longest.flat())];
}

function formatRows(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
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

/** Above 1, Daybook is better; only durable stores are compared. */
function ratioOf(
  results: readonly PeerResult[],
  found: readonly (Measured | undefined)[],
): string {
  const ofKind = (kind: Peer["kind"]) =>
    found.filter((each, index) => each !== undefined && results[index]!.kind === kind)
      .map((each) => each!);
  const [ours] = ofKind("ours");
  const values = ofKind("durable").map(({ value }) => value);
  if (ours === undefined || values.length === 0 || ours.latency?.p999 !== undefined) return "";
  const isLessBetter = !ours.unit.endsWith("/s");
  const ratio = isLessBetter ? Math.min(...values) / ours.value : ours.value / Math.max(...values);
  return ratio < 1 ? `**${ratio.toFixed(2)}x**` : `${ratio.toFixed(2)}x`;
}

export function notesOf(results: readonly PeerResult[]): string {
  return results.flatMap(({ name, version, remark, skipped }) => [
    `- **${name}** (${version}): ${remark}`,
    ...skipped.map(({ work, reason }) => `  - ${work}: ${reason}`),
  ]).join("\n");
}

function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return "-";
  if (value < 10) return value.toFixed(2);
  return value < 1000 ? value.toFixed(1) : Math.round(value).toLocaleString("en-US");
}
