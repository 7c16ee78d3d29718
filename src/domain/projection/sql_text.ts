/**
 * The text of a query, read as SQLite reads it, as far as it must be known before anything runs:
 * which statement it is, that it is only one, the names in it, and its parameters. What it may do
 * is not decided by this reading but by SQLite itself (`sql/authorizer.ts`).
 */

/** A parameter as it is written: `?`, `?7`, `:name`, `@name`, `$name`. */
export type SqlParameter = string;

export interface SqlText {
  /** The first word in lowercase; "" where the text does not begin with a word. */
  readonly verb: string;
  /** A second statement follows. */
  readonly hasMore: boolean;
  /** All that may be the name of a table, in lowercase: words, and whatever is quoted. */
  readonly names: ReadonlySet<string>;
  /** In their order; a named one once. */
  readonly parameters: readonly SqlParameter[];
}

type TokenKind = "word" | "quoted" | "parameter" | "end" | "other";

/**
 * Blanks and comments, then one token. A comment or quote that is not closed ends the text; the two
 * characters that open a comment are none where nothing follows them.
 */
const BLANK = /(?:[\t\n\f\r \uFEFF]|--[^\n]*(?:\n|$)|\/\*(?=[^])(?:[^*]|\*(?!\/))*(?:\*\/|$))+/y;
const TOKENS: readonly (readonly [TokenKind, RegExp])[] = [
  ["other", /[xX]'[^']*(?:'|$)/y],
  ["word", /[A-Za-z_\u0080-\uFFFF][A-Za-z0-9_$\u0080-\uFFFF]*/y],
  ["quoted", /'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)/y],
  ["quoted", /`(?:[^`]|``)*(?:`|$)|\[[^\]]*(?:\]|$)/y],
  ["parameter", /\?[0-9]*|[:@$#](?:[A-Za-z0-9_$\u0080-\uFFFF]|::|\([^\t\n\f\r )]*\))+/y],
  ["other", /[0-9](?:[A-Za-z0-9_$.\u0080-\uFFFF]|(?<=[eE])[+-])*/y],
  ["end", /;/y],
  ["other", /[^]/y],
];

const LARGEST_INTEGER = "9223372036854775807";

export function readSqlText(sql: string): SqlText {
  const names = new Set<string>();
  const parameters: SqlParameter[] = [];
  let verb: string | undefined;
  let isOver = false;
  let hasMore = false;
  for (const { kind, text } of tokensOf(sql)) {
    verb ??= kind === "word" ? lowercase(text) : "";
    if (kind === "end") {
      isOver = true;
      continue;
    }
    if (isOver) hasMore = true;
    if (kind === "word") names.add(lowercase(text));
    if (kind === "quoted") names.add(lowercase(unquote(text)));
    if (kind === "parameter" && (text === "?" || !parameters.includes(text))) parameters.push(text);
  }
  return { verb: verb ?? "", hasMore, names, parameters };
}

interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/**
 * The same statement with no more than so many rows, by a LIMIT of ours or within its own. To be
 * asked for what SQLite takes alone, and to be prepared like that.
 */
export function limitRows(sql: string, rowsMax: number): string {
  let depth = 0;
  let end = 0;
  /** Where the count of its own LIMIT begins and ends. */
  let count: { start: number; end?: number } | undefined;
  for (const token of tokensOf(sql)) {
    if (token.kind === "end") break;
    if (token.text === "(") depth++;
    if (token.text === ")") depth--;
    if (depth === 0) count = followLimit(count, token);
    end = token.end;
  }
  if (count === undefined) return `${sql.slice(0, end)}\nLIMIT ${rowsMax}`;
  const own = sql.slice(count.start, count.end ?? end);
  const rest = sql.slice(count.end ?? end, end);
  // A negative count means none: without its sign it is a large one.
  return `${sql.slice(0, count.start)} min((${own}\n) & ${LARGEST_INTEGER}, ${rowsMax}) ${rest}`;
}

/** `LIMIT count`, `LIMIT count OFFSET skipped` or `LIMIT skipped, count`. */
function followLimit(
  count: { start: number; end?: number } | undefined,
  { kind, text, start, end }: Token,
): { start: number; end?: number } | undefined {
  const word = kind === "word" ? lowercase(text) : "";
  if (word === "limit") return { start: end };
  if (count === undefined) return undefined;
  if (word === "offset") return { start: count.start, end: start };
  return text === "," ? { start: end } : count;
}

function* tokensOf(sql: string): Generator<Token> {
  for (let at = 0; at < sql.length;) {
    BLANK.lastIndex = at;
    if (BLANK.test(sql)) {
      at = BLANK.lastIndex;
      continue;
    }
    for (const [kind, pattern] of TOKENS) {
      pattern.lastIndex = at;
      if (!pattern.test(sql)) continue;
      const { lastIndex: end } = pattern;
      yield { kind, text: sql.slice(at, end), start: at, end };
      at = end;
      break;
    }
  }
}

function unquote(text: string): string {
  const quote = text[0]!;
  if (quote === "[") return text.slice(1, text.endsWith("]") ? -1 : undefined);
  const isClosed = text.length > 1 && text.endsWith(quote);
  return text.slice(1, isClosed ? -1 : undefined).replaceAll(quote + quote, quote);
}

/** As SQLite compares names: letters of ASCII alone. */
function lowercase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
