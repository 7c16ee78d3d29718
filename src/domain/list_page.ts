/**
 * Pages of lists, in the one form that all lists of the API share.
 *
 * The form is `{data, limit, truncated, next_start?}`. See docs/reference/reading.md.
 */

import { limits } from "./limits.ts";
import { ACCEPTED, type Outcome, refuse } from "./refusal.ts";

export interface ListPage<T> {
  readonly data: readonly T[];
  readonly limit: number;
  /** True exactly when more items follow. */
  readonly truncated: boolean;
  /** Present when truncated: the cursor that continues after this page. */
  readonly next_start?: string;
  /** Present when the caller asked for more items than a page may have. */
  readonly limit_clamped?: true;
}

/** How many items a page has at most when the caller asks for `asked`. */
export function pageLimit(asked: number = limits.listPageDefault): number {
  return Math.min(asked, limits.listPageMax);
}

/** The page with `data`. Without `nextStart`, nothing follows it. */
export function listPage<T>(
  data: readonly T[],
  asked: number | undefined,
  nextStart: string | undefined,
): ListPage<T> {
  const limit = pageLimit(asked);
  return {
    data,
    limit,
    truncated: nextStart !== undefined,
    next_start: nextStart,
    limit_clamped: asked !== undefined && asked > limit ? true : undefined,
  };
}

/**
 * The page with the first items of `found`; `cursorOf` gives an item's cursor. Callers must
 * fetch one item more than {@link pageLimit} where there are more, which shows whether anything
 * follows.
 */
export function cutPage<T>(
  found: readonly T[],
  asked: number | undefined,
  cursorOf: (item: T) => string,
): ListPage<T> {
  const limit = pageLimit(asked);
  const data = found.slice(0, limit);
  return listPage(data, asked, found.length > limit ? cursorOf(data.at(-1)!) : undefined);
}

/** Of a short list in memory: the items after `start`, in byte-wise order of `cursorOf`. */
export function pageOf<T>(
  items: readonly T[],
  cursorOf: (item: T) => string,
  { start, limit }: { readonly start?: string; readonly limit?: number },
): ListPage<T> {
  const rest = items
    .map((item) => ({ item, cursor: cursorOf(item) }))
    .filter(({ cursor }) => start === undefined || cursor > start)
    .sort((a, b) => a.cursor < b.cursor ? -1 : 1);
  const page = cutPage(rest, limit, ({ cursor }) => cursor);
  return { ...page, data: page.data.map(({ item }) => item) };
}

/** Refuses a cursor that is longer than any in the list: looking it up could find nothing. */
export function checkStart(start: string | undefined, charactersMax: number): Outcome<void> {
  if (start === undefined || start.length <= charactersMax) return ACCEPTED;
  const message = `start must be at most ${charactersMax} characters`;
  return refuse({ kind: "bad_request", message, path: "start" });
}
