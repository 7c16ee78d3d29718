/** The parameters of a statement, found in its text, so that each has a field. */

import { type Scalar, scalarOf } from "./table_query.ts";

/** More fields than this do not help anybody. */
export const PARAMETERS_MAX = 50;

export interface Parameters {
  /** `1`, `2`, ... or names without their sign, each once, in the order of the text. */
  readonly names: readonly string[];
  readonly kind: "none" | "by_place" | "by_name" | "mixed" | "too_many";
}

/**
 * Texts, quoted names and comments are passed over; then what is a parameter. One without an end
 * reaches to the end of the statement, so that every character is looked at once.
 */
const TOKEN = new RegExp(
  [
    "'(?:[^']|'')*(?:'|$)",
    '"(?:[^"]|"")*(?:"|$)',
    "`(?:[^`]|``)*(?:`|$)",
    "\\[[^\\]]*(?:\\]|$)",
    "--[^\\n]*",
    "/\\*[^]*?(?:\\*/|$)",
    "\\?(\\d{0,9})",
    "[:@$]([A-Za-z_]\\w*)",
  ].join("|"),
  "g",
);

export function parametersOf(sql: string): Parameters {
  const names = new Set<string>();
  let places = 0;
  for (const [token, place, name] of sql.matchAll(TOKEN)) {
    if (name !== undefined) names.add(name);
    else if (token.startsWith("?")) places = place === "" ? places + 1 : Math.max(places, +place!);
    if (names.size > PARAMETERS_MAX || places > PARAMETERS_MAX) {
      return { names: [], kind: "too_many" };
    }
  }
  if (names.size > 0) return { names: [...names], kind: places > 0 ? "mixed" : "by_name" };
  return {
    names: Array.from({ length: places }, (_, at) => String(at + 1)),
    kind: places > 0 ? "by_place" : "none",
  };
}

/** What is sent, of what was typed by name. A field that nobody has touched is an empty text. */
export function valuesOf(
  { names, kind }: Parameters,
  typed: Readonly<Record<string, string>>,
): readonly Scalar[] | Readonly<Record<string, Scalar>> | undefined {
  const valueOf = (name: string) => scalarOf(Object.hasOwn(typed, name) ? typed[name]! : "");
  if (kind === "by_place") return names.map(valueOf);
  // A parameter may be called __proto__.
  if (kind === "by_name") return Object.fromEntries(names.map((name) => [name, valueOf(name)]));
  return undefined;
}
