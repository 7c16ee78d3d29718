/** Reads and writes the last line of a run of `deno test`, so that several runs end as one. */

export interface Summary {
  readonly passed: number;
  readonly failed: number;
  readonly ignored: number;
  /** Names and places of the tests that failed, with the first lines of why. */
  readonly failures: readonly string[];
}

const SUMMARY = /^(?:ok|FAILED) \| (\d+) passed\b/;
/** The form in which the list at the end of a run names a failed test. */
const FAILURE = /^\S.* => \.\/tests\/\S+:\d+:\d+$/;
/** The line above the tests of a file. */
const FILE = /^running \d+ tests? from (\S+)$/;
/** A line of a stack, and what `deno test` adds under it. */
const FRAME = /^\s+at \S/;
const REASON_LINES_MAX = 4;
// deno-lint-ignore no-control-regex -- colours
const COLOURS = /\x1b\[[0-9;]*m/g;

/**
 * Reads the summary from the output of a run, which ended with `isSuccess`. A run that failed
 * without a failed test, or that ended without a summary, has one failure.
 */
export function readSummary(output: string, isSuccess: boolean): Summary {
  const lines = output.replaceAll(COLOURS, "").split("\n");
  const line = lines.findLast((each) => SUMMARY.test(each)) ?? "";
  const countOf = (word: string) =>
    Number(new RegExp(`\\| (\\d+) ${word}\\b`).exec(line)?.[1] ?? 0);
  const failed = countOf("failed");
  const isBroken = failed === 0 && (line === "" || !isSuccess);
  const broken = line === "" ? [describeBroken(lines)] : [];
  return {
    passed: countOf("passed"),
    failed: isBroken ? 1 : failed,
    ignored: countOf("ignored"),
    failures: [...isSuccess ? [] : failuresOf(lines), ...broken],
  };
}

/** A test is named when it begins, on the line that its end completes. */
function describeBroken(lines: readonly string[]): string {
  const file = lines.findLast((each) => FILE.test(each));
  const last = lines.findLast((each) => each.trim() !== "")?.trim() ?? "before its first test";
  const place = file === undefined ? "" : ` of ${FILE.exec(file)![1]}`;
  return `a run ended without its summary, at: ${last}${place}`;
}

/** The run names a failed test twice: with the reason, and again in the list at the end. */
function failuresOf(lines: readonly string[]): string[] {
  const reasons = new Map<string, string>();
  for (const [at, line] of lines.entries()) {
    if (!FAILURE.test(line) || reasons.has(line)) continue;
    const after = lines.slice(at + 1);
    const end = after.findIndex((each) => each === "" || FRAME.test(each));
    const reason = after.slice(0, Math.min(end === -1 ? Infinity : end, REASON_LINES_MAX));
    reasons.set(line, reason.map((each) => `\n    ${each}`).join(""));
  }
  return [...reasons].map(([line, reason]) => line + reason);
}

export function addSummaries(summaries: readonly Summary[]): Summary {
  const sum = (count: (summary: Summary) => number) =>
    summaries.reduce((total, summary) => total + count(summary), 0);
  return {
    passed: sum(({ passed }) => passed),
    failed: sum(({ failed }) => failed),
    ignored: sum(({ ignored }) => ignored),
    failures: summaries.flatMap(({ failures }) => failures),
  };
}

/** Formats the summary as `deno test` does, for programs that read only the last line. */
export function formatSummary({ passed, failed, ignored }: Summary, seconds: number): string {
  const time = `${Math.floor(seconds / 60)}m${Math.round(seconds % 60)}s`;
  const left = ignored === 0 ? "" : ` | ${ignored} ignored`;
  return `${failed === 0 ? "ok" : "FAILED"} | ${passed} passed | ${failed} failed${left} (${time})`;
}
