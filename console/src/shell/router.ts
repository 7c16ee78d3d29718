/**
 * The address of a view: what stands behind `#` is its path and its query. Every view can be shared
 * by its address. The instance that an operator looks at is part of each address.
 */

import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { formatPlace, parsePlace, type Place, type Query } from "./place.ts";

const INSTANCE = "instance";

const fragment = signal(globalThis.location?.hash ?? "");

/**
 * Browsers take milliseconds for each change of the address, and refuse too many of them. What
 * changes all the time is shown there once it has rested for so long.
 */
const REST_MS = 300;

/** The address that is to be shown, for `goTo` has changed it. */
let waiting: string | undefined;
let resting: ReturnType<typeof setTimeout> | undefined;
/** What this page has made the address; if it is another one, somebody is going there. */
let shown = globalThis.location?.hash ?? "";

globalThis.addEventListener?.("hashchange", () => {
  waiting = undefined;
  fragment.value = shown = location.hash;
});
// Before a link, or leaving the page, makes the present address one to come back to.
globalThis.addEventListener?.("click", showAddress, { capture: true });
globalThis.addEventListener?.("pagehide", showAddress);

function showAddress(): void {
  const href = waiting;
  waiting = undefined;
  if (href === undefined || location.hash !== shown) return;
  history.replaceState(history.state, "", href);
  shown = location.hash;
}

function showAddressSoon(): void {
  clearTimeout(resting);
  resting = setTimeout(showAddress, REST_MS);
}

export const place: ReadonlySignal<Place> = computed(() => parsePlace(fragment.value));

/** The instance that the address names. */
export const instanceInPlace: ReadonlySignal<string | undefined> = computed(() =>
  place.value.query[INSTANCE]
);

/** For links. The instance stays the same unless `query` names another one. */
export function hrefOf(path: readonly string[], query: Query = {}): string {
  return formatPlace(path, { [INSTANCE]: instanceInPlace.value, ...query });
}

export interface GoOptions {
  /** The view before is not kept for the button Back. */
  readonly replace?: boolean;
  /** With `replace`, for what changes many times a second: the address may follow later. */
  readonly isFleeting?: boolean;
}

/** Goes to a view. */
export function goTo(
  path: readonly string[],
  query: Query = {},
  { replace = false, isFleeting = false }: GoOptions = {},
): void {
  const href = hrefOf(path, query);
  if (replace) {
    waiting = href;
    if (isFleeting) showAddressSoon();
    else showAddress();
  } else {
    showAddress();
    history.pushState(null, "", href);
    shown = location.hash;
  }
  fragment.value = href;
}

/** A value that came in the fragment (`#name=value`), and is taken out of the address at once. */
export function takeFromFragment(name: string): string | undefined {
  const value = new URLSearchParams(location.hash.replace(/^#\/?/, "")).get(name);
  if (value === null) return undefined;
  history.replaceState(null, "", location.pathname + formatPlace([]));
  fragment.value = shown = location.hash;
  return value;
}

/** Changes parameters of the present view; `undefined` removes one. */
export function setQuery(change: Query, options: GoOptions = {}): void {
  const { path, query } = place.peek();
  goTo(path, { ...query, ...change }, { replace: true, ...options });
}
