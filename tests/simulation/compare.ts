/** Compares values as text, whatever the order of their keys. */

import type { JsonValue } from "../../src/domain/json.ts";

export function canonical(value: JsonValue): string {
  return JSON.stringify(
    value,
    (_, part) =>
      part !== null && typeof part === "object" && !Array.isArray(part)
        ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => a < b ? -1 : 1))
        : part,
  );
}

/** Groups a list by `nameOf`; leaves out members without a name. */
export function groupBy<T>(
  list: Iterable<T>,
  nameOf: (member: T) => string | undefined,
): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const member of list) {
    const name = nameOf(member);
    if (name === undefined) continue;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [member]);
    else group.push(member);
  }
  return groups;
}

/** Removes the first member that `isWanted` accepts; returns false if there is none. */
export function takeOne<T>(list: T[], isWanted: (member: T) => boolean): boolean {
  const at = list.findIndex(isWanted);
  if (at < 0) return false;
  list.splice(at, 1);
  return true;
}
