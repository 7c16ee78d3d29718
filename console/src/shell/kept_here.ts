/** What stays in the browser when a session ends, for whoever uses it next. */

/** The beginnings of the names under which it is kept, and what that is. */
const KEPT: readonly (readonly [begin: string, what: string])[] = [
  ["daybook.notebook.", "SQL notebooks"],
  ["daybook.pins.", "pinned keys"],
];

/** What there is of it among the names of all that is kept. */
export function keptAmong(names: readonly string[]): readonly string[] {
  return KEPT.filter(([begin]) => names.some((name) => name.startsWith(begin)))
    .map(([, what]) => what);
}

/** Nothing if the browser keeps nothing for this page. */
export function keptHere(): readonly string[] {
  try {
    return keptAmong(Object.keys(localStorage));
  } catch {
    return [];
  }
}
