/** A list that is loaded page by page: the first page at once, the others as they are wanted. */

import type { Page, Refusal } from "@daybook/client";
import { settled } from "./settled.ts";

/** Asks for the page behind `start`, for the first one without it. */
export type LoadPage<Row> = (
  start: string | undefined,
  signal: AbortSignal,
) => PromiseLike<Page<Row> | Refusal>;

export interface Paged<Row> {
  readonly rows: readonly Row[];
  /** Where the next page starts; absent where there is none. */
  readonly next?: string;
  readonly refusal?: Refusal;
  readonly isLoading: boolean;
}

export interface PagedList<Row> {
  /** Loads the first page, and returns what ends it. */
  start(load: LoadPage<Row>, isSteady?: boolean): () => void;
  more(): void;
}

export function createPaged<Row>(show: (paged: Paged<Row>) => void): PagedList<Row> {
  let paged: Paged<Row> = { rows: [], isLoading: true };
  let ending = new AbortController();
  let again: LoadPage<Row> | undefined;

  function set(now: Paged<Row>): void {
    paged = now;
    show(now);
  }

  async function append(load: LoadPage<Row>, before: Paged<Row>): Promise<void> {
    const mine = ending;
    const answer = await settled(() => load(before.next, mine.signal));
    if (mine.signal.aborted) return;
    const { rows, next } = before;
    if (!answer.ok) return set({ rows, next, refusal: answer as Refusal, isLoading: false });
    const { data, truncated, next_start } = answer as Page<Row>;
    set({
      rows: [...rows, ...data],
      next: truncated ? next_start : undefined,
      isLoading: false,
    });
  }

  return {
    start(load, isSteady = false) {
      ending.abort();
      ending = new AbortController();
      const mine = ending;
      again = load;
      set({ rows: isSteady ? paged.rows : [], isLoading: true });
      void append(load, { rows: [], isLoading: true });
      return () => mine.abort();
    },
    more() {
      if (again === undefined || paged.isLoading) return;
      if (paged.next === undefined && paged.refusal === undefined) return;
      const before = paged;
      set({ rows: before.rows, next: before.next, isLoading: true });
      void append(again, before);
    },
  };
}
