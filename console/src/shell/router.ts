/**
 * The address of a view: what stands behind `#` is its path and its query. Every view can be shared
 * by its address. The instance that an operator looks at is part of each address.
 */

import { computed, type ReadonlySignal, signal } from "@preact/signals";

export type Query = Readonly<Record<string, string | number | undefined>>;

/** Where the reader is: `#/streams/order?prefix=7K` is a path of two segments, one parameter. */
export interface Place {
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

const INSTANCE = "instance";

const fragment = signal(globalThis.location?.hash ?? "");

globalThis.addEventListener?.("hashchange", () => fragment.value = location.hash);

export const place: ReadonlySignal<Place> = computed(() => parsePlace(fragment.value));

/** The instance that the address names. */
export const instanceInPlace: ReadonlySignal<string | undefined> = computed(() =>
  place.value.query[INSTANCE]
);

export function parsePlace(text: string): Place {
  const bare = text.replace(/^#?\/?/, "");
  const mark = bare.indexOf("?");
  const path = mark < 0 ? bare : bare.slice(0, mark);
  const query = new URLSearchParams(mark < 0 ? "" : bare.slice(mark + 1));
  return {
    path: path.split("/").filter((segment) => segment !== "").map(decoded),
    query: Object.fromEntries(query),
  };
}

/** A segment that is no percent-encoding stands for itself. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** `path` and `query` as the text behind `#`; parameters without a value are left out. */
export function formatPlace(path: readonly string[], query: Query = {}): string {
  const given = Object.entries(query)
    .filter(([, value]) => value !== undefined && value !== "")
    .map(([name, value]) => [name, String(value)]);
  const text = new URLSearchParams(given).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text === "" ? "" : `?${text}`}`;
}

/** For links. The instance stays the same unless `query` names another one. */
export function hrefOf(path: readonly string[], query: Query = {}): string {
  return formatPlace(path, { [INSTANCE]: instanceInPlace.value, ...query });
}

/** Goes to a view; with `replace` the view before it is not kept for the button Back. */
export function goTo(
  path: readonly string[],
  query: Query = {},
  { replace = false }: { replace?: boolean } = {},
): void {
  const href = hrefOf(path, query);
  if (replace) history.replaceState(history.state, "", href);
  else history.pushState(null, "", href);
  fragment.value = href;
}

/** A value that came in the fragment (`#name=value`), and is taken out of the address at once. */
export function takeFromFragment(name: string): string | undefined {
  const value = new URLSearchParams(location.hash.replace(/^#\/?/, "")).get(name);
  if (value === null) return undefined;
  history.replaceState(null, "", location.pathname + formatPlace([]));
  fragment.value = location.hash;
  return value;
}

/** Changes parameters of the present view; `undefined` removes one. */
export function setQuery(change: Query, { replace = true }: { replace?: boolean } = {}): void {
  const { path, query } = place.peek();
  goTo(path, { ...query, ...change }, { replace });
}
