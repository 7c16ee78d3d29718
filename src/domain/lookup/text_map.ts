/**
 * Maps by names that clients choose, many at a time, such as the properties of a schema.
 *
 * A `Map` hashes names in a way that everybody can compute, and those that consist of digits by
 * their number alone. Thousands of names can therefore be chosen that all fall into one bucket,
 * where each look-up compares all of them. Here a name among more than a few is searched by halves.
 */

/** Names, each once. */
export type TextSet = ReadonlyMap<string, true>;

/** Up to this many names, a `Map` is fast even if all of them are in one bucket. */
const MAP_MAX = 64;

type Entry<V> = readonly [name: string, value: V];

export function textSetOf(names: readonly string[]): TextSet {
  return textMapOf(names.map((name) => [name, true]));
}

/** As a `Map` of these entries: in their order, and for a repeated name the last of its values. */
export function textMapOf<V>(entries: readonly Entry<V>[]): ReadonlyMap<string, V> {
  return entries.length <= MAP_MAX ? new Map(entries) : sortedMapOf(entries);
}

function sortedMapOf<V>(entries: readonly Entry<V>[]): ReadonlyMap<string, V> {
  const sorted = sortFirsts(entries);
  const names = sorted.map(({ name }) => name);
  const order = sorted.toSorted((a, b) => a.place - b.place);

  function valueOf(name: string): V | undefined {
    const found = sorted[placeIn(names, name)];
    return found?.name === name ? found.value : undefined;
  }

  const map: ReadonlyMap<string, V> = {
    size: names.length,
    get: valueOf,
    has: (name) => names[placeIn(names, name)] === name,
    keys: () => order.map(({ name }) => name).values(),
    values: () => order.map(({ value }) => value).values(),
    entries: () => order.map(({ name, value }): [string, V] => [name, value]).values(),
    // Bounded: whoever made the entries has charged them.
    forEach: (call, self) => order.forEach((each) => call.call(self, each.value, each.name, map)),
    [Symbol.iterator]: () => map.entries(),
  };
  return map;
}

interface Sorted<V> {
  readonly name: string;
  readonly value: V;
  /** The first place of the name among the entries. */
  readonly place: number;
}

/** Sorted by name, each name once. */
function sortFirsts<V>(entries: readonly Entry<V>[]): Sorted<V>[] {
  const all = entries.map(([name, value], place): Sorted<V> => ({ name, value, place }));
  // Sorting keeps the order of entries with the same name.
  all.sort((a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
  const sorted: Sorted<V>[] = [];
  // Bounded: whoever made the entries has charged them.
  for (const each of all) {
    const last = sorted.at(-1);
    if (last?.name !== each.name) sorted.push(each);
    else sorted[sorted.length - 1] = { ...last, value: each.value };
  }
  return sorted;
}

/** The place of the first name that is not before `name`. */
function placeIn(names: readonly string[], name: string): number {
  let low = 0;
  let high = names.length;
  // Bounded: the list can be halved only a few times.
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (names[middle]! < name) low = middle + 1;
    else high = middle;
  }
  return low;
}
