/** Drafts a JSON schema that all given values fit, as a start for one that a person writes. */

interface Seen {
  count: number;
  readonly types: Set<string>;
  /** Of the objects: how many there were, and what was seen of each member. */
  objects: number;
  readonly members: Map<string, Seen>;
  /** Of the elements of all lists. */
  items?: Seen;
}

/** Deeper values, and objects with more names than that, are described by their type alone. */
const DEPTH_MAX = 12;
const MEMBERS_MAX = 60;
const ITEMS_MAX = 200;

export function draftSchema(values: readonly unknown[]): object {
  const seen = nothingSeen();
  for (const value of values) look(seen, value, 0);
  return schemaOf(seen, 0);
}

function nothingSeen(): Seen {
  return { count: 0, types: new Set(), objects: 0, members: new Map() };
}

function look(seen: Seen, value: unknown, depth: number): void {
  seen.count++;
  seen.types.add(typeOf(value));
  if (depth >= DEPTH_MAX || typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    seen.items ??= nothingSeen();
    for (const item of value.slice(0, ITEMS_MAX)) look(seen.items, item, depth + 1);
    // What was not looked at may be anything.
    if (value.length > ITEMS_MAX) seen.items.types.add("anything");
    return;
  }
  seen.objects++;
  for (const [name, member] of Object.entries(value)) {
    // One more than are described tells that there are too many.
    if (!seen.members.has(name) && seen.members.size > MEMBERS_MAX) continue;
    if (!seen.members.has(name)) seen.members.set(name, nothingSeen());
    look(seen.members.get(name)!, member, depth + 1);
  }
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

function schemaOf(seen: Seen, depth: number): object {
  if (seen.types.size === 0 || seen.types.has("anything")) return {};
  const types = [...seen.types].filter((type) => type !== "integer" || !seen.types.has("number"))
    .sort();
  const isDeep = depth >= DEPTH_MAX;
  const hasMembers = seen.types.has("object") && !isDeep && seen.members.size <= MEMBERS_MAX;
  return {
    type: types.length === 1 ? types[0] : types,
    ...(hasMembers && membersOf(seen, depth)),
    ...(seen.items !== undefined && !isDeep && { items: schemaOf(seen.items, depth + 1) }),
  };
}

function membersOf({ members, objects }: Seen, depth: number): object {
  const required = [...members].filter(([, { count }]) => count === objects).map(([name]) => name);
  return {
    properties: Object.fromEntries(
      [...members].map(([name, member]) => [name, schemaOf(member, depth + 1)]),
    ),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}
