/**
 * Decides whether a text may be run as a query, before SQLite sees it, and binds values to its
 * parameters.
 *
 * An array holds the values of `?` and `?7`, an object those of `:name`, `@name` and `$name`.
 * Each parameter needs a value and each value a parameter: a forgotten value would be NULL and
 * give wrong answers. See docs/reference/queries.md.
 *
 * Bounded: `limits.sqlParametersMax` parameters.
 */

import type { JsonObject, JsonValue } from "../json.ts";
import { limits } from "../limits.ts";
import type { Texts } from "../lookup/text_map.ts";
import { readSqlText, type SqlParameter } from "./sql_text.ts";

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
    readonly names: Texts;
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

/** JSON scalars; true and false become 1 and 0. */
export type SqlArgument = null | boolean | number | string;
export type SqlArguments = readonly SqlArgument[] | Readonly<Record<string, SqlArgument>>;

/** Values by position, starting with the first, or by the parameter as it is written. */
export interface BoundArguments {
  readonly byPlace: readonly SqlArgument[];
  readonly byName: Readonly<Record<string, SqlArgument>>;
}

type Binding =
  | { readonly ok: true; readonly bound: BoundArguments }
  | { readonly ok: false; readonly reason: string };

export const TOO_MANY_PARAMETERS =
  `A query has at most ${limits.sqlParametersMax} parameters: many values fit ` +
  "into one as a JSON array, for json_each(?)";
const TOO_LONG = "The values in params are longer than " +
  `${limits.sqlParameterCharactersMax} characters together`;

/** Counted before anything is done for each of them. */
export function hasTooManyParameters(given: JsonObject | readonly JsonValue[]): boolean {
  const { length } = Array.isArray(given) ? given : Object.keys(given);
  return length > limits.sqlParametersMax;
}

export function bindArguments(
  parameters: readonly SqlParameter[],
  given: SqlArguments,
): Binding {
  if (parameters.length > limits.sqlParametersMax) return refuse(TOO_MANY_PARAMETERS);
  if (hasTooManyParameters(given)) return refuse(TOO_MANY_PARAMETERS);
  const values = Object.values(given);
  if (charactersOf(values) > limits.sqlParameterCharactersMax) return refuse(TOO_LONG);
  const named = parameters.filter((parameter) => !parameter.startsWith("?"));
  if (isArray(given)) return bindPlaces(parameters, named, given);
  if (named.length < parameters.length) {
    return refuse("? takes its value from an array, but params is an object");
  }
  return bindNames(named, given);
}

function bindPlaces(
  parameters: readonly SqlParameter[],
  named: readonly SqlParameter[],
  given: readonly SqlArgument[],
): Binding {
  const [first] = named;
  if (first !== undefined) {
    const reason = `${first} takes its value from an object: {"${first.slice(1)}": ...}`;
    return refuse(given.length === 0 ? `${reason} in params` : `${reason}, but params is an array`);
  }
  let places = 0;
  for (const parameter of parameters) {
    places = parameter === "?" ? places + 1 : Math.max(places, Number(parameter.slice(1)));
  }
  if (places !== given.length) {
    return refuse(`The statement has ${places} parameters, and params has ${given.length} values`);
  }
  return { ok: true, bound: { byPlace: given, byName: {} } };
}

function bindNames(
  named: readonly SqlParameter[],
  given: Readonly<Record<string, SqlArgument>>,
): Binding {
  const left = new Set(Object.keys(given));
  const byName: Record<string, SqlArgument> = {};
  for (const parameter of named) {
    const name = parameter.slice(1);
    if (!Object.hasOwn(given, name)) return refuse(`params has no value for ${parameter}`);
    byName[parameter] = given[name]!;
    left.delete(name);
  }
  const [unused] = left;
  if (unused !== undefined) return refuse(`The statement has no parameter :${unused}`);
  return { ok: true, bound: { byPlace: [], byName } };
}

function charactersOf(values: readonly SqlArgument[]): number {
  return values.reduce<number>(
    (sum, value) => sum + (typeof value === "string" ? value.length : 0),
    0,
  );
}

function isArray(given: SqlArguments): given is readonly SqlArgument[] {
  return Array.isArray(given);
}

function refuse(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}
