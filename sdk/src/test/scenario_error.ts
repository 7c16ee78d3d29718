/** The failure of a scenario, as test runners show it: both values, and their differing lines. */

const CONTEXT_LINES = 3;
/** Longer texts are shown whole: the comparison takes the product of their lines. */
const COMPARED_LINES_MAX = 1_000;

/**
 * Thrown when a scenario does not hold. Its message shows how the two values differ; `expected` and
 * `actual` are there for the test runner.
 *
 * @example
 * ```ts
 * import { ScenarioError, testSpec } from "@daybook/client/test";
 *
 * const spec = {
 *   agent_types: ["user"],
 *   aggregate_types: { order: { events: { was_placed: { schema: true, handler: [] } } } },
 * };
 * try {
 *   testSpec(spec).order.given([]).thenState({ status: "placed" });
 * } catch (error) {
 *   console.log(error instanceof ScenarioError && error.actual); // {}
 * }
 * ```
 */
export class ScenarioError extends Error {
  override readonly name = "AssertionError";
  readonly expected: unknown;
  readonly actual: unknown;

  constructor(
    message: string,
    { expected, actual, cause }: {
      readonly expected?: unknown;
      readonly actual?: unknown;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause });
    this.expected = expected;
    this.actual = actual;
  }
}

/** Fails if the two are not equal as JSON, whatever the order of their keys. */
export function needEqual(actual: unknown, expected: unknown, what: string): void {
  const [left, right] = [textOf(expected), textOf(actual)];
  if (left === right) return;
  const message = `${what} (- expected, + actual)\n\n${difference(left, right)}`;
  throw new ScenarioError(message, { expected, actual });
}

/** The value as indented JSON with sorted keys. */
export function textOf(value: unknown): string {
  return JSON.stringify(value, (_key, part) => sorted(part), 2) ?? "undefined";
}

function sorted(part: unknown): unknown {
  if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
  return Object.fromEntries(Object.entries(part).sort(([a], [b]) => a < b ? -1 : 1));
}

/** The lines of both: those of one side marked, those of both sides only near them. */
function difference(expected: string, actual: string): string {
  const [left, right] = [expected.split("\n"), actual.split("\n")];
  if (left.length > COMPARED_LINES_MAX || right.length > COMPARED_LINES_MAX) {
    return [...left.map((line) => `- ${line}`), ...right.map((line) => `+ ${line}`)].join("\n");
  }
  const lines = marked(left, right);
  const isNear = lines.map((_, at) =>
    lines.slice(Math.max(0, at - CONTEXT_LINES), at + CONTEXT_LINES + 1)
      .some((line) => !line.startsWith(" "))
  );
  const shown = lines.filter((_, at) => isNear[at] || isNear[at - 1]);
  return shown.map((line) => isNear[lines.indexOf(line)] ? line : "  ...").join("\n");
}

/** The longest common lines stay; what stands between them is removed or added. */
function marked(left: readonly string[], right: readonly string[]): string[] {
  // `common[a][b]`: how many lines the rests from a and b have in common.
  const common = Array.from({ length: left.length + 1 }, () => new Uint16Array(right.length + 1));
  for (let a = left.length - 1; a >= 0; a--) {
    for (let b = right.length - 1; b >= 0; b--) {
      common[a]![b] = left[a] === right[b]
        ? common[a + 1]![b + 1]! + 1
        : Math.max(common[a + 1]![b]!, common[a]![b + 1]!);
    }
  }
  const lines: string[] = [];
  let [a, b] = [0, 0];
  while (a < left.length || b < right.length) {
    if (a < left.length && left[a] === right[b]) {
      lines.push(`  ${left[a++]}`);
      b++;
    } else if (
      b === right.length || (a < left.length && common[a + 1]![b]! >= common[a]![b + 1]!)
    ) {
      lines.push(`- ${left[a++]}`);
    } else {
      lines.push(`+ ${right[b++]}`);
    }
  }
  return lines;
}
