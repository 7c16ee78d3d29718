/**
 * Decides what a statement may do, when SQLite asks about each action while preparing it.
 *
 * A statement may read the tables it was granted, and call functions that depend only on their
 * arguments and the current time. Everything else is refused. See
 * docs/reference/queries.md.
 */

import { ACTION, type Authorizer, VERDICT } from "./sqlite.ts";

export interface Authorization {
  readonly authorize: Authorizer;
  /** Why the last statement was refused; undefined if it was not, or not by this authorizer. */
  reason(): string | undefined;
}

/** Virtual tables that depend only on their arguments. */
const TABLE_FUNCTIONS: ReadonlySet<string> = new Set(["json_each", "json_tree"]);

/**
 * Left out are functions that differ from call to call (`random`), reveal something about the
 * process or the file (`changes`, `sqlite_version`), reach outside (`load_extension`), or
 * belong to text search.
 */
const FUNCTIONS: ReadonlySet<string> = new Set(
  [
    "-> ->> abs avg char coalesce concat concat_ws count cume_dist current_date current_time",
    "current_timestamp date datetime dense_rank first_value format glob group_concat hex if",
    "ifnull iif instr json json_array json_array_insert json_array_length json_error_position",
    "json_extract json_group_array json_group_object json_insert json_object json_patch",
    "json_pretty json_quote json_remove json_replace json_set json_type json_valid julianday",
    "lag last_value lead length like likelihood likely lower ltrim max min nth_value ntile",
    "nullif octet_length percent_rank printf quote rank replace round row_number rtrim sign",
    "strftime string_agg substr substring sum time timediff total trim typeof unhex unicode",
    "unistr unistr_quote unixepoch unlikely upper",
  ].flatMap((line) => line.split(" ")),
);

/** The reasons for refusing particular actions. */
const REFUSED: Readonly<Record<number, string>> = {
  [ACTION.pragma]: "PRAGMA is not available",
  [ACTION.attach]: "ATTACH is not available",
  [ACTION.detach]: "DETACH is not available",
  [ACTION.transaction]: "A query has no transactions of its own",
  [ACTION.savepoint]: "A query has no transactions of its own",
};
const ONLY_READS = "A query can only read";

/**
 * @param allowed names of tables in lowercase.
 * @param known names in lowercase that cannot be a table the statement defines itself.
 */
export function authorization(
  allowed: ReadonlySet<string>,
  known: ReadonlySet<string>,
): Authorization {
  let refusal: string | undefined;

  function deny(reason: string): number {
    // Keep the first refusal: it is the cause, and later ones only follow from it.
    refusal ??= reason;
    return VERDICT.deny;
  }

  function read(table: string, column: string | null): number {
    const name = table.toLowerCase();
    if (allowed.has(name) || TABLE_FUNCTIONS.has(name)) return VERDICT.ok;
    // Without a column, this may be a name that the statement itself defines, such as a CTE.
    if (column === "" && !isSystemName(name) && !known.has(name)) return VERDICT.ok;
    return deny(`no such table: ${table}`);
  }

  return {
    authorize(action, first, second) {
      switch (action) {
        case ACTION.select:
        case ACTION.recursive:
          return VERDICT.ok;
        case ACTION.read:
          return read(first ?? "", second);
        case ACTION.function:
          if (FUNCTIONS.has((second ?? "").toLowerCase())) return VERDICT.ok;
          return deny(`The function ${second} is not available`);
        default:
          return deny(REFUSED[action] ?? ONLY_READS);
      }
    },
    reason: () => refusal,
  };
}

/** Names that SQLite reserves, and table-valued functions that report on the file. */
function isSystemName(name: string): boolean {
  return name.startsWith("sqlite_") || name.startsWith("pragma_");
}
