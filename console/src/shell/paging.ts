/** Loading a list page by page in a component. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { createPaged, type LoadPage, type Paged } from "./paged_list.ts";

export type { LoadPage } from "./paged_list.ts";

export interface Paging<Row> extends Paged<Row> {
  /** Loads the next page; after a refusal, the page that was refused. */
  more(): void;
}

export interface PagingOptions {
  /** Old rows stay until the new ones are there, so that what has the focus keeps it. */
  readonly isSteady?: boolean;
}

/**
 * Loads anew from the first page whenever one of `reasons` has changed. Whatever was being loaded
 * for the old ones is aborted, and its rows are never shown.
 */
export function usePaging<Row>(
  load: LoadPage<Row>,
  reasons: readonly unknown[],
  { isSteady = false }: PagingOptions = {},
): Paging<Row> {
  const [paged, setPaged] = useState<Paged<Row>>({ rows: [], isLoading: true });
  const list = useMemo(() => createPaged<Row>(setPaged), []);
  const newest = useRef(load);
  newest.current = load;
  useEffect(() => list.start((start, signal) => newest.current(start, signal), isSteady), reasons);
  return { ...paged, more: list.more };
}
