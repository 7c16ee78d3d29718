/**
 * Reads the text of a query as SQLite does, as far as needed before anything runs.
 *
 * It finds the kind of statement, whether there is only one, the names in it, and its
 * parameters. It does not decide what the statement may do; SQLite itself enforces that
 * (`sql/authorizer.ts`).
 *
 * Bounded: each token is looked at once, of a text of `limits.sqlTextCharactersMax`.
 */

import { limits } from "../limits.ts";
import { openSqlCursor, readToken, type SqlCursor, tokenText } from "./sql_tokens.ts";

/** A parameter as it is written: `?`, `?7`, `:name`, `@name`, `$name`. */
export type SqlParameter = string;

export interface SqlText {
  /** The first word in lowercase; "" if the text does not begin with a word. */
  readonly verb: string;
  /** Whether a second statement follows. */
  readonly hasMore: boolean;
  /** Every possible table name in lowercase: all words, and everything quoted. */
  readonly names: ReadonlySet<string>;
  /** In order; a named parameter appears once. At most one more than the limit. */
  readonly parameters: readonly SqlParameter[];
}

const LARGEST_INTEGER = "9223372036854775807";

export function readSqlText(sql: string): SqlText {
  const names = new Set<string>();
  const parameters: SqlParameter[] = [];
  const seen = new Set<SqlParameter>();
  let verb: string | undefined;
  let isOver = false;
  let hasMore = false;
  for (const cursor = openSqlCursor(sql); !hasMore && readToken(cursor);) {
    const { kind } = cursor;
    verb ??= kind === "word" ? tokenText(cursor).toLowerCase() : "";
    if (kind === "end") isOver = true;
    else if (isOver) hasMore = true;
    else if (kind === "word") names.add(tokenText(cursor).toLowerCase());
    else if (kind === "quoted") names.add(unquote(tokenText(cursor)).toLowerCase());
    else if (kind === "parameter") {
      const text = tokenText(cursor);
      if (seen.has(text) || parameters.length > limits.sqlParametersMax) continue;
      parameters.push(text);
      if (text !== "?") seen.add(text);
    }
  }
  return { verb: verb ?? "", hasMore, names, parameters };
}

/**
 * The same statement limited to `rowsMax` rows, by an added LIMIT or inside its own. Pass only
 * a statement that SQLite accepts on its own, and check that SQLite takes the result as one
 * statement.
 */
export function limitRows(sql: string, rowsMax: number): string {
  let depth = 0;
  let end = 0;
  /** Where the count of the statement's own LIMIT begins and ends. */
  let count: { start: number; end?: number } | undefined;
  for (const cursor = openSqlCursor(sql); readToken(cursor) && cursor.kind !== "end";) {
    end = cursor.end;
    if (isSign(cursor, "(")) depth++;
    if (isSign(cursor, ")")) depth--;
    if (depth === 0) count = followLimit(count, cursor);
  }
  if (count === undefined) return `${sql.slice(0, end)}\nLIMIT ${rowsMax}`;
  const own = sql.slice(count.start, count.end ?? end);
  const rest = sql.slice(count.end ?? end, end);
  // A negative count means no limit; clearing its sign bit turns it into a large one.
  return `${sql.slice(0, count.start)} min((${own}\n) & ${LARGEST_INTEGER}, ${rowsMax}) ${rest}`;
}

/** Handles `LIMIT count`, `LIMIT count OFFSET skipped` and `LIMIT skipped, count`. */
function followLimit(
  count: { start: number; end?: number } | undefined,
  cursor: SqlCursor,
): { start: number; end?: number } | undefined {
  const { start, end } = cursor;
  if (isWord(cursor, "limit")) return { start: end };
  if (count === undefined) return undefined;
  if (isWord(cursor, "offset")) return { start: count.start, end: start };
  return isSign(cursor, ",") ? { start: end } : count;
}

function isWord(cursor: SqlCursor, word: string): boolean {
  const { kind, start, end } = cursor;
  return kind === "word" && end - start === word.length && tokenText(cursor).toLowerCase() === word;
}

function isSign({ sql, kind, start }: SqlCursor, sign: string): boolean {
  return kind === "other" && sql[start] === sign;
}

function unquote(text: string): string {
  const quote = text[0]!;
  if (quote === "[") return text.slice(1, text.endsWith("]") ? -1 : undefined);
  const isClosed = text.length > 1 && text.endsWith(quote);
  return text.slice(1, isClosed ? -1 : undefined).replaceAll(quote + quote, quote);
}
