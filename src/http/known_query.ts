/**
 * Refuses query parameters that a route does not have.
 *
 * A misspelt or misplaced parameter would change nothing, and the client would not notice: a
 * deploy that was meant as a dry run would take place. The row of a route in `openapi/operations/`
 * declares its parameters, so a parameter without a row cannot be used. See
 * docs/reference/basics.md.
 */

import { nameHint } from "../domain/nearest_name.ts";
import { accept, type Outcome, refuse } from "../domain/refusal.ts";
import type { Call } from "./call.ts";
import { OPERATIONS } from "./openapi/operations.ts";

/** Query parameters by method and pattern, such as `GET /{type}`. */
const NAMES: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries(OPERATIONS).map(([route, { query = {} }]) => [
    route,
    new Set(Object.keys(query).map((name) => name.replace(/\?$/, ""))),
  ]),
);
const NONE: ReadonlySet<string> = new Set();
const NAME_CHARACTERS_MAX = 64;

export function checkQueryNames({ route, query }: Pick<Call, "route" | "query">): Outcome<void> {
  if (query === "") return accept(undefined);
  const known = NAMES.get(route) ?? NONE;
  // Bounded: by the length of an address.
  for (const name of new URLSearchParams(query).keys()) {
    if (!known.has(name)) {
      return refuse({ kind: "bad_request", ...whyNot(name, known) });
    }
  }
  return accept(undefined);
}

function whyNot(name: string, known: ReadonlySet<string>) {
  const shown = name.length > NAME_CHARACTERS_MAX
    ? `${name.slice(0, NAME_CHARACTERS_MAX)}...`
    : name;
  const all = [...known].map((one) => `'${one}'`).join(", ");
  const others = known.size === 0 ? "This call takes no query parameters" : `It takes ${all}`;
  return {
    path: shown,
    message: `Unknown query parameter '${shown}'`,
    hint: nameHint(name, known) ?? others,
  };
}
