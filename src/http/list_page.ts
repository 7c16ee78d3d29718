/** Cuts one page from a short list in memory. Shape: `{data, limit, truncated, ...}`. */

import { cutPage, type ListPage } from "../domain/list_page.ts";
import type { PageQuery } from "./parameter.ts";

/** The items after `query.start` in byte-wise order of `cursorOf`, at most the limit. */
export function pageOf<T>(
  items: readonly T[],
  cursorOf: (item: T) => string,
  { start, limit }: PageQuery,
): ListPage<T> {
  const rest = items
    .map((item) => ({ item, cursor: cursorOf(item) }))
    .filter(({ cursor }) => start === undefined || cursor > start)
    .sort((a, b) => a.cursor < b.cursor ? -1 : 1);
  const page = cutPage(rest, limit, ({ cursor }) => cursor);
  return { ...page, data: page.data.map(({ item }) => item) };
}
