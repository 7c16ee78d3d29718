/** Reading JSON whose keys anybody may have chosen. */

/** The own member of that name; undefined if there is none, or if the value has no members. */
export function ownMember(value: unknown, name: string | number): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}
