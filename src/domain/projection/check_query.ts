/**
 * Decides whether a text may be run as a query, before SQLite sees it.
 *
 * See docs/reference/projections.md.
 */

import { limits } from "../limits.ts";
import { bindArguments, type BoundArguments, type SqlArguments } from "./sql_parameters.ts";
import { readSqlText } from "./sql_text.ts";

export interface QueryRequest {
  readonly sql: string;
  readonly params: SqlArguments;
  /** Whether the last good rows of broken projections are acceptable. */
  readonly stale?: boolean;
}

export type CheckedQuery =
  | {
    readonly ok: true;
    /** In lowercase. Contains every table the statement names, among other words. */
    readonly names: ReadonlySet<string>;
    readonly bound: BoundArguments;
  }
  | { readonly ok: false; readonly reason: string };

/** How many characters of a statement that does not begin correctly are shown in the message. */
const SHOWN_CHARACTERS = 40;

export function checkQuery({ sql, params }: QueryRequest): CheckedQuery {
  if (sql.length > limits.sqlTextCharactersMax) {
    return refuse(`The statement is longer than ${limits.sqlTextCharactersMax} characters`);
  }
  // SQLite would end the text here and run the part before it.
  if (sql.includes("\0")) return refuse("The statement has a NUL character");
  const { verb, hasMore, names, parameters } = readSqlText(sql);
  if (verb !== "select" && verb !== "with") {
    const start = sql.trimStart().slice(0, SHOWN_CHARACTERS);
    const found = start === "" ? "there is none" : `this one begins with ${JSON.stringify(start)}`;
    return refuse(`A query is one SELECT, or one WITH ... SELECT; ${found}`);
  }
  if (hasMore) return refuse("A query is one statement; there is more behind the semicolon");
  const binding = bindArguments(parameters, params);
  return binding.ok ? { ok: true, names, bound: binding.bound } : binding;
}

function refuse(reason: string): CheckedQuery {
  return { ok: false, reason };
}
