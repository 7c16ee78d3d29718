/** One page of a short list that is at hand as a whole. Shape: `{data, limit, truncated, ...}`. */

import { limits } from "../domain/limits.ts";
import type { PageQuery } from "./decode/query.ts";

export interface ListPage<T> {
  readonly data: readonly T[];
  readonly limit: number;
  readonly truncated: boolean;
  readonly next_start?: string;
  readonly limit_clamped?: true;
}

/** The items after `query.start` in byte-wise order of `cursorOf`, at most the limit. */
export function pageOf<T>(
  items: readonly T[],
  cursorOf: (item: T) => string,
  query: PageQuery,
): ListPage<T> {
  const asked = query.limit ?? limits.listPageDefault;
  const limit = Math.min(asked, limits.listPageMax);
  const { start } = query;
  const rest = items
    .map((item) => ({ item, cursor: cursorOf(item) }))
    .filter(({ cursor }) => start === undefined || cursor > start)
    .sort((a, b) => a.cursor < b.cursor ? -1 : 1);
  const page = rest.slice(0, limit);
  const truncated = rest.length > limit;
  return {
    data: page.map(({ item }) => item),
    limit,
    truncated,
    next_start: truncated ? page.at(-1)?.cursor : undefined,
    limit_clamped: asked > limit ? true : undefined,
  };
}
