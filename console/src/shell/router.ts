/**
 * The address of a view: what stands behind `#` is its path and its query. Every view can be shared
 * by its address. The instance that an operator looks at is part of each address.
 */

import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { formatPlace, parsePlace, type Place, type Query } from "./place.ts";

const INSTANCE = "instance";

const fragment = signal(globalThis.location?.hash ?? "");

globalThis.addEventListener?.("hashchange", () => fragment.value = location.hash);

export const place: ReadonlySignal<Place> = computed(() => parsePlace(fragment.value));

/** The instance that the address names. */
export const instanceInPlace: ReadonlySignal<string | undefined> = computed(() =>
  place.value.query[INSTANCE]
);

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
