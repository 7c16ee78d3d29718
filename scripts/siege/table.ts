/** Formats outcomes as one table: as lines for a terminal, or as Markdown. */

import { type Observation, ORDINARY_PROBES } from "./probes.ts";
import type { Outcome } from "./outcome.ts";
import type { Answers } from "./send.ts";

const COLUMNS = [
  "attack",
  "engine",
  "answers",
  "quiet p99 / worst",
  "p99 / worst",
  "after restart",
  "noise",
  "loop",
  "memory",
  "runner",
  "ready",
  "stop",
  "verdict",
] as const;

export function markdownTable(outcomes: readonly Outcome[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rows = outcomes.map((outcome) => line(cellsOf(outcome).map(escape)));
  return [line(COLUMNS), line(COLUMNS.map(() => "---")), ...rows].join("\n");
}

/** One row, as it is printed when its attack is over. */
export function describeOutcome(outcome: Outcome): string {
  const cells = cellsOf(outcome);
  const told = COLUMNS.map((column, at) => [column, cells[at]!] as const)
    .filter(([column, cell]) => cell !== "" && column !== "attack" && column !== "engine");
  const verdict = outcome.faults.length === 0 ? "held" : "FAILED";
  const head = `${verdict}  ${outcome.attack.name} (${outcome.engine})`;
  return `${head}\n${told.map(([column, cell]) => `    ${column}: ${cell}`).join("\n")}`;
}

export function describeAnswers(answers: Answers): string {
  const sorted = [...answers].sort(([, a], [, b]) => b - a);
  return sorted.map(([answer, times]) => `${answer} x${times}`).join(", ");
}

function cellsOf(outcome: Outcome): string[] {
  const { attack, engine, answers, quiet, beside, afterRestart } = outcome;
  return [
    attack.name,
    engine,
    describeAnswers(answers),
    times(quiet),
    times(beside),
    times(afterRestart),
    beside === undefined ? "" : milliseconds(beside.ownDelayMs),
    outcome.loopDelayMs === undefined ? "" : `<= ${milliseconds(outcome.loopDelayMs)}`,
    [mebibytes(outcome.serverMiB), mebibytes(outcome.serverAgainMiB)].filter(Boolean).join(", "),
    mebibytes(outcome.childMiB, ""),
    outcome.readyMs === undefined ? "" : milliseconds(outcome.readyMs),
    outcome.stopMs === undefined ? "" : `${milliseconds(outcome.stopMs)}, code ${outcome.stopCode}`,
    outcome.faults.length === 0 ? "held" : outcome.faults.join("; "),
  ];
}

/** The worst values of the ordinary probes. */
function times(seen: Observation | undefined): string {
  if (seen === undefined) return "";
  const ordinary = ORDINARY_PROBES.map((name) => seen.probes[name]!);
  const p99 = Math.max(...ordinary.map((probe) => probe.p99));
  const worst = Math.max(...ordinary.map((probe) => probe.worst));
  return `${Math.round(p99)} / ${milliseconds(worst)}`;
}

function milliseconds(value: number): string {
  return value >= 10_000 ? `${(value / 1000).toFixed(1)} s` : `${Math.round(value)} ms`;
}

function mebibytes(value: number | undefined, sign = "+"): string {
  return value === undefined ? "" : `${value < 0 ? "" : sign}${Math.round(value)} MiB`;
}

function escape(cell: string): string {
  return cell.replaceAll("|", "\\|").replaceAll("\n", " ");
}
