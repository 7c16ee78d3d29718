/**
 * One page of a list, as every list of the API has it: `{data, limit, truncated, next_start?}`.
 * Decided in "Reads".
 */

import { limits } from "./limits.ts";
import { accept, type Outcome, refuse } from "./refusal.ts";

export interface ListPage<T> {
  readonly data: readonly T[];
  readonly limit: number;
  /** Exactly whether anything follows. */
  readonly truncated: boolean;
  /** There where it is truncated: what goes on behind it. */
  readonly next_start?: string;
  /** There where more were asked for than a page may have. */
  readonly limit_clamped?: true;
}

/** How many items a page has at most, where `asked` are wanted. */
export function pageLimit(asked: number = limits.listPageDefault): number {
  return Math.min(asked, limits.listPageMax);
}

/** The page with `data`; without `nextStart` nothing follows it. */
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
 * The page with the first of `found`, whose cursors are those of their items. There must be one
 * more than {@link pageLimit} says, where there are more: that tells exactly what follows.
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

/** Refuses a cursor that is longer than any of the list: it would only be looked for. */
export function checkStart(start: string | undefined, charactersMax: number): Outcome<void> {
  if (start === undefined || start.length <= charactersMax) return accept(undefined);
  const message = `start must be at most ${charactersMax} characters`;
  return refuse({ kind: "bad_request", message, path: "start" });
}
