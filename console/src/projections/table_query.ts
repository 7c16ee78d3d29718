/** How a table is looked at: its order and its filters, as part of an address and as SQL. */

/** A value that a parameter of a statement may have. */
export type Scalar = string | number | boolean | null;

export interface Filter {
  readonly column: string;
  readonly test: TestName;
  /** As it was typed; what it means is said by {@link scalarOf}. */
  readonly value: string;
}

export interface TableView {
  readonly sort?: { readonly column: string; readonly isDescending: boolean };
  readonly filters: readonly Filter[];
}

export interface Statement {
  readonly sql: string;
  readonly params: readonly Scalar[];
}

/** More filters do not fit into an address that people share. */
export const FILTERS_MAX = 10;

interface Test {
  readonly title: string;
  readonly needsValue: boolean;
  /** The condition on a quoted column. */
  readonly sql: (column: string) => string;
}

function compared(title: string, operator: string): Test {
  return { title, needsValue: true, sql: (column) => `${column} ${operator} ?` };
}

export const TESTS = {
  is: compared("is", "="),
  not: compared("is not", "<>"),
  lt: compared("is less than", "<"),
  le: compared("is at most", "<="),
  gt: compared("is more than", ">"),
  ge: compared("is at least", ">="),
  has: { title: "contains", needsValue: true, sql: (column) => `instr(${column}, ?) > 0` },
  null: { title: "is null", needsValue: false, sql: (column) => `${column} IS NULL` },
  some: { title: "is not null", needsValue: false, sql: (column) => `${column} IS NOT NULL` },
} as const satisfies Record<string, Test>;

export type TestName = keyof typeof TESTS;

/** Rows of equal value come in the order of their keys. */
export function statementOf(table: string, { sort, filters }: TableView): Statement {
  const conditions = filters.map(({ column, test }) => TESTS[test].sql(quoted(column)));
  const order = sort === undefined || sort.column === "key"
    ? `"key"${sort?.isDescending ? " DESC" : ""}`
    : `${quoted(sort.column)}${sort.isDescending ? " DESC" : ""}, "key"`;
  return {
    sql: [
      `SELECT * FROM ${quoted(table)}`,
      ...(conditions.length === 0 ? [] : [`WHERE ${conditions.join(" AND ")}`]),
      `ORDER BY ${order}`,
    ].join(" "),
    params: filters
      .filter(({ test }) => TESTS[test].needsValue)
      .map(({ value, test }) => test === "has" ? value : scalarOf(value)),
  };
}

/** A name as SQL takes it, whatever it contains. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A number, true, false, null or "a quoted text" as JSON has them; all else is the text itself. */
export function scalarOf(text: string): Scalar {
  try {
    const value: unknown = JSON.parse(text);
    if (value === null || typeof value !== "object") return value as Scalar;
  } catch {
    // Not JSON: a plain text.
  }
  return text;
}

/** The filters of an address; those that are none are left out. */
export function parseFilters(text: string | undefined): Filter[] {
  let rows: unknown;
  try {
    rows = JSON.parse(text ?? "[]");
  } catch {
    return [];
  }
  if (!Array.isArray(rows)) return [];
  return rows.slice(0, FILTERS_MAX).flatMap((row) => {
    const [column, test, value = ""] = Array.isArray(row) ? row : [];
    const isFilter = typeof column === "string" && typeof test === "string" &&
      Object.hasOwn(TESTS, test) && typeof value === "string";
    return isFilter ? [{ column, test: test as TestName, value }] : [];
  });
}

export function formatFilters(filters: readonly Filter[]): string | undefined {
  if (filters.length === 0) return undefined;
  return JSON.stringify(filters.map(({ column, test, value }) => [column, test, value]));
}
