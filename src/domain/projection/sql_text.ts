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
import { type Texts, TextSet } from "../lookup/text_map.ts";

/** A parameter as it is written: `?`, `?7`, `:name`, `@name`, `$name`. */
export type SqlParameter = string;

export interface SqlText {
  /** The first word in lowercase; "" if the text does not begin with a word. */
  readonly verb: string;
  /** Whether a second statement follows. */
  readonly hasMore: boolean;
  /** Every possible table name in lowercase: all words, and everything quoted. */
  readonly names: Texts;
  /** In order; a named parameter appears once. At most one more than the limit. */
  readonly parameters: readonly SqlParameter[];
}

const LARGEST_INTEGER = "9223372036854775807";

export function readSqlText(sql: string): SqlText {
  const names = new TextSet();
  const parameters: SqlParameter[] = [];
  const seen = new TextSet();
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

/**
 * Splits a statement into tokens exactly as SQLite does.
 *
 * The cost is linear, whatever the text: an unclosed token extends to the end of the text, and
 * nothing is scanned twice.
 *
 * Bounded: each character is looked at a few times at most, of a text of
 * `limits.sqlTextCharactersMax`.
 */
type SqlTokenKind = "word" | "quoted" | "parameter" | "end" | "other";

const CODE = {
  quote: 0x27,
  close: 0x29,
  open: 0x28,
  star: 0x2a,
  plus: 0x2b,
  minus: 0x2d,
  dot: 0x2e,
  slash: 0x2f,
  colon: 0x3a,
  semicolon: 0x3b,
  question: 0x3f,
  upperX: 0x58,
  bracket: 0x5b,
  e: 0x65,
  x: 0x78,
} as const;

/** Character classes: what a character may begin or be part of; 0 for all other characters. */
const BLANK = 1;
const LETTER = 2;
const DIGIT = 4;
const DOLLAR = 8;
const SIGIL = 16;
const QUOTE = 32;
const ID = LETTER | DIGIT | DOLLAR;

const CLASSES = classesOf({
  "\t\n\f\r ": BLANK,
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_": LETTER,
  "0123456789": DIGIT,
  "$": DOLLAR | SIGIL,
  ":@#": SIGIL,
  "'\"`[": QUOTE,
});

function classesOf(table: Readonly<Record<string, number>>): Uint8Array {
  const classes = new Uint8Array(0x80);
  for (const [characters, value] of Object.entries(table)) {
    for (const character of characters) classes[character.charCodeAt(0)] = value;
  }
  return classes;
}

/** SQLite treats every character beyond ASCII as a letter. */
function classAt(sql: string, at: number): number {
  const code = sql.charCodeAt(at);
  // Beyond the end of the text the code is NaN.
  return code < 0x80 ? CLASSES[code]! : code >= 0x80 ? LETTER : 0;
}

/**
 * The position of a reader in a statement. One object serves the whole text: tokens may be
 * many.
 */
interface SqlCursor {
  readonly sql: string;
  kind: SqlTokenKind;
  /** The bounds of the token that was read last. */
  start: number;
  end: number;
}

export function openSqlCursor(sql: string): SqlCursor {
  return { sql, kind: "other", start: 0, end: 0 };
}

/** Advances to the next token, past blanks and comments; false at the end of the text. */
export function readToken(cursor: SqlCursor): boolean {
  const { sql } = cursor;
  const start = afterBlanks(sql, cursor.end);
  if (start >= sql.length) return false;
  const kind = kindAt(sql, start);
  cursor.kind = kind === "blob" || kind === "number" ? "other" : kind;
  cursor.start = start;
  cursor.end = endOf(sql, start, kind);
  return true;
}

export function tokenText({ sql, start, end }: SqlCursor): string {
  return sql.slice(start, end);
}

function afterBlanks(sql: string, start: number): number {
  for (let at = start; at < sql.length;) {
    const code = sql.charCodeAt(at);
    if (code === 0xfeff || code < 0x80 && CLASSES[code] === BLANK) at++;
    else if (code === CODE.minus && sql.charCodeAt(at + 1) === CODE.minus) {
      at = endBehind(sql, "\n", at);
    } else if (isComment(sql, at)) at = endBehind(sql, "*/", at + 2);
    else return at;
  }
  return sql.length;
}

/** `/*` at the very end of the text does not open a comment. */
function isComment(sql: string, at: number): boolean {
  return sql.charCodeAt(at) === CODE.slash && sql.charCodeAt(at + 1) === CODE.star &&
    at + 2 < sql.length;
}

/** The position after the next `closing`, or the end of the text if there is none. */
function endBehind(sql: string, closing: string, from: number): number {
  const found = sql.indexOf(closing, from);
  return found < 0 ? sql.length : found + closing.length;
}

type Kind = SqlTokenKind | "blob" | "number";

function kindAt(sql: string, at: number): Kind {
  const code = sql.charCodeAt(at);
  if (code >= 0x80) return "word";
  const what = CLASSES[code]!;
  if (what & LETTER) {
    const isBlob = code === CODE.x || code === CODE.upperX;
    return isBlob && sql.charCodeAt(at + 1) === CODE.quote ? "blob" : "word";
  }
  if (what & DIGIT) return "number";
  if (what & QUOTE) return "quoted";
  if (what & SIGIL) return idsFrom(sql, at + 1) < 0 ? "other" : "parameter";
  if (code === CODE.question) return "parameter";
  return code === CODE.semicolon ? "end" : "other";
}

function endOf(sql: string, start: number, kind: Kind): number {
  switch (kind) {
    case "word":
      return skip(sql, start + 1, ID);
    case "number":
      return endOfNumber(sql, start);
    case "blob":
      return endBehind(sql, "'", start + 2);
    case "quoted":
      return sql.charCodeAt(start) === CODE.bracket
        ? endBehind(sql, "]", start)
        : endOfQuoted(sql, start);
    case "parameter":
      return sql.charCodeAt(start) === CODE.question
        ? skip(sql, start + 1, DIGIT)
        : endOfParameter(sql, start);
    case "end":
      return start + 1;
    case "other":
      return classAt(sql, start) & SIGIL ? Math.abs(idsFrom(sql, start + 1)) : start + 1;
  }
}

function skip(sql: string, start: number, classes: number): number {
  let at = start;
  while (classAt(sql, at) & classes) at++;
  return at;
}

/** A sign belongs to a number only as the sign of its exponent. */
function endOfNumber(sql: string, start: number): number {
  for (let at = start + 1;; at++) {
    const code = sql.charCodeAt(at);
    if (code === CODE.dot || classAt(sql, at) & ID) continue;
    const isSign = code === CODE.plus || code === CODE.minus;
    if (!isSign || (sql.charCodeAt(at - 1) | 0x20) !== CODE.e) return at;
  }
}

/** Inside, a doubled quote stands for the quote itself. */
function endOfQuoted(sql: string, start: number): number {
  const quote = sql[start]!;
  for (let at = start + 1;;) {
    const found = sql.indexOf(quote, at);
    if (found < 0) return sql.length;
    if (sql[found + 1] !== quote) return found + 1;
    at = found + 2;
  }
}

/** `:a`, `$a::b` or `$a(x)`; without the closing bracket it is not a parameter in SQLite either. */
function endOfParameter(sql: string, start: number): number {
  const end = idsFrom(sql, start + 1);
  if (sql.charCodeAt(end) !== CODE.open) return end;
  let at = end + 1;
  while (at < sql.length) {
    const code = sql.charCodeAt(at);
    if (code === CODE.close) return at + 1;
    if (code < 0x80 && CLASSES[code] === BLANK) return at;
    at++;
  }
  return at;
}

/** The end of a name that may contain `::`; negative if there is nothing but colons. */
function idsFrom(sql: string, start: number): number {
  let isNamed = false;
  for (let at = start;;) {
    if (classAt(sql, at) & ID) {
      isNamed = true;
      at++;
    } else if (isPairOfColons(sql, at)) at += 2;
    else return isNamed ? at : -at;
  }
}

function isPairOfColons(sql: string, at: number): boolean {
  return sql.charCodeAt(at) === CODE.colon && sql.charCodeAt(at + 1) === CODE.colon;
}
