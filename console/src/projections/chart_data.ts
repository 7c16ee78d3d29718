/** The points of a chart, from the rows of an answer. */

/** How the values along the chart are to be read. */
export type Axis = "number" | "time" | "names";

export interface ChartData {
  readonly axis: Axis;
  /** Rising: numbers, Unix seconds, or the places of the names. */
  readonly xs: readonly number[];
  readonly ys: readonly (number | null)[];
  /** With `names`, what stands at each place. */
  readonly names: readonly string[];
}

export type Row = Readonly<Record<string, unknown>>;

/** Times as the service writes them: a date, or a moment with a zone. */
const TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d.*(?:Z|[+-]\d\d:\d\d))?$/;
const NAME_CHARACTERS_MAX = 24;

/** Rows without a value along the chart are left out. */
export function chartDataOf(rows: readonly Row[], x: string, y: string): ChartData {
  const given = rows.filter((row) => row[x] !== null && row[x] !== undefined);
  const axis = axisOf(given.map((row) => row[x]));
  const points = given.map((row, place) => ({
    at: axis === "number"
      ? row[x] as number
      : axis === "time"
      ? Date.parse(row[x] as string) / 1000
      : place,
    value: typeof row[y] === "number" ? row[y] : null,
  }));
  if (axis !== "names") points.sort((a, b) => a.at - b.at);
  return {
    axis,
    xs: points.map(({ at }) => at),
    ys: points.map(({ value }) => value),
    names: axis === "names" ? given.map((row) => String(row[x]).slice(0, NAME_CHARACTERS_MAX)) : [],
  };
}

function axisOf(values: readonly unknown[]): Axis {
  if (values.length > 0 && values.every((value) => typeof value === "number")) return "number";
  const isTime = (value: unknown) =>
    typeof value === "string" && TIME.test(value) && !Number.isNaN(Date.parse(value));
  return values.length > 0 && values.every(isTime) ? "time" : "names";
}

/** The columns whose values can be drawn: those with a number in one of the rows. */
export function numericColumns(columns: readonly string[], rows: readonly Row[]): string[] {
  return columns.filter((name) => rows.some((row) => typeof row[name] === "number"));
}
