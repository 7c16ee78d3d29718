/** Random SQL statements for tests: from a grammar, and as a soup of the words of SQL. */

import fc from "fast-check";

const COLUMNS = ["key", "status", "total", "lines", "paid", "placed_at", "tags", "note"];
const LITERALS = ["0", "1", "-7", "2.5", "1e3", "'open'", "'a''b'", "''", "NULL", "'12'", "'é'"];
const BINARY = [
  ...["+", "-", "*", "%", "||", "=", "<>", "<", ">=", "AND", "OR", "IS", "IS NOT", "LIKE"],
  ...["&", "|", "<<", "GLOB"],
];
const FUNCTIONS_OF_ONE = [
  ...["abs", "length", "upper", "lower", "trim", "typeof", "hex", "quote", "sign", "unicode"],
  "likely",
];
const FUNCTIONS_OF_TWO = ["coalesce", "ifnull", "nullif", "min", "max", "instr", "round"];
/**
 * Aggregates that are exact when the sums are: some SQLite versions print others with more
 * digits.
 */
const EXACT_AGGREGATES = ["count", "sum", "min", "max", "total"];
const AGGREGATES = [...EXACT_AGGREGATES, "avg", "0.3 * sum", "1.0 / count"];
const TYPES = ["INTEGER", "REAL", "TEXT", "NUMERIC"];

const column = fc.constantFrom(...COLUMNS);
const literal = fc.constantFrom(...LITERALS);

/** An expression over one row; `of` is a table prefix for columns. */
export function expression(of = "", parameters = true): fc.Arbitrary<string> {
  const leaf = fc.oneof(
    column.map((name) => of + name),
    literal,
    ...(parameters ? [fc.constant("?")] : []),
  );
  return fc.letrec<{ any: string }>((tie) => ({
    any: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      leaf,
      fc.tuple(tie("any"), fc.constantFrom(...BINARY), tie("any")).map((parts) =>
        `(${parts.join(" ")})`
      ),
      fc.tuple(fc.constantFrom("-", "NOT ", "+"), tie("any")).map(([sign, one]) =>
        `(${sign}(${one}))`
      ),
      fc.tuple(fc.constantFrom(...FUNCTIONS_OF_ONE), tie("any")).map(([name, one]) =>
        `${name}(${one})`
      ),
      fc.tuple(fc.constantFrom(...FUNCTIONS_OF_TWO), tie("any"), tie("any")).map(
        ([name, one, two]) => `${name}(${one}, ${two})`,
      ),
      fc.tuple(tie("any"), tie("any"), tie("any")).map(([when, then, otherwise]) =>
        `CASE WHEN ${when} THEN ${then} ELSE ${otherwise} END`
      ),
      fc.tuple(tie("any"), fc.constantFrom(...TYPES)).map(([one, type]) =>
        `CAST(${one} AS ${type})`
      ),
      fc.tuple(tie("any"), tie("any"), tie("any")).map(([one, low, high]) =>
        `(${one} BETWEEN ${low} AND ${high})`
      ),
      fc.tuple(tie("any"), fc.array(literal, { minLength: 1, maxLength: 3 })).map(([one, list]) =>
        `(${one} IN (${list.join(", ")}))`
      ),
      fc.tuple(tie("any"), column).map(([one, name]) => `(${one} IN (SELECT ${name} FROM orders))`),
      fc.tuple(fc.constantFrom(...EXACT_AGGREGATES), column).map(([name, each]) =>
        `(SELECT ${name}(${each}) FROM orders)`
      ),
    ),
  })).any;
}

function listOf<T>(text: fc.Arbitrary<T>): fc.Arbitrary<T[]> {
  return fc.array(text, { minLength: 1, maxLength: 3 });
}

function named(texts: readonly string[]): string {
  return texts.map((text, index) => `${text} AS c${index}`).join(", ");
}

/** Orders by every column, so that only one order is right. */
function ordered(count: number, descending: boolean): string {
  const names = Array.from({ length: count }, (_, index) => `c${index}`);
  return ` ORDER BY ${names.join(descending ? " DESC, " : ", ")}`;
}

const limit = fc.constantFrom(
  ...["", "", "", " LIMIT 3", " LIMIT 2 OFFSET 1", " LIMIT 1, 2", " LIMIT -1", " LIMIT (1 + 1)"],
  ...[" LIMIT 0", " LIMIT -1 OFFSET 2", " /* LIMIT 1 */", " LIMIT 4 -- rows"],
);

const plain = fc.tuple(listOf(expression()), expression(), fc.boolean(), fc.boolean(), limit).map(
  ([list, where, distinct, descending, end]) =>
    `SELECT ${distinct ? "DISTINCT " : ""}${named(list)} FROM orders WHERE ${where}` +
    ordered(list.length, descending) + end,
);

const grouped = fc.tuple(
  expression("", false),
  listOf(fc.tuple(fc.constantFrom(...AGGREGATES), expression())),
  fc.integer({ min: 0, max: 3 }),
  limit,
).map(([group, aggregates, least, end]) => {
  const list = [group, ...aggregates.map(([name, one]) => `${name}(${one})`)];
  return `SELECT ${named(list)} FROM orders GROUP BY ${group} HAVING count(*) > ${least}` +
    ordered(list.length, false) + end;
});

const joined = fc.tuple(listOf(expression("a.")), expression("b."), limit).map(
  ([list, on, end]) =>
    `SELECT ${named(list)} FROM orders a LEFT JOIN orders AS b ON a.lines = b.lines AND ${on}` +
    ordered(list.length, false) + end,
);

const compound = fc.tuple(
  expression(),
  expression(),
  fc.constantFrom("UNION", "UNION ALL", "EXCEPT", "INTERSECT"),
  limit,
).map(([one, two, how, end]) =>
  `SELECT ${one} AS c0 FROM orders ${how} SELECT ${two} FROM orders ORDER BY 1${end}`
);

const windowed = fc.tuple(expression(), fc.constantFrom("sum", "count", "max"), limit).map(
  ([one, name, end]) =>
    `SELECT key AS c0, ${name}(lines) OVER (PARTITION BY status ORDER BY key) AS c1, ` +
    `row_number() OVER (ORDER BY key) AS c2, ${one} AS c3 FROM orders ORDER BY key${end}`,
);

const recursive = fc.tuple(fc.integer({ min: 1, max: 20 }), expression(), limit).map(
  ([most, one, end]) =>
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${most}), ` +
    `o AS (SELECT *, ${one} AS x FROM orders) ` +
    `SELECT i AS c0, max(x) AS c1 FROM n LEFT JOIN o ON o.lines = n.i GROUP BY i ORDER BY 1${end}`,
);

/** `params` has one value for each `?`. */
export interface Statement {
  readonly sql: string;
  readonly params: readonly (string | number | null)[];
}

/** Statements that SQLite nearly always accepts. */
export const statement: fc.Arbitrary<Statement> = fc.oneof(
  plain,
  grouped,
  joined,
  compound,
  windowed,
  recursive,
).chain((sql) => {
  const count = sql.split("?").length - 1;
  const value = fc.constantFrom(0, 2, 2.5, "open", "x", null, -3);
  return fc.array(value, { minLength: count, maxLength: count }).map((params) => ({ sql, params }));
});

const WORDS = [
  ..."SELECT select WITH FROM orders secrets WHERE AND OR NOT GROUP BY ORDER LIMIT OFFSET UNION ALL"
    .split(" "),
  ..."EXCEPT VALUES INSERT INTO DELETE UPDATE SET DROP TABLE CREATE ATTACH PRAGMA BEGIN COMMIT"
    .split(" "),
  ..."EXPLAIN RECURSIVE AS key total * ( ) ( ) , , ; . = < || -> ->> + - / % ? ?2 :a @b $c # ! ~"
    .split(" "),
  ..."'x' 'it''s' \"total\" [key] `key` 'open \"open [open `open -- /* */ \n \t 1 2.5 0x1F 1e9 x'00'"
    .split(" "),
  ..."sqlite_master _views pragma_table_info json_each count(*) random() load_extension NULL CASE"
    .split(" "),
  ...["\u00e9", "\ufeff", "\u00a0", "\u2028", "\uff1b", "\ud83d\ude00", "\0", "\ud800", "\u000b"],
];

/** Words of SQL in random order. */
export const soup: fc.Arbitrary<string> = fc.tuple(
  fc.constantFrom("", "SELECT ", "SELECT 1 ", "WITH a AS (SELECT 1) ", "SELECT * FROM orders "),
  fc.array(fc.constantFrom(...WORDS), { maxLength: 12 }),
  fc.constantFrom(" ", "", " "),
).map(([start, words, between]) => start + words.join(between));
